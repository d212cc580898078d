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

MOST_LAGS = 500
"""The most distances between blocks at which slopes are taken: all of them up to 501 blocks."""

_MOST_HELD = 4_000_000
"""The number of slopes held at once: 32 MB."""


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


def drift_p_values(series: Floats, slopes: Floats | None = None) -> Floats:
    """Return the two-sided p value of each column for a drift that autocorrelation does not explain.

    The test of Mann and Kendall assumes independent values, so it finds a trend in many autocorrelated
    series. From LEAST_BLOCKS on, the variance of S is multiplied by c = 1 + 2 Σ (1 − k/n) r^k. Here r is the
    autocorrelation of lag 1 after the slope of Theil and Sen is removed (Yue and Wang 2004, Water Resour.
    Manag. 18:201), corrected for its bias as r + (2 + 4 r)/n (Marriott and Pope 1954, Biometrika 41:390), and
    at least 0. As c is itself estimated, S over its error is compared with Student's t with n/c degrees of
    freedom, at least 6. The result is never below the p value of `mann_kendall`. `slopes` are those of
    `theil_sen`, if they are known.
    """
    from scipy.special import stdtr

    p = mann_kendall(series)
    slopes = theil_sen(series) if slopes is None else slopes
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
    1968, J. Am. Stat. Assoc. 63:1379). Of more than MOST_LAGS distances between values, so many that are
    evenly spread are taken, so that the time grows with the number of values, not with its square.
    """
    slopes = np.full(series.shape[1], np.nan)
    for columns, rows, values in by_length(series, MIN_SERIES):
        n_lags = min(len(values) - 1, MOST_LAGS)
        lags = np.linspace(1, len(values) - 1, n_lags).astype(np.int64).tolist()
        at_once = max(1, _MOST_HELD // sum(len(values) - lag for lag in lags))
        for start in range(0, len(columns), at_once):
            part = slice(start, start + at_once)
            y, x = values[:, part], rows[:, part]
            pairs = [(y[lag:] - y[:-lag]) / (x[lag:] - x[:-lag]) for lag in lags]
            slopes[columns[part]] = np.median(np.concatenate(pairs), axis=0)
    return slopes


def _score_and_ties(values: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return S and Σ t(t−1)(2t+5) of each column; the sum over groups is computed over their members.

    Of the n(n − 1)/2 pairs, those that are equal count 0 and those that fall count −1.
    """
    length = len(values)
    n_equal = _sizes_of_groups(np.sort(values, axis=0))
    n_level = (n_equal - 1).sum(axis=0) // 2
    score = length * (length - 1) // 2 - n_level - 2 * _falling_pairs(values)
    return score, ((n_equal - 1) * (2 * n_equal + 5)).sum(axis=0).astype(np.float64)


def _falling_pairs(values: Floats) -> npt.NDArray[np.int64]:
    """Return for each column how many pairs i < j have x_i > x_j, counted while sorting by merging.

    Of two sorted runs that are merged, each value of the second falls from those values of the first that
    come after it (Knight 1966, J. Am. Stat. Assoc. 61:436).
    """
    length, n_columns = values.shape
    size = 1 << (length - 1).bit_length()
    runs = np.full((n_columns, size), np.inf)
    runs[:, :length] = values.T
    n_falling = np.zeros(n_columns, np.int64)
    width = 1
    while width < size:
        both = runs.reshape(n_columns, -1, 2 * width)
        order = np.argsort(both, axis=2, kind="stable")
        is_of_first = order < width
        n_after = width - is_of_first.cumsum(axis=2)
        n_falling += np.where(is_of_first, 0, n_after).sum(axis=(1, 2))
        runs = np.take_along_axis(both, order, axis=2)
        width *= 2
    return n_falling


def _sizes_of_groups(ranked: Floats) -> npt.NDArray[np.int64]:
    """Return for each value of each sorted column how many values equal it, itself included."""
    length = len(ranked)
    is_first = np.ones(ranked.shape, np.bool_)
    is_first[1:] = ranked[1:] != ranked[:-1]
    is_last = np.ones(ranked.shape, np.bool_)
    is_last[:-1] = is_first[1:]
    places = np.arange(length, dtype=np.int64)[:, np.newaxis]
    first = np.maximum.accumulate(np.where(is_first, places, 0), axis=0)
    last = np.minimum.accumulate(np.where(is_last, places, length)[::-1], axis=0)[::-1]
    sizes: npt.NDArray[np.int64] = last - first + 1
    return sizes


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
