"""Compute how much a cell scatters between blocks, as a coefficient of variation with an interval."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.intervals import MIN_BLOCKS, Counts, Floats, moments

MIN_FOR_CV = 5
"""With fewer blocks there is no interval: one that is valid for any noise would span two powers of ten."""

_KURTOSIS = 9.0
_OF_BLOCKS = 0.6


@dataclasses.dataclass(frozen=True, eq=False)
class Scatters:
    """The coefficient of variation of each cell with its interval; NaN where there is none."""

    n_blocks: Counts
    cv: Floats
    low: Floats
    high: Floats


def logarithms(values: Floats) -> Floats:
    """Return logarithms; NaN for a whole column with a value of zero or less, as a part is no fair sample."""
    is_positive = ~(values <= 0).any(axis=0)
    return np.log(np.where(is_positive & (values > 0), values, np.nan))


def scatters(logs: Floats, confidence: float = 0.95, *, rounding: Floats | None = None) -> Scatters:
    """Return √(exp(s²) − 1) of each column with its interval; s² is the variance of the logarithms.

    The interval is Bonett's, c s² exp(± z se), with c = n/(n − z), se = c √((κ − (n − 3)/n)/(n − 1)) and the
    kurtosis κ = n Σ(x − m)⁴/(Σ(x − x̄)²)² about the median m. It assumes no shape of noise (Bonett 2006,
    Comp. Stat. Data Analysis 50:775). Few values seldom show their tails. So for the upper end κ is at least
    9, that of exponential delays, but no more than 0.6 n. Each end misses in at most 2.5 % of cases where the
    noise is normal, log-normal or exponential. No interval can include a mode that no block has shown. NaN
    with fewer than three blocks, and no interval below five. `rounding` is how far rounding may have moved
    each mean, as a share of it: where it moves a mean, it hides as much scatter, and makes as much.
    """
    from scipy.special import ndtri

    found = moments(logs)
    n = found.n_blocks
    variance = np.where(n >= MIN_BLOCKS, found.variance, np.nan)
    z = ndtri((1 + confidence) / 2)
    has_interval = (n >= MIN_FOR_CV) & (variance > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = _kurtosis(logs, found.mean)
        c = np.where(n > z, n / (n - z), np.inf)
        low, high = (
            np.where(has_interval, np.log(c * variance) + sign * z * _error(one, c, n), np.nan)
            for sign, one in (
                (-1, kurtosis),
                (1, np.maximum(kurtosis, np.minimum(_KURTOSIS, _OF_BLOCKS * n))),
            )
        )
    low, high = np.where(n > z, low, -np.inf), np.where(n > z, high, np.inf)
    no_scatter = np.where((n >= MIN_FOR_CV) & (variance == 0), 0.0, np.nan)
    least, most = (_cv(np.where(has_interval, np.exp(end), no_scatter)) for end in (low, high))
    by = np.zeros(len(n)) if rounding is None else rounding
    return Scatters(n, _cv(variance), np.maximum(least - by, 0.0), most + by)


def _kurtosis(logs: Floats, mean: Floats) -> Floats:
    """Return n Σ(x − m)⁴/(Σ(x − x̄)²)² of each column with its median m, which a tail affects less."""
    n = np.isfinite(logs).sum(axis=0)
    with_median = np.where(n > 0, logs, 0.0)
    fourth = np.nansum((logs - np.nanmedian(with_median, axis=0)) ** 4, axis=0)
    kurtosis: Floats = n * fourth / np.nansum((logs - mean) ** 2, axis=0) ** 2
    return kurtosis


def _error(kurtosis: Floats, c: Floats, n: Counts) -> Floats:
    """Return the standard error of the logarithm of the variance."""
    error: Floats = c * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    return error


def _cv(variance: Floats) -> Floats:
    with np.errstate(over="ignore"):
        cv: Floats = np.sqrt(np.expm1(variance))
    return cv
