"""Estimate the paired ratio by ranks: an estimate and an interval that no single outlier can move far."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from tare.stats.equivalence import difference_p_values
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.ratios import Design, Ratios, log_ratios
from tare.stats.walsh import walsh_order_statistics

EXACT_UP_TO = 300
"""The most blocks for which the distribution of T is exact: the time grows with the cube of their number."""


@dataclasses.dataclass(frozen=True, eq=False)
class RankRatios:
    """Contender / reference of each cell by ranks; NaN where the cell is not paired in three blocks.

    It is NaN, too, where a value is zero or less: its ratio has no logarithm.

    `confidence` is the confidence that the interval reaches. Below six blocks no interval reaches 95 %: even
    the whole range of n blocks misses the median with probability 2 / 2ⁿ.
    """

    ratio: Floats
    low: Floats
    high: Floats
    confidence: Floats


def rank_ratios(reference: Floats, contender: Floats, confidence: float = 0.95) -> RankRatios:
    """Return the Hodges–Lehmann estimate of each column, with its signed-rank interval.

    Let d = ln(c/r) of the n common blocks, and w(1) … w(M) their M = n(n + 1)/2 sorted Walsh averages (dᵢ +
    dⱼ)/2, i ≤ j. The estimate is the median of the averages. The interval is [w(k + 1), w(M − k)] with the
    largest k for which P(T ≤ k) ≤ (1 − confidence)/2, where T is Wilcoxon's signed-rank statistic. If there
    is no such k, then k = 0: the whole range (Hodges and Lehmann 1963, Ann. Math. Stat. 34:598; Hollander,
    Wolfe and Chicken 2014, Nonparametric Statistical Methods, 3.2 and 3.3). The only assumption is that the
    ratios of blocks are symmetric about their centre on the log scale. The distribution of T is exact up to
    EXACT_UP_TO blocks, and beyond that to seven digits.
    """
    has_logs = ~((reference <= 0) | (contender <= 0)).any(axis=0)
    logs = np.where(has_logs, log_ratios(reference, contender), np.nan)
    logs = np.sort(logs, axis=0)  # NaN is sorted last
    n_common = np.isfinite(logs).sum(axis=0)
    found = RankRatios(*(np.full(logs.shape[1], np.nan) for _ in range(4)))
    for n in np.unique(n_common[n_common >= MIN_BLOCKS]).tolist():
        k, reached = least_rank(n, confidence)
        columns = np.flatnonzero(n_common == n)
        last = n * (n + 1) // 2 - 1
        ranks = (k, last // 2, (last + 1) // 2, last - k)
        low, one, other, high = walsh_order_statistics(np.ascontiguousarray(logs[:n, columns].T), ranks).T
        found.ratio[columns] = np.exp((one + other) / 2)
        found.low[columns], found.high[columns] = np.exp(low), np.exp(high)
        found.confidence[columns] = reached
    return found


def disagreements(by_t: Ratios, by_ranks: RankRatios) -> npt.NDArray[np.bool_]:
    """Return where ranks and Student's t disagree, so that neither should be quoted alone.

    They disagree if either estimate lies outside the other's interval, or if only one interval excludes 1,
    both at the confidence that the ranks reach.
    """
    slack = 1e-12  # for rounding, where all blocks are equal and both intervals have no width
    is_outside = (
        (by_ranks.ratio < by_t.low * (1 - slack))
        | (by_ranks.ratio > by_t.high * (1 + slack))
        | (by_t.ratio < by_ranks.low * (1 - slack))
        | (by_t.ratio > by_ranks.high * (1 + slack))
    )
    excludes = difference_p_values(by_t) < 1 - by_ranks.confidence
    ranks_exclude = (by_ranks.low > 1) | (by_ranks.high < 1)
    is_both = (by_t.design == Design.PAIRED) & np.isfinite(by_t.low) & np.isfinite(by_ranks.ratio)
    return np.asarray(is_both & (is_outside | (excludes != ranks_exclude)))


@functools.lru_cache(maxsize=256)
def least_rank(n: int, confidence: float) -> tuple[int, float]:
    """Return k of the interval [w(k + 1), w(M − k)], and the confidence that it reaches."""
    level = (1 - confidence) / 2 * (1 + 1e-12)
    if n > EXACT_UP_TO:
        ranks = range(n * (n + 1) // 4)
        k = max(0, bisect.bisect_right(ranks, level, key=lambda rank: signed_rank_tail(n, rank)) - 1)
        return k, 1 - 2 * signed_rank_tail(n, k)
    below = np.cumsum(signed_rank_distribution(n))
    k = max(0, int(np.searchsorted(below, level, side="right")) - 1)
    return k, float(1 - 2 * below[k])


def signed_rank_tail(n: int, k: int) -> float:
    """Return P(T ≤ k) of Wilcoxon's signed-rank statistic of many blocks, by Edgeworth's series up to 1/n².

    The sum of T and a uniform deviate in (−½, ½) is at most k + ½ with the same probability, and has a
    density. Its cumulants are κ₂ = Σi²/4 + 1/12, κ₄ = −Σi⁴/8 − 1/120 and κ₆ = Σi⁶/4 + 1/252 over i = 1 … n;
    the odd ones are 0 (Kolassa 2006, Series Approximation Methods in Statistics, ch. 3). From 150 blocks on,
    the error is less than 1e-7.
    """
    from scipy.special import ndtr

    ranks = np.arange(1.0, n + 1)
    second = float((ranks**2).sum()) / 4 + 1 / 12
    fourth = (-float((ranks**4).sum()) / 8 - 1 / 120) / second**2
    sixth = (float((ranks**6).sum()) / 4 + 1 / 252) / second**3
    z = (k + 0.5 - n * (n + 1) / 4) / math.sqrt(second)
    series = np.polynomial.hermite_e.hermeval(z, [0, 0, 0, fourth / 24, 0, sixth / 720, 0, fourth**2 / 1152])
    return float(ndtr(z) - math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * series)


def signed_rank_distribution(n: int) -> Floats:
    """Return P(T = t) of Wilcoxon's signed-rank statistic of n blocks, for t = 0 … n(n + 1)/2.

    It is exact, and takes a time of n³. Each rank is in the sum or not, with equal probability, so the
    generating function is ∏ (1 + xⁱ)/2 over i = 1 … n (Wilcoxon 1945, Biometrics Bulletin 1:80).
    """
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    chances.flags.writeable = False
    return chances
