"""Adjust the p values of many comparisons, so that all claims hold together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tare.core.comparison import Correction
from tare.stats.equivalence import difference_p_values, equivalence_p_values
from tare.stats.intervals import Floats
from tare.stats.looks import Looks, sequential_p_values
from tare.stats.multiplicity import benjamini_hochberg, holm
from tare.stats.ratios import Ratios


@dataclasses.dataclass(frozen=True, eq=False)
class PValues:
    """The p values of no difference, and of a difference as large as the margin, for each column.

    A difference may be claimed where `difference_adjusted` is at most 1 − confidence, and equivalence where
    `equivalence_adjusted` is. `size` counts the columns with p values. `difference_level` and
    `equivalence_level` are the plain p values that one more claim of a kind would need beside those that are
    made, at a single look.
    """

    difference: Floats
    difference_adjusted: Floats
    equivalence: Floats
    equivalence_adjusted: Floats
    size: int
    difference_level: float
    equivalence_level: float

    def of(self, columns: npt.NDArray[np.intp]) -> PValues:
        """Return the p values of the chosen columns, adjusted for all of them."""
        return dataclasses.replace(
            self,
            difference=self.difference[columns],
            difference_adjusted=self.difference_adjusted[columns],
            equivalence=self.equivalence[columns],
            equivalence_adjusted=self.equivalence_adjusted[columns],
        )


def p_values(
    found: Ratios,
    margin: float,
    confidence: float,
    correction: Correction,
    looks: Sequence[Looks] | None = None,
) -> PValues:
    """Return the p values of N columns, adjusted such that the claims of each kind hold together.

    Each column tests two null hypotheses, "no difference" and "as large as the margin". Claims of a
    difference form one family and claims of equivalence another. Each has N members and is adjusted by
    itself, since the number of equivalent figures says nothing about whether another figure differs.

    HOLM keeps the chance of any false claim of its kind at α = 1 − confidence. FDR keeps the expected share
    of false claims of its kind at α. Without correction, α applies to each column alone. `looks` gives the
    looks of each column; with it, all of this holds over all looks together.
    """
    difference, equivalence = difference_p_values(found), equivalence_p_values(found, margin)
    adjust = _ADJUSTMENTS[correction]
    over_looks = [
        one if looks is None else sequential_p_values(one, looks) for one in (difference, equivalence)
    ]
    adjusted = [adjust(one) for one in over_looks]
    size = int(np.isfinite(difference).sum())
    levels = [_level_of_one_more(one, size, 1 - confidence, correction) for one in adjusted]
    return PValues(difference, adjusted[0], equivalence, adjusted[1], size, *levels)


def _level_of_one_more(adjusted: Floats, size: int, alpha: float, correction: Correction) -> float:
    """Return the plain p value that one more claim needs beside those that are made.

    Holm's procedure judges it among all that are not claimed yet; FDR judges it as the next in rank.
    """
    n_made = int((adjusted <= alpha).sum())
    if correction is Correction.HOLM:
        return alpha / max(size - n_made, 1)
    if correction is Correction.FDR:
        return alpha * min(n_made + 1, size) / max(size, 1)
    return alpha


_ADJUSTMENTS: dict[Correction, Callable[[Floats], Floats]] = {
    Correction.HOLM: holm,
    Correction.FDR: benjamini_hochberg,
    Correction.NONE: np.copy,
}
