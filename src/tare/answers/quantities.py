"""The numbers that rules speak of, with their intervals at any confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.answers.rules import QUANTILES, Function
from tare.model.workload import Better
from tare.stats.bootstrap import quantile_intervals
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios, set_apart
from tare.stats.variability import scatter_ratios, scatters

_ROUNDING = 1e-9
_BEYOND = 100
"""Resamples that lie beyond an interval, so that its ends do not scatter much."""


class Bounds(NamedTuple):
    """One number and its interval for each match, NaN where absent."""

    value: Floats
    low: Floats
    high: Floats


class Quantity(NamedTuple):
    """Numbers, the blocks that each rests on, and their intervals by confidence."""

    n_blocks: tuple[int, ...]
    bounds: Callable[[float], Bounds]


def of_sides(
    function: Function,
    reference: Floats,
    contender: Floats,
    is_paired: npt.NDArray[np.bool_],
    directions: Sequence[Better | None],
) -> Quantity:
    """Return what `function` says of contenders and references, both blocks × matches."""
    if function is Function.CV_RATIO:
        logs = logarithms(reference), logarithms(contender)
        n_blocks = scatter_ratios(*logs, may_pair=is_paired).n_blocks

        def scatter_bounds(confidence: float) -> Bounds:
            found = scatter_ratios(*logs, confidence, is_paired)
            return Bounds(found.ratio, found.low, found.high)

        return Quantity(tuple(n_blocks.tolist()), scatter_bounds)
    below, above = set_apart(reference, contender, is_paired)

    def bounds(confidence: float) -> Bounds:
        found = ratios(below, above, confidence)
        plain = Bounds(found.ratio, found.low, found.high)
        return _costs(plain, directions) if function is Function.OVERHEAD else plain

    return Quantity(tuple(ratios(below, above).n_blocks.tolist()), bounds)


def of_scales(base: Floats, work: Floats, shares: Floats) -> Quantity:
    """Return the efficiency of `work` next to that at the reference scale, blocks × matches.

    `shares` are p_ref / p: what each unit of scale gets done, beside what it did at p_ref.
    """

    def bounds(confidence: float) -> Bounds:
        found = ratios(base, work, confidence)
        return Bounds(found.ratio * shares, found.low * shares, found.high * shares)

    return Quantity(tuple(ratios(base, work).n_blocks.tolist()), bounds)


def of_values(function: Function, values: Floats) -> Quantity:
    """Return what `function` says of cases by themselves, blocks × matches."""
    n_blocks = tuple(np.isfinite(values).sum(axis=0).tolist())
    if function in QUANTILES:
        quantile = QUANTILES[function]
        return Quantity(n_blocks, lambda confidence: _quantiles(values, quantile, confidence))
    if function is Function.CV:
        logs = logarithms(values)

        def scatter_bounds(confidence: float) -> Bounds:
            scatter = scatters(logs, confidence)
            return Bounds(scatter.cv, scatter.low, scatter.high)

        return Quantity(n_blocks, scatter_bounds)

    def bounds(confidence: float) -> Bounds:
        found = estimate(values, confidence)
        return Bounds(found.value, found.low, found.high)

    return Quantity(n_blocks, bounds)


def least_of_quantile(quantile: float) -> int:
    """Return how many runs the interval of a quantile takes: ten beyond it, on either side of it."""
    return math.ceil(10 / min(quantile, 1 - quantile) - _ROUNDING)


def _quantiles(values: Floats, quantile: float, confidence: float) -> Bounds:
    """Return a quantile of each column with its BCa interval, none where it would promise too much."""
    n_resamples = max(2000, math.ceil(_BEYOND / (1 - confidence)))
    found = quantile_intervals(
        values, quantile, np.random.default_rng(1), confidence=confidence, n_resamples=n_resamples
    )
    is_enough = found.n_blocks >= least_of_quantile(quantile)
    low, high = (np.where(is_enough, end, np.nan) for end in (found.low, found.high))
    return Bounds(found.centre, low, high)


def _costs(found: Bounds, directions: Sequence[Better | None]) -> Bounds:
    """Return ratios as what the contender costs: ratio − 1 of a time, 1 − ratio of a rate."""
    is_rate = np.array([one is Better.HIGHER for one in directions])
    has_none = np.array([one is None for one in directions])
    value, low, high = (
        np.where(has_none, np.nan, np.where(is_rate, 1 - one, other - 1))
        for one, other in ((found.value, found.value), (found.high, found.low), (found.low, found.high))
    )
    return Bounds(value, low, high)


def logarithms(values: Floats) -> Floats:
    """Return logarithms, NaN for a whole column in which a value is zero or less: half of it is no sample."""
    is_positive = ~(values <= 0).any(axis=0)
    return np.log(np.where(is_positive & (values > 0), values, np.nan))
