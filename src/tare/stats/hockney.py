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
    lines = np.array([_line(m, row) for row in t])
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


def _line(m: Floats, t: Floats) -> Floats:
    """Return (t0, 1/r∞), neither less than 0, with the least sum of ((t0 + m/r∞)/t − 1)²."""
    from scipy.optimize import nnls

    scale = float(m.max())
    found, _ = nnls(np.column_stack([1 / t, m / scale / t]), np.ones(len(t)))
    line: Floats = found / np.array([1.0, scale])
    return line
