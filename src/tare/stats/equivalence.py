"""How surprising the blocks would be if there were no difference, or one as large as the margin."""

from __future__ import annotations

import numpy as np

from tare.stats.intervals import Floats
from tare.stats.ratios import Ratios


def difference_p_values(found: Ratios) -> Floats:
    """Return the two-sided p value of ratio = 1 in each column, NaN where there is no interval.

    P(|T(ν)| ≥ |ln ratio| / error): the paired t test of the logarithms, and Welch's for unpaired cells
    (Student 1908; Welch 1947). It is below 1 − confidence just where the interval excludes 1.
    """
    return np.minimum(1.0, 2 * _upper_tails(np.abs(np.log(found.ratio)), found))


def equivalence_p_values(found: Ratios, margin: float) -> Floats:
    """Return the p value of a ratio outside [1/(1 + margin), 1 + margin], NaN without an interval.

    Two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657): the larger p value of
    ln ratio ≥ δ and ln ratio ≤ −δ with δ = ln(1 + margin), which is that of the nearer end.
    """
    return _upper_tails(np.log1p(margin) - np.abs(np.log(found.ratio)), found)


def _upper_tails(distance: Floats, found: Ratios) -> Floats:
    """Return P(T(ν) ≥ distance / error); without any scatter 0 or 1."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        tails: Floats = stdtr(found.freedom, -distance / found.error)
    return np.where(found.error == 0, np.where(distance >= 0, 0.0, 1.0), tails)
