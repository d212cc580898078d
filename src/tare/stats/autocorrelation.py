"""Detect autocorrelation of neighbouring blocks, which makes intervals too narrow, and widen them.

`allow_for` takes ratios and returns them with wider intervals where blocks are correlated.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.stats.fieller import fieller_intervals
from tare.stats.intervals import CONFIDENCE, Floats, t_factors
from tare.stats.ratios import Design, Ratios, log_ratios
from tare.stats.series import MIN_SERIES, by_length
from tare.stats.sign_test import median_intervals

LEAST_BLOCKS = 10
"""With fewer blocks, a correlation of 0.7 is found in less than 4 of 10 studies, so none is assumed."""

ASSUMED_CORRELATION = 0.7
"""A verdict from few blocks that holds even with this autocorrelation does not assume independence."""

_ASSUMED_ERROR = 2.8
"""The factor by which a standard error is too small if the autocorrelation of runs is ASSUMED_CORRELATION.

For a mean of n values with lag-one correlation r, it is √(V (n − 1)/(n − V)), with V = 1 + 2 Σ (1 − k/n) rᵏ:
2.5 for all n from 3 to 19. As s then has heavier tails, t tests at 5 % need 2.5 to 2.8 times the width by
simulation (tests/truth/test_lasting.py), and up to 2.9 times at 0.5 %.
"""

SIGNS = 0.2
"""A correlation whose p value is no larger is allowed for."""
_SURE = 0.05
_FEWEST = 3.0

_EXACT = 1e-24
"""A smaller variance of logarithms is arithmetic rounding, not scatter."""


@dataclasses.dataclass(frozen=True, eq=False)
class Autocorrelations:
    """The lag-one correlation of each series, with its p value; `threshold` is its limit at 5 %."""

    r: Floats
    p: Floats
    threshold: Floats


def lag_one(series: Floats) -> Autocorrelations:
    """Return r₁ = Σ(x_t − x̄)(x_{t+1} − x̄) / Σ(x_t − x̄)² of each column, with its one-sided p value.

    For independent values r₁ is nearly normal with the mean −1/n and a variance of at most 1/n (Bartlett
    1946, J. R. Stat. Soc. Suppl. 8:27). The true variance is smaller, (n − 2)²/(n²(n − 1)), but with it the
    normal distribution gives too many detections for few values (Dufour and Roy 1985, J. Econometrics
    29:257). Negative correlation is not tested: it makes intervals too wide, which misleads nobody. Values on
    both sides of a gap count as neighbours.
    """
    from scipy.special import ndtr, ndtri

    r, p, threshold = (np.full(series.shape[1], np.nan) for _ in range(3))
    for alike in by_length(series, MIN_SERIES):
        length = len(alike.values)
        centred = alike.values - alike.values.mean(axis=0)
        square = np.square(centred).sum(axis=0)
        product = (centred[1:] * centred[:-1]).sum(axis=0)
        mean, deviation = -1 / length, 1 / np.sqrt(length)
        found = np.divide(product, square, out=np.full(len(square), mean), where=square > length * _EXACT)
        r[alike.columns] = found
        p[alike.columns] = ndtr(-(found - mean) / deviation)
        threshold[alike.columns] = mean + deviation * ndtri(0.95)
    return Autocorrelations(r, p, threshold)


def is_sure(r: float, n_blocks: int) -> bool:
    """Return whether a lag-one correlation of so many blocks is certain (p ≤ 0.05), not just a sign."""
    from scipy.special import ndtr

    return float(ndtr(-(r + 1 / n_blocks) * np.sqrt(n_blocks))) <= _SURE


def allow_for(
    found: Ratios, reference: Floats, contender: Floats, confidence: float
) -> tuple[Ratios, Floats]:
    """Return the ratios with intervals that allow for autocorrelation, and the r₁ of each such column.

    This applies to paired columns with at least LEAST_BLOCKS in the order of time, for any mean. The log
    ratios are tested, since an effect common to both sides cancels in them. Where there are signs of
    autocorrelation (p ≤ 0.2), n blocks count as n(1 − r)/(1 + r), with r₁ corrected for its bias as r = r₁ +
    (1 + 3 r₁)/n (Marriott and Pope 1954, Biometrika 41:390; Kendall 1954, 41:403). Where it is certain (p ≤
    0.05), r is the upper end of its one-sided interval of 95 %, whose standard error is √((1 − r²)/n)
    (Bartlett 1946): ten to twenty blocks hardly determine r, and count as few more than one; a hundred do.
    For all other columns r is NaN, and the intervals are unchanged.
    """
    n = found.n_blocks.astype(np.float64)
    seen = lag_one(_logs(found, reference, contender, n >= LEAST_BLOCKS))
    is_alike = seen.p <= SIGNS
    if not is_alike.any():
        return found, np.full(len(n), np.nan)
    worth = _worth(seen, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(is_alike, found.error * np.sqrt(n / worth), found.error)
    freedom = np.where(is_alike, np.maximum(worth, _FEWEST) - 1, found.freedom)
    half = t_factors(freedom, confidence) * error + found.rounding
    with np.errstate(over="ignore"):  # an end beyond all floats is infinite
        low, high = (
            np.where(is_alike, found.ratio * np.exp(sign * half), end)
            for sign, end in ((-1, found.low), (1, found.high))
        )
    means = found.means.copy()
    of_means = np.flatnonzero(is_alike & (found.design == Design.ARITHMETIC))
    if of_means.size:
        means[of_means, 2:] *= (n / worth)[of_means, np.newaxis]
        wide = fieller_intervals(means[of_means], t_factors(freedom[of_means], confidence))
        low[of_means] = wide[0] * np.exp(-found.rounding[of_means])
        high[of_means] = wide[1] * np.exp(found.rounding[of_means])
    of_medians = np.flatnonzero(is_alike & (found.design == Design.MEDIAN))
    counted = np.where(is_alike, np.minimum(worth, n), found.worth)
    if of_medians.size:
        _, *ends = median_intervals(found.logs[of_medians], counted[of_medians], confidence)
        low[of_medians] = np.exp(ends[0] - found.rounding[of_medians])
        high[of_medians] = np.exp(ends[1] + found.rounding[of_medians])
    wider = dataclasses.replace(
        found, error=error, freedom=freedom, low=low, high=high, means=means, worth=counted
    )
    return wider, np.where(is_alike, seen.r, np.nan)


class Allowance(NamedTuple):
    """What follows for the mean of each series from blocks that resemble the one before.

    Its interval is wider by `factor`, mostly 1. `r` is the lag-one correlation where it is wider, and
    `unresolved` that of fewer than LEAST_BLOCKS where it is certain; else they are NaN.
    """

    factor: Floats
    r: Floats
    unresolved: Floats


def allowance(series: Floats, confidence: float = CONFIDENCE) -> Allowance:
    """Return what `allow_for` and `unresolved_correlation` do to ratios, for the mean of each column.

    The rows of `series` are blocks in the order of time, and its values logarithms where noise multiplies.
    """
    n = np.isfinite(series).sum(axis=0).astype(np.float64)
    seen = lag_one(series)
    is_alike = (seen.p <= SIGNS) & (n >= LEAST_BLOCKS)
    factor = np.ones(len(n))
    worth = _worth(seen, n)[is_alike]
    wider, usual = (
        t_factors(np.maximum(worth, _FEWEST) - 1, confidence),
        t_factors(n[is_alike] - 1, confidence),
    )
    factor[is_alike] = wider / usual * np.sqrt(n[is_alike] / worth)
    unresolved = np.where((n < LEAST_BLOCKS) & (seen.p <= _SURE), seen.r, np.nan)
    return Allowance(factor, np.where(is_alike, seen.r, np.nan), unresolved)


def _worth(seen: Autocorrelations, n: Floats) -> Floats:
    """Return as how many independent blocks `n` blocks with this correlation count (see allow_for)."""
    from scipy.special import ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(seen.r + (1 + 3 * seen.r) / n, 0.0, 0.95)
        upper = np.minimum(r + ndtri(1 - _SURE) * np.sqrt((1 - np.square(r)) / n), 1.0)
        r = np.where(seen.p <= _SURE, upper, r)
        return np.maximum(n * (1 - r) / (1 + r), 1.0)


def unresolved_correlation(found: Ratios, reference: Floats, contender: Floats) -> Floats:
    """Return r₁ of paired columns with fewer than LEAST_BLOCKS where it is certain (p ≤ 0.05), else NaN.

    So few blocks do not show how many of them count, so no verdict can be drawn from them. With five blocks,
    it is never certain, for any values.
    """
    return allowance(_logs(found, reference, contender, found.n_blocks < LEAST_BLOCKS)).unresolved


def without_unresolved(found: Ratios, unresolved: Floats) -> Ratios:
    """Return the ratios without an interval where it is `unresolved` how many of their blocks count."""
    low, high = (np.where(np.isnan(unresolved), end, np.nan) for end in (found.low, found.high))
    return dataclasses.replace(found, low=low, high=high)


def _logs(found: Ratios, reference: Floats, contender: Floats, is_counted: npt.NDArray[np.bool_]) -> Floats:
    """Return the log ratios of blocks of paired columns that are counted, in the order of time; else NaN."""
    is_paired = np.isin(found.design, (Design.PAIRED, Design.ARITHMETIC, Design.MEDIAN))
    logs = log_ratios(reference, contender)
    return np.where(is_counted & is_paired & np.isfinite(logs), logs, np.nan)


def with_assumed_correlation(plain: Ratios, found: Ratios) -> Ratios:
    """Return the ratios with errors as large as if both sides had the autocorrelation ASSUMED_CORRELATION.

    `plain` are the ratios for independent blocks, and `found` those of `allow_for`. Medians get no interval,
    since their test has no standard error.
    """
    error = np.fmax(found.error, _ASSUMED_ERROR * plain.error)
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.square(error / plain.error)
    means = plain.means.copy()
    means[:, 2:] *= np.where(np.isfinite(wider), wider, _ASSUMED_ERROR**2)[:, np.newaxis]
    low = np.where(found.design == Design.MEDIAN, np.nan, found.low)
    return dataclasses.replace(found, error=error, means=means, low=low)
