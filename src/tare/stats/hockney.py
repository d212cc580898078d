"""Fit Hockney's line t(m) = t0 + m/r∞ to the times of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tare.model.interval import Bounded
from tare.stats.intervals import Floats, geometric_intervals

MIN_SIZES = 3
"""One size more than the line has parameters."""


class Hockney(NamedTuple):
    """`latency` is t0 in the unit of time, `bandwidth` r∞ in bytes a unit, `half_size` n½ in bytes."""

    n_blocks: int
    n_sizes: int
    latency: Bounded
    bandwidth: Bounded
    half_size: Bounded
    misfit: float


def fit_hockney(sizes: Sequence[float], times: Floats, confidence: float = 0.95) -> Hockney | str:
    """Fit the line to `times`, blocks × sizes, or return why not.

    Each block has a line of its own, by least squares of the relative error, so that small messages
    count as much as large ones; the answer is the geometric mean of the blocks' parameters with
    Student's t interval on the log scale. A size that some block lacks is left out in all.
    """
    m = np.asarray(sizes, np.float64)
    measured = times[np.isfinite(times).any(axis=1)]
    used = np.isfinite(measured).all(axis=0) & (measured > 0).all(axis=0)
    if not len(measured) or used.sum() < MIN_SIZES:
        n_used = int(used.sum()) if len(measured) else 0
        return f"{n_used} sizes were measured in every block; the line takes {MIN_SIZES} or more"
    m, t = m[used], measured[:, used]
    lines = _lines(m, t)
    if (lines[:, 1] <= 0).any():
        return "the time does not grow with the size"
    if (lines[:, 0] <= 0).any():
        return "the time of the smallest messages is no more than their share of the large ones"
    latency, rate = lines[:, 0], 1 / lines[:, 1]
    found = geometric_intervals(np.column_stack([latency, rate, latency * rate]), confidence)
    centre = np.exp(np.log(t).mean(axis=0))
    fitted = found.centre[0] + m / found.centre[1]
    rows = zip(found.centre.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    t0, r_inf, n_half = (
        Bounded(value) if low != low else Bounded(value, low, high) for value, low, high in rows
    )
    misfit = float(np.abs(centre / fitted - 1).max())
    return Hockney(len(t), len(m), t0, r_inf, n_half, misfit)


def _lines(m: Floats, t: Floats) -> Floats:
    """Return (t0, 1/r∞) of each row of `t`, neither less than 0, with the least sum of ((t0 + m/r∞)/t − 1)².

    Of two parameters the constrained best is the free one, or else the better of those with one of them 0
    (Lawson and Hanson 1974, Solving Least Squares Problems, ch. 23). By Gram–Schmidt, all rows at once.
    """
    scale = float(m.max())
    one, other = 1 / t, m / scale / t
    apart = other - one * _share(other, one)[:, np.newaxis]
    slope = _share(np.ones_like(t), apart)
    free = np.column_stack([_share(1 - other * slope[:, np.newaxis], one), slope])
    flat = np.column_stack([_share(np.ones_like(t), one), np.zeros(len(t))])
    steep = np.column_stack([np.zeros(len(t)), _share(np.ones_like(t), other)])
    misses = np.array(
        [np.square(one * line[:, :1] + other * line[:, 1:] - 1).sum(axis=1) for line in (flat, steep)]
    )
    bound = np.where(misses.argmin(axis=0)[:, np.newaxis] == 0, flat, steep)
    is_free = np.asarray((free >= 0).all(axis=1))
    lines: Floats = np.where(is_free[:, np.newaxis], free, bound) / [1.0, scale]
    return lines


def _share(y: Floats, x: Floats) -> Floats:
    """Return the least-squares factor of `x` in `y`, row by row."""
    factors: Floats = (x * y).sum(axis=1) / np.square(x).sum(axis=1)
    return factors
