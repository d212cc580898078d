"""How surprising the blocks would be if there were no difference, or one as large as the margin."""

from __future__ import annotations

import numpy as np

from tare.core.margins import margin_ends
from tare.stats.intervals import Floats
from tare.stats.ratios import Design, Ratios
from tare.stats.sign_test import sign_tails

_EXACT = 1e-12
"""Of the ratio: what is smaller is rounding of the arithmetic. No p value is 0 for want of scatter."""


def difference_p_values(found: Ratios) -> Floats:
    """Return the two-sided p value of ratio = 1 in each column, NaN where there is no interval.

    P(|T(ν)| ≥ |ln ratio| / error): the paired t test of the logarithms, and Welch's for unpaired cells
    (Student 1908; Welch 1947); of arithmetic means the paired t test of the differences. It is below
    1 − confidence just where the interval excludes 1. Of medians it is that of the sign test.
    What rounding alone may have made is no difference.
    """
    two_sided: Floats = 2 * np.minimum(_above(found, 1.0), _below(found, 1.0))
    return np.minimum(two_sided, 1.0)


def equivalence_p_values(found: Ratios, margin: float) -> Floats:
    """Return the p value of a ratio outside [1/(1 + margin), 1 + margin], NaN without an interval.

    Two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657): the larger p value of a ratio
    at 1 + margin or above and of one at 1/(1 + margin) or below, which is that of the nearer end.
    """
    least, most = margin_ends(margin)
    return np.maximum(_above(found, least), _below(found, most))


def _above(found: Ratios, limit: float) -> Floats:
    """Return the p value of a ratio of `limit` or less, for which what lies above it speaks."""
    by_t = _upper_tails(_distance(found, limit) - found.rounding, found)
    return _of_medians(found, by_t, found.logs, np.log(limit))


def _below(found: Ratios, limit: float) -> Floats:
    """Return the p value of a ratio of `limit` or more."""
    by_t = _upper_tails(-_distance(found, limit) - found.rounding, found)
    return _of_medians(found, by_t, -found.logs, -np.log(limit))


def _of_medians(found: Ratios, p_values: Floats, logs: Floats, limit: float) -> Floats:
    """Return the p values, of medians those of the sign test; none where they have no interval."""
    if not logs.size:
        return p_values
    tails = sign_tails(logs - found.rounding[:, np.newaxis], found.worth, limit)
    is_median = found.design == Design.MEDIAN
    return np.where(is_median, np.where(np.isfinite(found.low), tails, np.nan), p_values)


def _distance(found: Ratios, limit: float) -> Floats:
    """Return how far the ratio lies above `limit`, on the scale of `error`.

    ln ratio − ln limit. Of arithmetic means, whose ratio has no normal logarithm, it is scaled such that
    over `error` it is Fieller's T = (u − limit · v) / s(u − limit · v).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distance: Floats = np.log(found.ratio) - np.log(limit)
        v, u, vv, uu, uv = found.means.T
        spread = np.sqrt(np.maximum(uu - 2 * limit * uv + limit**2 * vv, np.square(_EXACT * v)))
        scaled = (u - limit * v) / spread * np.maximum(found.error, _EXACT)
    return np.where(found.design == Design.ARITHMETIC, scaled, distance)


def _upper_tails(distance: Floats, found: Ratios) -> Floats:
    """Return P(T(ν) ≥ distance / error)."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore"):
        tails: Floats = stdtr(found.freedom, -distance / np.maximum(found.error, _EXACT))
    return np.where(np.isfinite(found.error), tails, np.nan)
