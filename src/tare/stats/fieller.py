"""The interval of a ratio of two means that were measured in the same blocks, and may be next to 0."""

from __future__ import annotations

import math

import numpy as np

from tare.stats.intervals import Floats, t_factors

_FLAT = 1e-12
"""Below this share of its other term a coefficient is rounding, not curvature."""


def fieller(above: Floats, below: Floats, confidence: float) -> tuple[float, float | None]:
    """Return the ends of the ratios mean(above)/mean(below) that the blocks do not exclude.

    The high end is None where ever greater ratios are not excluded, as `below` may be 0. `above` and
    `below` are one number a block. Fieller 1954, J. R. Stat. Soc. B 16:175.
    """
    found = ends(above, below, confidence)
    ratio = float(above.mean() / below.mean())
    low = max((end for end in found if end <= ratio), default=-math.inf)
    return low, min((end for end in found if end > ratio), default=None)


def ends(above: Floats, below: Floats, confidence: float) -> tuple[float, ...]:
    """Return the ratios R, in rising order, at which mean(above − R·below) is just t standard errors off 0.

    They are the roots of a quadratic: none, or two; one where it is flat.
    """
    n = len(above)
    q = float(t_factors(np.array([n - 1.0]), confidence)[0]) ** 2 / n
    u, v = float(above.mean()), float(below.mean())
    uu = float(((above - u) ** 2).sum()) / (n - 1)
    vv = float(((below - v) ** 2).sum()) / (n - 1)
    uv = float(((above - u) * (below - v)).sum()) / (n - 1)
    return _roots(v * v - q * vv, -2 * (u * v - q * uv), u * u - q * uu, scale=v * v + q * vv)


def _roots(a: float, b: float, c: float, scale: float) -> tuple[float, ...]:
    if abs(a) <= _FLAT * scale:
        return (-c / b,) if b else ()
    square = b * b - 4 * a * c
    if square < -_FLAT * b * b:
        return ()
    square = max(square, 0.0)
    # Numerically stable: no difference of nearly equal numbers.
    half = -(b + math.copysign(math.sqrt(square), b)) / 2
    pair = (half / a, c / half if half else half / a)
    return tuple(sorted(pair))


def fieller_intervals(means: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the ratios mean(above)/mean(below) that many cells allow; NaN where unbounded.

    `means` has one row a cell: mean of below and of above, the variances of both means, and their covariance;
    `t` are Student's quantiles. An interval is bounded where the mean of below is t standard errors off 0.
    The low end is at least 0.
    """
    v, u, vv, uu, uv = means.T
    square = np.square(t)
    a, b, c = v * v - square * vv, u * v - square * uv, u * u - square * uu
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        low, high = (b - root) / a, (b + root) / a
    is_bounded = a > _FLAT * v * v
    return np.where(is_bounded, np.maximum(low, 0.0), np.nan), np.where(is_bounded, high, np.nan)
