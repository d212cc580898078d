"""Compute the numbers that rules are about, with their intervals at any confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.analysis.checking.rules import QUANTILES, Function
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.core.comparison import Mean
from tare.core.workload import Better
from tare.stats.autocorrelation import allow_for, unresolved_correlation
from tare.stats.bootstrap import quantile_intervals
from tare.stats.estimates import allow_for_order, estimate
from tare.stats.intervals import Floats
from tare.stats.looks import Looks, nominal_level
from tare.stats.ratios import Ratios, common_rows, ratios, separate_unpaired
from tare.stats.rounding import widened
from tare.stats.scaling import paired_ratios
from tare.stats.scatter_ratios import scatter_ratios
from tare.stats.variability import logarithms, scatters

_ROUNDING = 1e-9
_BEYOND = 100
"""The number of resamples beyond an interval that keeps its ends stable."""


class Bounds(NamedTuple):
    """One number and its interval for each match; NaN where absent."""

    value: Floats
    low: Floats
    high: Floats


class Quantity(NamedTuple):
    """The numbers of all matches, the blocks behind each, and a function that gives their intervals.

    `bounds` takes a confidence. `looks` are those of each match. `unresolved` is the autocorrelation of
    blocks that are too few to show how many of them count, else NaN; no claim is made about those matches.
    `mean` is the mean used for ratios. `rounding` is how far rounding may have moved each, as a share.
    """

    n_blocks: tuple[int, ...]
    bounds: Callable[[float], Bounds]
    looks: Sequence[Looks] = ()
    unresolved: Sequence[float] = ()
    mean: Mean = Mean.GEOMETRIC
    rounding: Floats | None = None

    def r_unresolved(self, n_matches: int) -> Floats:
        """Return `unresolved` for each of `n_matches` matches; NaN if it is not set."""
        return np.array(self.unresolved or [np.nan] * n_matches, np.float64)

    def claims(self, confidence: float) -> Bounds:
        """Return the intervals for claims: wider where there were, or may be, other looks."""
        found = self.bounds(confidence)
        ends = found.low.copy(), found.high.copy()
        for looks in set(self.looks):
            columns = [column for column, one in enumerate(self.looks) if one == looks]
            own = self.bounds(1 - nominal_level(1 - confidence, looks))
            for end, wider in zip(ends, (own.low, own.high), strict=True):
                end[columns] = wider[columns]
        is_unresolved = np.isfinite(self.r_unresolved(len(found.low)))
        return Bounds(found.value, *(np.where(is_unresolved, np.nan, end) for end in ends))


def of_sides(
    function: Function,
    reference: Floats,
    contender: Floats,
    is_paired: npt.NDArray[np.bool_],
    directions: Sequence[Better | None],
    rounding: Floats | None = None,
    ends: SessionEnds | None = None,
    mean: Mean = Mean.GEOMETRIC,
    half_steps: tuple[Floats, Floats] | None = None,
) -> Quantity:
    """Return the quantity `function` of contenders and references, both blocks × matches.

    `half_steps` say how far rounding may have moved the values of each side, as shares of their mean.
    """
    if function is Function.CV_RATIO:
        reference, contender = common_rows(reference, contender, is_paired)
        logs = logarithms(reference), logarithms(contender)
        scatter = scatter_ratios(*logs, is_paired, half_steps=half_steps)
        return Quantity(
            tuple(scatter.n_blocks.tolist()),
            lambda confidence: Bounds(scatter.ratio, *scatter.interval(confidence)),
            ends.looks(reference, contender, is_paired) if ends else (),
            rounding=np.maximum(scatter.hidden, scatter.made),
        )
    below, above = separate_unpaired(reference, contender, is_paired)

    def bounds(confidence: float) -> Bounds:
        found = ratios(below, above, confidence, rounding=rounding, mean=mean)
        if ends is not None:  # the rows are in the order of time
            found, _ = allow_for(found, below, above, confidence)
        plain = Bounds(found.ratio, found.low, found.high)
        return _costs(plain, directions) if function is Function.OVERHEAD else plain

    looks = ends.looks(reference, contender, is_paired) if ends else ()
    plain = ratios(below, above, mean=mean)
    unresolved = unresolved_correlation(plain, below, above).tolist() if ends else ()
    return Quantity(tuple(plain.n_blocks.tolist()), bounds, looks, unresolved, mean, rounding)


def of_scales(
    base: Floats,
    work: Floats,
    shares: Floats,
    rounding: Floats,
    is_paired: npt.NDArray[np.bool_],
    *,
    is_unpaired: bool,
    ends: SessionEnds | None = None,
) -> Quantity:
    """Return the efficiency of `work` relative to the reference scale, blocks × matches.

    `shares` are p_ref / p: the work of one unit of scale relative to that at p_ref. `rounding` is how far the
    rounding of printed values may have moved each, as a logarithm. For matches that are `is_paired`, only
    runs that ran together count; with `is_unpaired`, all runs count where hardly any ran together.
    """

    def found_at(confidence: float) -> tuple[Ratios, Floats]:
        return paired_ratios(base, work, confidence, rounding, is_paired=is_paired, is_unpaired=is_unpaired)

    def bounds(confidence: float) -> Bounds:
        found, _ = found_at(confidence)
        return Bounds(found.ratio * shares, found.low * shares, found.high * shares)

    plain, unresolved = found_at(0.95)
    looks = ends.looks(base, work, is_paired) if ends else ()
    return Quantity(tuple(plain.n_blocks.tolist()), bounds, looks, unresolved.tolist(), rounding=rounding)


def of_values(
    function: Function, values: Floats, ends: SessionEnds | None = None, rounding: Floats | None = None
) -> Quantity:
    """Return the quantity `function` of single cases, blocks × matches.

    `rounding` is how far rounding may have moved each mean, as a share of it; all intervals allow for it.
    The rows are in the order of time, and all intervals but that of scatter allow for blocks that resemble
    the one before.
    """
    shifts = np.zeros(values.shape[1]) if rounding is None else rounding
    n_blocks = tuple(np.isfinite(values).sum(axis=0).tolist())
    looks = ends.looks(values, values, np.ones(values.shape[1], np.bool_)) if ends else ()
    if function in QUANTILES:
        quantile = QUANTILES[function]

        def quantile_bounds(confidence: float) -> Bounds:
            found = _quantiles(values, quantile, confidence)
            return Bounds(found.value, *widened(found.value, found.low, found.high, shifts))

        return Quantity(n_blocks, quantile_bounds, looks, rounding=shifts)
    if function is Function.CV:
        logs = logarithms(values)

        def scatter_bounds(confidence: float) -> Bounds:
            scatter = scatters(logs, confidence, rounding=shifts)
            return Bounds(scatter.cv, scatter.low, scatter.high)

        return Quantity(n_blocks, scatter_bounds, looks, rounding=shifts)

    def bounds(confidence: float) -> Bounds:
        found = estimate(values, confidence, rounding=shifts)
        return Bounds(found.value, found.low, found.high)

    unresolved = estimate(values).allowance.unresolved.tolist()
    return Quantity(n_blocks, bounds, looks, unresolved, rounding=shifts)


def least_of_quantile(quantile: float) -> int:
    """Return how many runs the interval of a quantile needs: ten on the smaller side of the quantile."""
    return math.ceil(10 / min(quantile, 1 - quantile) - _ROUNDING)


def _quantiles(values: Floats, quantile: float, confidence: float) -> Bounds:
    """Return a quantile of each column with its BCa interval; no interval where the runs are too few."""
    n_resamples = max(2000, math.ceil(_BEYOND / (1 - confidence)))
    found = quantile_intervals(
        values, quantile, np.random.default_rng(1), confidence=confidence, n_resamples=n_resamples
    )
    allow_for_order(found, values, confidence)
    is_enough = found.n_blocks >= least_of_quantile(quantile)
    low, high = (np.where(is_enough, end, np.nan) for end in (found.low, found.high))
    return Bounds(found.centre, low, high)


def _costs(found: Bounds, directions: Sequence[Better | None]) -> Bounds:
    """Return ratios as costs of the contender: ratio − 1 for a time, 1 − ratio for a rate."""
    is_rate = np.array([one is Better.HIGHER for one in directions])
    has_none = np.array([one is None for one in directions])
    value, low, high = (
        np.where(has_none, np.nan, np.where(is_rate, 1 - one, other - 1))
        for one, other in ((found.value, found.value), (found.high, found.low), (found.low, found.high))
    )
    return Bounds(value, low, high)
