"""Claims drawn from many comparisons at once, and what is certain of all of them together."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.model.comparison import Correction
from tare.stats.equivalence import difference_p_values, equivalence_p_values
from tare.stats.intervals import Floats
from tare.stats.multiplicity import benjamini_hochberg, holm
from tare.stats.ratios import Ratios


@dataclasses.dataclass(frozen=True, eq=False)
class PValues:
    """What speaks against no difference, and against one as large as the margin, in each column.

    A difference may be claimed where `difference_adjusted` is at most 1 − confidence, and equivalence where
    `equivalence_adjusted` is. `size` counts the columns with p values; `level` is what a plain p value of
    one more claim would have to reach.
    """

    difference: Floats
    difference_adjusted: Floats
    equivalence: Floats
    equivalence_adjusted: Floats
    size: int
    level: float


def p_values(found: Ratios, margin: float, confidence: float, correction: Correction) -> PValues:
    """Return the p values of a family of N columns, adjusted such that its claims hold together.

    Each column tests two null hypotheses, "no difference" and "as large as the margin". They exclude each
    other, so at most one is true. Of one column alone, a test of both at α makes a false claim with a
    chance of at most α: at ratio 1 only a difference can be false; at the margin or beyond, both a false
    equivalence and a difference of the wrong sign take blocks that reject "as large as the margin"; between,
    only a wrong sign can be, and that at α/2.

    HOLM keeps the chance of any false claim in the family at α = 1 − confidence. It is Holm's procedure
    over all 2N hypotheses, of which at most N are true together, so that no factor exceeds N (Shaffer 1986).
    Plain Holm over each kind by itself would let α/2 to α of false equivalences add to α of false
    differences. FDR keeps the expected share of false claims among all that are made at α: the procedure of
    Benjamini and Hochberg over the smaller p value of each column, with the N of the columns, since a column
    makes one claim. Without correction α is that of each column alone.
    """
    difference, equivalence = difference_p_values(found), equivalence_p_values(found, margin)
    alpha = 1 - confidence
    size = int(np.isfinite(difference).sum())
    if correction is Correction.HOLM:
        both = holm(np.concatenate([difference, equivalence]), most_true=size)
        adjusted = both[: len(difference)], both[len(difference) :]
        level = alpha / max(size, 1)
    elif correction is Correction.FDR:
        claims = np.minimum(difference, equivalence)
        adjusted = benjamini_hochberg(difference, claims), benjamini_hochberg(equivalence, claims)
        n_made = int((benjamini_hochberg(claims) <= alpha).sum())
        level = alpha * min(n_made + 1, size) / max(size, 1)
    else:
        adjusted = difference, equivalence
        level = alpha
    return PValues(difference, adjusted[0], equivalence, adjusted[1], size, level)
