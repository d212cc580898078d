"""Compute the interval of a ratio of two means from the same blocks, which may be close to 0 (Fieller)."""

from __future__ import annotations

import math

import numpy as np

from tare.stats.intervals import Floats, t_factors

_FLAT = 1e-12
"""Below this share of its other term, a coefficient is rounding and not curvature."""


def fieller(
    above: Floats, below: Floats, confidence: float, widening: float = 1.0
) -> tuple[float, float | None]:
    """Return the ends of the ratios mean(above)/mean(below) that the blocks do not exclude.

    The high end is None where arbitrarily large ratios are not excluded, because `below` may be 0. `above`
    and `below` have one number per block. `widening` multiplies their standard errors. Fieller 1954, J. R.
    Stat. Soc. B 16:175.
    """
    found = ends(above, below, confidence, widening)
    ratio = float(above.mean() / below.mean())
    low = max((end for end in found if end <= ratio), default=-math.inf)
    return low, min((end for end in found if end > ratio), default=None)


def ends(above: Floats, below: Floats, confidence: float, widening: float = 1.0) -> tuple[float, ...]:
    """Return the ratios R, rising, at which mean(above − R·below) is exactly t standard errors from 0.

    They are the roots of a quadratic: none or two; or one if the quadratic term vanishes.
    """
    n = len(above)
    q = (float(t_factors(np.array([n - 1.0]), confidence)[0]) * widening) ** 2 / n
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
    # Numerically stable: avoids the difference of nearly equal numbers.
    half = -(b + math.copysign(math.sqrt(square), b)) / 2
    pair = (half / a, c / half if half else half / a)
    return tuple(sorted(pair))


def fieller_intervals(means: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the ratios mean(above)/mean(below) for many cells; NaN where unbounded.

    `means` has one row per cell: the means of below and of above, the variances of both means, and their
    covariance. `t` are Student's quantiles. An interval is bounded where the mean of below is more than t
    standard errors from 0. The low end is at least 0.
    """
    v, u, vv, uu, uv = means.T
    square = np.square(t)
    a, b, c = v * v - square * vv, u * v - square * uv, u * u - square * uu
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        low, high = (b - root) / a, (b + root) / a
    is_bounded = a > _FLAT * v * v
    return np.where(is_bounded, np.maximum(low, 0.0), np.nan), np.where(is_bounded, high, np.nan)
