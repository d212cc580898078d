"""Estimate the value of each cell, the interval of this estimate, and the scatter of its blocks."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tare.stats.autocorrelation import Allowance, allowance
from tare.stats.intervals import (
    Counts,
    Floats,
    Intervals,
    arithmetic_intervals,
    geometric_intervals,
    moments,
)
from tare.stats.rounding import widened


@dataclasses.dataclass(frozen=True, eq=False)
class Estimates:
    """One estimate per cell; NaN where a value needs more blocks than there are.

    `cv` is the sample standard deviation divided by the arithmetic mean. `is_arithmetic` marks the cells with
    values of zero or less, which have no geometric mean. `allowance` is for blocks that resemble the one
    before.
    """

    n_blocks: Counts
    value: Floats
    low: Floats
    high: Floats
    cv: Floats
    minimum: Floats
    maximum: Floats
    is_arithmetic: npt.NDArray[np.bool_]
    allowance: Allowance


def estimate(
    values: Floats,
    confidence: float = 0.95,
    *,
    rounding: Floats | None = None,
    is_arithmetic: npt.NDArray[np.bool_] | None = None,
) -> Estimates:
    """Return the mean of each column: arithmetic where `is_arithmetic`, else geometric.

    By default it is geometric where all values are positive.

    The rows are blocks in the order of time: intervals are wider where they resemble the one before, in the
    same way as those of ratios (`tare.stats.autocorrelation`). `rounding` is how far rounding may have moved
    each mean, as a share of it; it widens the interval, too.
    """
    has_value = np.isfinite(values)
    if is_arithmetic is None:
        is_arithmetic = has_no_logarithm(values)
    found = geometric_intervals(values, confidence)
    if is_arithmetic.any():
        fallback = arithmetic_intervals(values[:, is_arithmetic], confidence)
        found.centre[is_arithmetic] = fallback.centre
        found.low[is_arithmetic] = fallback.low
        found.high[is_arithmetic] = fallback.high
    allowed = _allow_for_order(found, values, is_arithmetic, confidence)
    if rounding is not None:
        found.low[:], found.high[:] = widened(found.centre, found.low, found.high, rounding)
    plain = moments(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        cv = np.sqrt(plain.variance) / np.abs(plain.mean)
    return Estimates(
        n_blocks=plain.n_blocks,
        value=found.centre,
        low=found.low,
        high=found.high,
        cv=np.where(np.isfinite(cv), cv, np.nan),
        minimum=np.where(has_value, values, np.inf).min(axis=0, initial=np.inf),
        maximum=np.where(has_value, values, -np.inf).max(axis=0, initial=-np.inf),
        is_arithmetic=is_arithmetic,
        allowance=allowed,
    )


def allow_for_order(found: Intervals, values: Floats, confidence: float) -> Allowance:
    """Widen, in place, the intervals `found` of columns whose blocks resemble the one before.

    The rows are in the order of time.
    """
    return _allow_for_order(found, values, has_no_logarithm(values), confidence)


def _allow_for_order(
    found: Intervals, values: Floats, is_arithmetic: npt.NDArray[np.bool_], confidence: float
) -> Allowance:
    allowed = allowance(_series(values, is_arithmetic), confidence)
    _widen(found, allowed.factor, is_arithmetic)
    return allowed


def has_no_logarithm(values: Floats) -> npt.NDArray[np.bool_]:
    """Return which columns have a value of zero or less."""
    return np.asarray((np.isfinite(values) & (values <= 0)).any(axis=0))


def _series(values: Floats, is_arithmetic: npt.NDArray[np.bool_]) -> Floats:
    """Return the logarithms of positive values, and other values as shares of the largest of their column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        series = np.log(values)
        if is_arithmetic.any():
            others = values[:, is_arithmetic]
            series[:, is_arithmetic] = others / np.fmax.reduce(np.abs(others), axis=0)
    return series


def _widen(found: Intervals, factors: Floats, is_arithmetic: npt.NDArray[np.bool_]) -> None:
    """Widen intervals by factors: on the log scale, except those of arithmetic means."""
    wider = np.flatnonzero(factors != 1)
    centre, factor, adds = found.centre[wider], factors[wider], is_arithmetic[wider]
    for end in (found.low, found.high):
        with np.errstate(divide="ignore", invalid="ignore"):
            multiplied = centre * (end[wider] / centre) ** factor
        end[wider] = np.where(adds, centre + (end[wider] - centre) * factor, multiplied)
