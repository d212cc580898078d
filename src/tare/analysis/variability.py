"""Test whether a contender scatters less than its reference; this variability is a result in its own right.

`variabilities` takes a campaign and returns one row for each pair and quoted figure of merit.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tare.analysis.answering_figures import quoted_foms
from tare.analysis.estimate import absent_as_none
from tare.analysis.interim_looks import session_ends
from tare.analysis.pairs import Pair, pairs, told_blocks
from tare.analysis.proofs import nothing_crosses
from tare.analysis.questions import common_cells, place_of, sides
from tare.analysis.row_notes import NOT_TOGETHER
from tare.analysis.table import Cell, tabulate
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.looks import Looks, sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.ratios import only_together, were_apart
from tare.stats.scatter_ratios import MIN_COMPARED, ScatterRatios, scatter_ratios
from tare.stats.variability import Scatters, scatters
from tare.stats.verdict import verdict

SAME_SCATTER = 0.25
"""Scatters within 25 % of each other count as equal. To know a scatter to 10 % takes 200 blocks."""


class Variability(msgspec.Struct, frozen=True, kw_only=True):
    """The scatter of a contender between blocks compared with that of its reference, in one figure of merit.

    `reference_cv` and `contender_cv` are the coefficients of variation of the block means. `ratio` is that of
    the mean absolute deviations of their logarithms, which a single outlier changes less. A ratio of 0.5
    means half the scatter, and the verdict `better`. `low` and `high` are for each row alone. They are None
    with fewer than three blocks (six for an interval), or where values are zero or less or all equal.
    `p_adjusted` (for a difference) and `p_equivalence_adjusted` are adjusted for all rows and for all looks.
    The other fields are as in a Comparison.
    """

    fom: str
    unit: str
    at: Settings
    reference: Settings
    contender: Settings
    reference_case: str
    contender_case: str
    n_blocks: int
    reference_cv: float | None
    contender_cv: float | None
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    verdict: Verdict
    note: str = ""
    p_value: float | None = None
    p_adjusted: float | None = None
    p_equivalence: float | None = None
    p_equivalence_adjusted: float | None = None
    n_comparisons: int = 0


def variabilities(
    campaign: Campaign, *, reference: Settings | None = None, confidence: float = 0.95
) -> list[Variability]:
    """Compare the scatter of each contender with that of its reference, with one row for each quoted FOM.

    Each block counts as the geometric mean over the coordinates. `reference` replaces that of the study.
    Raises UsageError when no case has its settings.
    """
    table = tabulate(campaign)
    subjects: list[tuple[Pair, Cell]] = []
    below, above = [], []
    for pair in pairs(campaign, reference):
        if nothing_crosses(campaign.plan, pair):
            continue
        primary = quoted_foms(campaign.plan, pair)
        for cells in common_cells(table, pair):
            if not primary or cells[0].fom in primary:
                one, other, _ = sides(table, pair, cells)
                subjects.append((pair, cells[0]))
                below.append(one)
                above.append(other)
    if not subjects:
        return []
    told = told_blocks(campaign)
    may_pair = np.array([{pair.reference_case.id, pair.contender_case.id} <= told for pair, _ in subjects])
    sides_of = np.column_stack(below), np.column_stack(above)
    if campaign.compares_unpaired:
        may_pair &= ~were_apart(*sides_of, may_pair, MIN_BLOCKS)
    is_apart = were_apart(*sides_of, may_pair).tolist()
    logs = [_logs(side) for side in only_together(*sides_of, may_pair)]
    found = scatter_ratios(logs[0], logs[1], may_pair)
    looks = session_ends(campaign, table.passes).looks(*sides_of, may_pair)
    answered = _answers(subjects, [scatters(side, confidence) for side in logs], found, confidence, looks)
    return [
        msgspec.structs.replace(one, note=NOT_TOGETHER) if apart else one
        for one, apart in zip(answered, is_apart, strict=True)
    ]


def _logs(values: Floats) -> Floats:
    """Return logarithms; NaN for a whole column with a value of zero or less, as a part is no fair sample."""
    is_positive = ~(values <= 0).any(axis=0)
    return np.log(np.where(is_positive & (values > 0), values, np.nan))


def _answers(
    subjects: list[tuple[Pair, Cell]],
    cvs: list[Scatters],
    found: ScatterRatios,
    confidence: float,
    looks: Sequence[Looks],
) -> list[Variability]:
    low, high = found.interval(confidence)
    difference, equivalence = found.difference_p_values(), found.equivalence_p_values(SAME_SCATTER)
    size = int(np.isfinite(difference).sum())
    columns = {
        "reference_cv": cvs[0].cv,
        "contender_cv": cvs[1].cv,
        "ratio": found.ratio,
        "low": low,
        "high": high,
        "p_value": difference,
        "p_adjusted": holm(sequential_p_values(difference, looks)),
        "p_equivalence": equivalence,
        "p_equivalence_adjusted": holm(sequential_p_values(equivalence, looks)),
    }
    numbers = zip(*(absent_as_none(column.tolist()) for column in columns.values()), strict=True)
    rows = zip(subjects, found.n_blocks.tolist(), found.is_paired.tolist(), numbers, strict=True)
    return [
        _with_verdict(
            Variability(
                fom=cell.fom,
                unit=cell.unit,
                at=place_of(pair, cell.labels),
                reference=pair.reference,
                contender=pair.contender,
                reference_case=pair.reference_case.id,
                contender_case=pair.contender_case.id,
                n_blocks=n_blocks,
                confidence=confidence,
                verdict=Verdict.UNDECIDED,
                note="" if is_paired else "unpaired",
                n_comparisons=size,
                **dict(zip(columns, row, strict=True)),
            )
        )
        for (pair, cell), n_blocks, is_paired, row in rows
    ]


def _with_verdict(one: Variability) -> Variability:
    """Return a row with its verdict, adjusted for all rows, and a note for the reader."""
    alpha = 1 - one.confidence
    drawn = verdict(
        one.low,
        one.high,
        margin=SAME_SCATTER,
        better=Better.LOWER,
        can_differ=one.p_adjusted is not None and one.p_adjusted <= alpha,
        can_be_equivalent=one.p_equivalence_adjusted is not None and one.p_equivalence_adjusted <= alpha,
    )
    return msgspec.structs.replace(one, verdict=drawn, note=_note(one, drawn))


def _note(one: Variability, drawn: Verdict) -> str:
    if one.n_blocks < MIN_BLOCKS:
        return f"too few blocks: a scatter takes {MIN_BLOCKS} on both sides"
    if one.ratio is None:
        return "a side does not scatter at all"
    parts = [one.note]
    if one.low is None and one.n_blocks < MIN_COMPARED:
        parts.append(f"too few blocks: scatters are compared from {MIN_COMPARED} on")
    if drawn is Verdict.UNDECIDED and _excludes_one(one):
        parts.append(f"excludes 1 alone, but not among {one.n_comparisons} comparisons")
    return "; ".join(filter(None, parts))


def _excludes_one(one: Variability) -> bool:
    return one.low is not None and one.high is not None and not one.low <= 1 <= one.high
