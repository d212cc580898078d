"""Judge a family of comparisons together.

`judge` takes the values of both sides, passes × subjects. It returns a `JudgedFamily`: a `Finding` of each
subject.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import JudgedFamily, Terms
from tare.analysis.verdicts.row_notes import UNPAIRED, UNPAIRED_BEGINS
from tare.core.workload import Better
from tare.stats.autocorrelation import allow_for, unresolved_correlation, with_assumed_correlation
from tare.stats.family import p_values
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats
from tare.stats.ratios import never_ran_together, ratios, separate_unpaired


def judge(
    reference: Floats,
    contender: Floats,
    better: Sequence[Better | None],
    terms: Terms,
    is_paired: npt.NDArray[np.bool_] | None = None,
    why_unpaired: str = "nothing tells which runs of the two sides belong together",
    *,
    is_unpaired: bool = False,
    rounding: Floats | None = None,
    ends: SessionEnds | None = None,
) -> JudgedFamily:
    """Judge the columns, passes × subjects, which together form one family.

    `better` holds the direction of each column. In a column that is not paired, rows are runs in no common
    order: all runs of one side are compared with all of the other, and `why_unpaired` gives the reason. With
    `is_unpaired`, columns with fewer than three passes on both sides are compared in the same way. Without
    it, only the passes with both sides count, and there is no ratio where there are none.
    """
    is_paired = np.ones(reference.shape[1], np.bool_) if is_paired is None else is_paired
    why = ["" if one else why_unpaired for one in is_paired.tolist()]
    were_few = never_ran_together(reference, contender, is_paired, MIN_BLOCKS)
    if is_unpaired:
        is_paired = is_paired & ~were_few
        apart = UNPAIRED.removeprefix(UNPAIRED_BEGINS)
        why = [apart if few else own for few, own in zip(were_few.tolist(), why, strict=True)]
    is_apart = never_ran_together(reference, contender, is_paired)
    looks = (ends or _one_look(reference)).looks(reference, contender, is_paired)
    reference, contender = separate_unpaired(reference, contender, is_paired)
    found = plain = ratios(reference, contender, rounding=rounding, mean=terms.mean)
    resembling = np.full(len(found.ratio), np.nan)
    unresolved = resembling
    if ends is not None:  # the rows are in the order of time
        unresolved = unresolved_correlation(found, reference, contender)
        found, resembling = allow_for(found, reference, contender, CONFIDENCE)
    lasting = with_assumed_correlation(plain, found)
    return JudgedFamily(
        reference=reference,
        contender=contender,
        rounding=rounding,
        is_in_order=ends is not None,
        found=found,
        unresolved=unresolved,
        resembling=resembling,
        known=p_values(found, terms.margin, CONFIDENCE, terms.correction, looks),
        lasting=p_values(lasting, terms.margin, CONFIDENCE, terms.correction, looks),
        looks=looks,
        better=better,
        terms=terms,
        why_unpaired=why,
        is_apart=is_apart,
        were_few=were_few,
    )


def _one_look(values: Floats) -> SessionEnds:
    return SessionEnds(np.zeros(len(values), np.int64), (0,))
