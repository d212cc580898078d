"""Test the assumption behind Student's interval: that the logarithms of ratios are normal."""

from __future__ import annotations

import numpy as np

from tare.stats.intervals import Floats
from tare.stats.series import MIN_SERIES, by_length


def normality_p_values(logs: Floats) -> Floats:
    """Return the p value of normality of each column of `logs`, blocks × columns; NaN elsewhere.

    The statistic is W' of Shapiro and Francia, the squared correlation with normal scores (1972, JASA
    67:215), with Royston's p value, for 5 to 5,000 values (1993, The Statistician 42:37). A column with fewer
    values, or with all values equal, has none. Unlike W of Shapiro and Wilk, it is computed for all columns
    at once.
    """
    from scipy.special import ndtr, ndtri

    found = np.full(logs.shape[1], np.nan)
    for alike in by_length(np.where(np.isfinite(logs), logs, np.nan), MIN_SERIES):
        n = len(alike.values)
        scores = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
        deviations = np.sort(alike.values, axis=0) - alike.values.mean(axis=0)
        squares = np.square(deviations).sum(axis=0) * np.square(scores).sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            lack = 1 - np.square(scores @ deviations) / squares
            u = np.log(n)
            centre = -1.2725 + 1.0521 * (np.log(u) - u)
            spread = 1.0308 - 0.26758 * (np.log(u) + 2 / u)
            p_values = ndtr(-(np.log(np.maximum(lack, 1e-300)) - centre) / spread)
        found[alike.columns] = np.where(np.ptp(alike.values, axis=0) > 0, p_values, np.nan)
    return found
