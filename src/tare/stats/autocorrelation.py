"""Whether neighbouring blocks resemble each other, which makes every interval too narrow."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.fieller import fieller_intervals
from tare.stats.intervals import Floats, t_factors
from tare.stats.ratios import Design, Ratios, log_ratios
from tare.stats.series import MIN_SERIES, by_length
from tare.stats.sign_test import median_intervals

LEAST_BLOCKS = 10
"""With fewer blocks autocorrelation of 0.7 is seen in less than four of ten studies: it is assumed away."""

LASTING = 0.7
"""The autocorrelation within a side up to which a verdict of few blocks can hold without assuming none."""

_LASTING_ERROR = 2.8
"""By how much a standard error is larger than it seems where runs resemble the one before with LASTING.

Of a mean of n values with lag-one correlation r it is √(V (n − 1)/(n − V)), with
V = 1 + 2 Σ (1 − k/n) rᵏ: 2.5 for n = 3 to 19 alike. As s then has heavier tails, t tests at 5 % need 2.5 to
2.8 times the width by simulation (tests/truth/test_lasting.py), and at 0.5 % up to 2.9.
"""

_SIGNS = 0.2
_SURE = 0.05
_FEWEST = 3.0


@dataclasses.dataclass(frozen=True, eq=False)
class Autocorrelations:
    """The correlation of each series with itself one block later; `threshold` is its limit at 5 %."""

    r: Floats
    p: Floats
    threshold: Floats


def lag_one(series: Floats) -> Autocorrelations:
    """Return r₁ = Σ(x_t − x̄)(x_{t+1} − x̄) / Σ(x_t − x̄)² of each column, and how surely it is positive.

    Of independent values r₁ is nearly normal with the mean −1/n and at most the variance 1/n (Bartlett 1946,
    J. R. Stat. Soc. Suppl. 8:27). The true one is smaller, (n − 2)²/(n²(n − 1)), but with it a normal curve
    finds too much among few values (Dufour and Roy 1985, J. Econometrics 29:257). Negative correlation is
    not looked for: it makes intervals too wide, which misleads nobody. Values on both sides of a gap
    count as neighbours.
    """
    from scipy.special import ndtr, ndtri

    r, p, threshold = (np.full(series.shape[1], np.nan) for _ in range(3))
    for alike in by_length(series, MIN_SERIES):
        length = len(alike.values)
        centred = alike.values - alike.values.mean(axis=0)
        square = np.square(centred).sum(axis=0)
        product = (centred[1:] * centred[:-1]).sum(axis=0)
        mean, deviation = -1 / length, 1 / np.sqrt(length)
        found = np.divide(product, square, out=np.full(len(square), mean), where=square > 0)
        r[alike.columns] = found
        p[alike.columns] = ndtr(-(found - mean) / deviation)
        threshold[alike.columns] = mean + deviation * ndtri(0.95)
    return Autocorrelations(r, p, threshold)


def allow_for(
    found: Ratios, reference: Floats, contender: Floats, confidence: float
) -> tuple[Ratios, Floats]:
    """Return the ratios with intervals that allow for blocks which resemble the one before, and r of these.

    Of paired columns with LEAST_BLOCKS, whichever mean they are of, in the order of time. What both sides
    share cancels, so it is looked for in the log ratios. Where there are signs of it (p ≤ 0.2) n blocks are
    worth n(1 − r)/(1 + r), with r₁ corrected for its bias as r = r₁ + (1 + 3 r₁)/n (Marriott and Pope 1954,
    Biometrika 41:390; Kendall 1954, 41:403). Where it is sure (p ≤ 0.05), r is not known from so few blocks,
    and a mean counts as no better known than a block. r is NaN of all other columns, whose intervals stay as
    they are.
    """
    seen = lag_one(_logs(found, reference, contender))
    n = found.n_blocks.astype(np.float64)
    is_alike = (seen.p <= _SIGNS) & (n >= LEAST_BLOCKS)
    if not is_alike.any():
        return found, np.full(len(n), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(seen.r + (1 + 3 * seen.r) / n, 0.0, 0.95)
        worth = np.where(seen.p <= _SURE, 1.0, n * (1 - r) / (1 + r))
        error = np.where(is_alike, found.error * np.sqrt(n / worth), found.error)
    freedom = np.where(is_alike, np.maximum(worth, _FEWEST) - 1, found.freedom)
    half = t_factors(freedom, confidence) * error + found.rounding
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


def not_to_be_told(found: Ratios, reference: Floats, contender: Floats) -> Floats:
    """Return r₁ of paired columns with fewer than LEAST_BLOCKS where it is sure (p ≤ 0.05), else NaN.

    So few blocks do not tell how many of them count, so no verdict can be drawn from them. Five blocks never
    make it sure, whatever they are.
    """
    seen = lag_one(_logs(found, reference, contender))
    return np.where((seen.p <= _SURE) & (found.n_blocks < LEAST_BLOCKS), seen.r, np.nan)


def _logs(found: Ratios, reference: Floats, contender: Floats) -> Floats:
    """Return the log ratios of blocks of columns that are paired, in the order of time."""
    is_paired = np.isin(found.design, (Design.PAIRED, Design.ARITHMETIC, Design.MEDIAN))
    logs = log_ratios(reference, contender)
    return np.where(is_paired & np.isfinite(logs), logs, np.nan)


def outlasting(plain: Ratios, found: Ratios) -> Ratios:
    """Return what would be known if both sides resembled themselves one block before with LASTING.

    `plain` are the ratios as of independent blocks, and `found` those of `allow_for`. Of medians, whose test
    has no standard error, nothing would be known.
    """
    error = np.fmax(found.error, _LASTING_ERROR * plain.error)
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.square(error / plain.error)
    means = plain.means.copy()
    means[:, 2:] *= np.where(np.isfinite(wider), wider, _LASTING_ERROR**2)[:, np.newaxis]
    low = np.where(found.design == Design.MEDIAN, np.nan, found.low)
    return dataclasses.replace(found, error=error, means=means, low=low)
