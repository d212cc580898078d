"""Compute how much a cell scatters between blocks, as a coefficient of variation with an interval."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.autocorrelation import LEAST_BLOCKS, SIGNS, lag_one
from tare.stats.intervals import MIN_BLOCKS, Counts, Floats, moments

MIN_FOR_CV = 5
"""With fewer blocks there is no interval: one that is valid for any noise would span two powers of ten."""

_KURTOSIS = 9.0
_OF_BLOCKS = 0.6
_MOST_CORRELATION = 0.9
_LEAST_SHARE = 0.3


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
    with fewer than three blocks, and no interval below five. From ten blocks on, it allows for blocks that
    resemble the one before (see _lasting). `rounding` is how far rounding may have moved
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
        share, wider = _lasting(logs, n)
        c = np.where(n > z, n / (n - z), np.inf)
        low, high = (
            np.where(has_interval, np.log(c * found_variance) + sign * z * wider * _error(one, c, n), np.nan)
            for sign, one, found_variance in (
                (-1, kurtosis, variance),
                (1, np.maximum(kurtosis, np.minimum(_KURTOSIS, _OF_BLOCKS * n)), variance / share),
            )
        )
    low, high = np.where(n > z, low, -np.inf), np.where(n > z, high, np.inf)
    no_scatter = np.where((n >= MIN_FOR_CV) & (variance == 0), 0.0, np.nan)
    with np.errstate(over="ignore"):
        least, most = (_cv(np.where(has_interval, np.exp(end), no_scatter)) for end in (low, high))
    by = np.zeros(len(n)) if rounding is None else rounding
    return Scatters(n, _cv(variance), np.maximum(least - by, 0.0), most + by)


def _lasting(logs: Floats, n: Counts) -> tuple[Floats, Floats]:
    """Return which share of the variance s² finds, and how many times its error is, where blocks are alike.

    With a correlation rᵏ of blocks k apart, s² is σ² (1 − (V − 1)/(n − 1)) with V = (1 + r)/(1 − r), and n
    squares count as n (1 − r²)/(1 + r²) (Bartlett 1946, J. R. Stat. Soc. Suppl. 8:27). r has its bias taken
    off, and is 0 without a sign of it, as for ratios (autocorrelation.allow_for). Without this, 9 % of
    intervals of 100 runs with r = 0.7 missed the true value.
    """
    found = lag_one(logs)
    is_alike = (n >= LEAST_BLOCKS) & (found.p <= SIGNS)
    r = np.where(is_alike, np.clip((found.r + 1 / n) / (1 - 3 / n), 0.0, _MOST_CORRELATION), 0.0)
    share = 1 - ((1 + r) / (1 - r) - 1) / (n - 1)
    return np.maximum(share, _LEAST_SHARE), np.sqrt((1 + r**2) / (1 - r**2))


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
