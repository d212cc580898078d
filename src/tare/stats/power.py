"""Compute which effect a number of blocks can detect, and how many more would decide."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import MIN_BLOCKS, Floats, t_factors
from tare.stats.ratios import Design, Ratios
from tare.stats.sign_test import median_blocks_for, median_shifts

POWER = 0.8
"""The chance of finding a detectable effect, as study designs commonly ask (Cohen 1988, 2.4)."""

MOST_BLOCKS = 1000
"""Beyond this number of blocks, another design is needed."""


def detectable_effects(found: Ratios, level: float, power: float = POWER) -> Floats:
    """Return the least slowdown of each column that its blocks find with `power`, 0.03 for × 1.03.

    It is exp(λ · error + rounding) − 1. Here λ is the noncentrality at which a two-sided t test at `level`
    rejects with that probability: P(|T(ν, λ)| > t(ν)) = power (Student's noncentral t; Cohen 1988, ch. 2).
    NaN where there is no interval, and for a ratio of 0; infinite where it is beyond all floats. For medians
    it is that of the sign test, for normal noise. The fractional degrees of freedom of unpaired columns are
    rounded down, as for a table.
    """
    freedom, which = np.unique(np.floor(found.freedom), return_inverse=True)
    shift = _noncentralities(freedom, level, power)[which] * found.error
    if found.logs.size:
        of_medians = median_shifts(found.logs, found.worth, level, power)
        shift = np.where(found.design == Design.MEDIAN, of_medians, shift)
    with np.errstate(over="ignore"):
        return np.where(found.ratio > 0, np.expm1(shift + found.rounding), np.nan)


class Levels(NamedTuple):
    """The plain p values that a claim of a difference, and one of equivalence, must reach."""

    difference: float
    equivalence: float


def more_blocks(
    found: Ratios,
    margin: float,
    levels: Levels,
    confidence: float,
    *,
    can_be_equivalent: npt.NDArray[np.bool_] | None = None,
) -> Floats:
    """Return how many more blocks would decide each column if its ratio and its noise stay the same.

    With n + k blocks and s = error · √n, it is the least k that meets one of two conditions. Either t s/√(n +
    k) at the level of a difference is less than |ln ratio|, so that 1 is excluded; or the interval and the
    one-sided test fit between |ln ratio| and ln(1 + margin). NaN without an interval, and where even
    MOST_BLOCKS would not be enough. An unpaired column counts the blocks of the side with fewer.

    A column that cannot be equivalent is decided only by an interval that excludes 1 and is not within the
    margin: one whose ratio is farther from 1 than from the margin.
    """
    distance = np.abs(np.log(found.ratio)) - found.rounding
    slack = np.log1p(margin) - np.abs(np.log(found.ratio)) - found.rounding
    scatter = found.error * np.sqrt(found.n_blocks)
    different = _blocks_for(distance, scatter, 1 - levels.difference)
    alike = _blocks_for(slack, scatter, max(confidence, 1 - 2 * levels.equivalence))
    if found.logs.size:
        is_median = found.design == Design.MEDIAN
        of_medians = _blocks_of_medians(found, np.log1p(margin), levels, confidence)
        different, alike = (
            np.where(is_median, *both) for both in zip(of_medians, (different, alike), strict=True)
        )
    if can_be_equivalent is not None:
        alike = np.where(can_be_equivalent, alike, np.inf)
        different = np.where(can_be_equivalent | (distance > slack), different, np.inf)
    needed = np.minimum(different, alike)
    more = np.maximum(needed - found.n_blocks, 1.0)  # at least one more, even if the limit is almost reached
    has_noise = np.isfinite(found.error) | (found.design == Design.MEDIAN)
    return np.where(has_noise & np.isfinite(needed), more, np.nan)


def _blocks_of_medians(
    found: Ratios, margin: float, levels: Levels, confidence: float
) -> tuple[Floats, Floats]:
    """Return how many blocks decide each median: for a difference, and for equivalence."""

    def above(logs: Floats, limit: float, of_level: float) -> Floats:
        shifted = logs - found.rounding[:, np.newaxis]
        return median_blocks_for(shifted, found.worth, limit, of_level, MOST_BLOCKS)

    two_sided = levels.difference / 2
    different = np.minimum(above(found.logs, 0.0, two_sided), above(-found.logs, 0.0, two_sided))
    one_sided = min(levels.equivalence, (1 - confidence) / 2)
    alike = np.maximum(above(found.logs, -margin, one_sided), above(-found.logs, -margin, one_sided))
    return different, alike


def _blocks_for(slack: Floats, scatter: Floats, confidence: float) -> Floats:
    """Return the least n with t(n − 1)/√n · scatter below `slack`; inf where MOST_BLOCKS is too few."""
    n, widths = _widths(confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(slack > 0, slack / scatter, -np.inf)
    n_wider = np.searchsorted(-widths, -wanted, side="right")  # widths fall as n grows
    found: Floats = np.append(n, np.inf)[n_wider]
    return found


@functools.lru_cache(maxsize=512)
def _widths(confidence: float) -> tuple[Floats, Floats]:
    """Return all n up to MOST_BLOCKS, and t(n − 1)/√n of each."""
    n = np.arange(MIN_BLOCKS, MOST_BLOCKS + 1, dtype=np.float64)
    return n, t_factors(n - 1, confidence) / np.sqrt(n)


def _noncentralities(freedom: Floats, level: float, power: float) -> Floats:
    return np.array([_noncentrality(one, level, power) for one in freedom.tolist()])


@functools.lru_cache(maxsize=4096)
def _noncentrality(freedom: float, level: float, power: float) -> float:
    """Return λ at which a t test rejects with probability `power`, by bisection to the last bits."""
    from scipy.special import stdtrit

    if not freedom > 0:
        return np.nan
    critical = float(-stdtrit(freedom, level / 2))
    low, high = 0.0, 1.0
    while power_of_t(freedom, high, critical) < power:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        is_below = power_of_t(freedom, middle, critical) < power
        low, high = (middle, high) if is_below else (low, middle)
    return high


def power_of_t(freedom: float, noncentrality: float, critical: float) -> float:
    """Return P(|T(ν, λ)| > t), of Student's noncentral t.

    T = (Z + λ)/√(V/ν) exceeds t on either side exactly where V < ν(Z + λ)²/t². So the result is the mean over
    the normal Z of the probability of that χ²(ν) value: ∫ φ(z) P(ν/2, ν(z + λ)²/2t²) dz, where P is the
    regularised gamma function. The trapezoidal rule is exact to rounding here, as both parts are smooth and φ
    falls fast (Trefethen and Weideman 2014, SIAM Review 56:385). scipy.special.nctdtr is NaN at the extreme
    quantiles that a correction for many comparisons needs.
    """
    from scipy.special import gammainc

    step = min(0.02, 1 / np.sqrt(2 * freedom))  # the gamma function's own width is about t/√2ν
    z = np.arange(-9, 9, step)
    density = np.exp(-np.square(z) / 2) * (step / np.sqrt(2 * np.pi))
    return float(density @ gammainc(freedom / 2, freedom * np.square(z + noncentrality) / (2 * critical**2)))
