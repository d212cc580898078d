"""Compute p values for the hypotheses of no difference and of a difference as large as the margin."""

from __future__ import annotations

import numpy as np

from tare.core.margins import margin_ends
from tare.stats.intervals import Floats
from tare.stats.ratios import Design, Ratios
from tare.stats.sign_test import sign_tails

_EXACT = 1e-12
"""As a share of the ratio: smaller errors are arithmetic rounding. Keeps p above 0 without scatter."""


def difference_p_values(found: Ratios) -> Floats:
    """Return the two-sided p value of ratio = 1 in each column; NaN where there is no interval.

    P(|T(ν)| ≥ |ln ratio| / error): the paired t test of the logarithms, and Welch's for unpaired cells
    (Student 1908; Welch 1947). For arithmetic means it is the paired t test of the differences, for medians
    the sign test. It is below 1 − confidence exactly where the interval excludes 1. A difference that
    rounding alone may cause does not count.
    """
    by_t = _upper_tails(np.abs(_distance(found, 1.0)), found)
    if found.logs.size:
        by_t = _of_medians(found, by_t, np.minimum(*_sign_tails(found, 1.0, 1.0)))
    return np.minimum(2 * by_t, 1.0)


def equivalence_p_values(found: Ratios, margin: float) -> Floats:
    """Return the p value of a ratio outside [1/(1 + margin), 1 + margin]; NaN without an interval.

    These are two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657). The result is the
    larger of the p values for a ratio of at least 1 + margin and for one of at most 1/(1 + margin), which
    belongs to the nearer end.
    """
    least, most = margin_ends(margin)
    by_t = _upper_tails(np.minimum(_distance(found, least), -_distance(found, most)), found)
    if found.logs.size:
        by_t = _of_medians(found, by_t, np.maximum(*_sign_tails(found, least, most)))
    return by_t


def _sign_tails(found: Ratios, least: float, most: float) -> tuple[Floats, Floats]:
    """Return the p values of a median of `least` or less, and of one of `most` or more."""
    rounding = found.rounding[:, np.newaxis]
    above = sign_tails(found.logs - rounding, found.worth, np.log(least))
    below = sign_tails(-found.logs - rounding, found.worth, -np.log(most))
    return above, below


def _of_medians(found: Ratios, by_t: Floats, by_sign: Floats) -> Floats:
    """Return the p values, for medians those of the sign test; NaN for medians without an interval."""
    of_medians = np.where(np.isfinite(found.low), by_sign, np.nan)
    return np.where(found.design == Design.MEDIAN, of_medians, by_t)


def _distance(found: Ratios, limit: float) -> Floats:
    """Return how far the ratio lies above `limit`, on the scale of `error`.

    It is ln ratio − ln limit. The ratio of arithmetic means has no normal logarithm; there the distance is
    scaled such that, divided by `error`, it is Fieller's T = (u − limit · v) / s(u − limit · v).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distance: Floats = np.log(found.ratio) - np.log(limit)
        v, u, vv, uu, uv = found.means.T
        spread = np.sqrt(np.maximum(uu - 2 * limit * uv + limit**2 * vv, np.square(_EXACT * v)))
        scaled = (u - limit * v) / spread * np.maximum(found.error, _EXACT)
    return np.where(found.design == Design.ARITHMETIC, scaled, distance)


def _upper_tails(distance: Floats, found: Ratios) -> Floats:
    """Return P(T(ν) ≥ (distance − rounding) / error): small if the ratio lies clearly beyond a limit."""
    from scipy.special import stdtr

    with np.errstate(invalid="ignore"):
        beyond = distance - found.rounding
        tails: Floats = stdtr(found.freedom, -beyond / np.maximum(found.error, _EXACT))
    return np.where(np.isfinite(found.error), tails, np.nan)
