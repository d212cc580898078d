"""Test whether a series drifts, and estimate the change per block."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from tare.stats.autocorrelation import LEAST_BLOCKS, lag_one
from tare.stats.intervals import Floats
from tare.stats.series import MIN_SERIES, by_length

EXACT_UP_TO = 40
"""Up to this length the distribution of S is exact; beyond, the normal approximation is as good."""


def mann_kendall(series: Floats) -> Floats:
    """Return the two-sided p value of each column for a monotone trend.

    S = Σ sign(x_j − x_i) over all i < j. Its distribution is exact for at most 40 values without ties.
    Otherwise it is normal with the variance (n(n−1)(2n+5) − Σ t(t−1)(2t+5))/18, where t is the size of each
    group of equal values, and with a correction for continuity (Mann 1945, Econometrica 13:245; Kendall 1975,
    Rank Correlation Methods, ch. 4). The test assumes no distribution, and a single outlier cannot cause a
    trend.
    """
    p = np.full(series.shape[1], np.nan)
    for alike in by_length(series, MIN_SERIES):
        score, ties = _score_and_ties(alike.values)
        length = len(alike.values)
        found = _normal_p(score, ties, length)
        if length <= EXACT_UP_TO:
            found = np.where(ties == 0, _exact_p(length)[np.abs(score)], found)
        p[alike.columns] = found
    return p


def drift_p_values(series: Floats) -> Floats:
    """Return the two-sided p value of each column for a drift that autocorrelation does not explain.

    The test of Mann and Kendall assumes independent values, so it finds a trend in many autocorrelated
    series. From LEAST_BLOCKS on, the variance of S is multiplied by c = 1 + 2 Σ (1 − k/n) r^k. Here r is the
    autocorrelation of lag 1 after the slope of Theil and Sen is removed (Yue and Wang 2004, Water Resour.
    Manag. 18:201), corrected for its bias as r + (2 + 4 r)/n (Marriott and Pope 1954, Biometrika 41:390), and
    at least 0. As c is itself estimated, S over its error is compared with Student's t with n/c degrees of
    freedom, at least 6. The result is never below the p value of `mann_kendall`.
    """
    from scipy.special import stdtr

    p = mann_kendall(series)
    slopes = theil_sen(series)
    for columns, rows, values in by_length(series, LEAST_BLOCKS):
        length = len(values)
        r = lag_one(values - slopes[columns] * rows).r
        r = np.clip(r + (2 + 4 * r) / length, 0.0, 0.95)
        lags = np.arange(1, length)[:, np.newaxis]
        worth = 1 + 2 * ((1 - lags / length) * r**lags).sum(axis=0)
        score, ties = _score_and_ties(values)
        distance = _distance(score, ties, length) / np.sqrt(worth)
        p[columns] = np.maximum(p[columns], 2 * stdtr(np.maximum(length / worth, 6.0), -distance))
    return p


def theil_sen(series: Floats) -> Floats:
    """Return the change per block of each column: the median of the slopes between all pairs of values.

    Up to 29 % of the values may be outliers without changing it much (Theil 1950, Proc. KNAW 53:386; Sen
    1968, J. Am. Stat. Assoc. 63:1379).
    """
    slopes = np.full(series.shape[1], np.nan)
    for columns, rows, values in by_length(series, MIN_SERIES):
        lags = range(1, len(values))
        pairs = [(values[lag:] - values[:-lag]) / (rows[lag:] - rows[:-lag]) for lag in lags]
        slopes[columns] = np.median(np.concatenate(pairs), axis=0)
    return slopes


def _score_and_ties(values: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return S and Σ t(t−1)(2t+5) of each column; the sum over groups is computed over their members."""
    score = np.zeros(values.shape[1], np.int64)
    n_equal = np.ones(values.shape)
    for lag in range(1, len(values)):
        sign = np.sign(values[lag:] - values[:-lag]).astype(np.int64)
        score += sign.sum(axis=0)
        n_equal[lag:] += sign == 0
        n_equal[:-lag] += sign == 0
    return score, ((n_equal - 1) * (2 * n_equal + 5)).sum(axis=0)


def _normal_p(score: npt.NDArray[np.int64], ties: Floats, length: int) -> Floats:
    from scipy.special import ndtr

    p: Floats = np.minimum(2 * ndtr(-_distance(score, ties, length)), 1.0)
    return p


def _distance(score: npt.NDArray[np.int64], ties: Floats, length: int) -> Floats:
    """Return the distance of S from 0 in standard deviations, corrected for continuity."""
    variance = (length * (length - 1) * (2 * length + 5) - ties) / 18
    distance: Floats = np.maximum(np.abs(score) - 1, 0) / np.sqrt(np.maximum(variance, 1.0))
    return distance


@functools.cache
def _exact_p(length: int) -> Floats:
    """Return P(|S| ≥ s) for s = 0, 1, …, from the distribution of the number of inversions of a permutation.

    Inserting the kth element adds 0 to k − 1 inversions, all equally likely.
    """
    chances = np.ones(1)
    for k in range(2, length + 1):
        chances = np.convolve(chances, np.full(k, 1 / k))
    most = len(chances) - 1
    scores = np.abs(most - 2 * np.arange(most + 1))
    by_score = np.bincount(scores, weights=chances, minlength=most + 1)
    return np.minimum(np.cumsum(by_score[::-1])[::-1], 1.0)
