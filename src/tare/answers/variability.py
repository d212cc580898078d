"""Whether a contender scatters less than its reference: variability as an answer of its own."""

from __future__ import annotations

import msgspec
import numpy as np

from tare.answers.compare import common_cells, primary_foms, sides
from tare.answers.estimate import absent_as_none
from tare.answers.pairs import Pair, pairs, told_blocks
from tare.answers.table import Cell, tabulate
from tare.model.campaign import Campaign
from tare.model.comparison import Verdict
from tare.model.values import Settings
from tare.model.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.variability import ScatterRatios, Scatters, scatter_ratios, scatters
from tare.stats.verdict import verdict

SAME_SCATTER = 0.25
"""Scatters within a quarter of each other count as the same: to know one to a tenth takes 200 blocks."""


class Variability(msgspec.Struct, frozen=True, kw_only=True):
    """The scatter of a contender from block to block against its reference's, in one figure of merit.

    `reference_cv` and `contender_cv` are coefficients of variation of the block means; `ratio` is the
    latter over the former, so 0.5 is half the scatter and `better`. Each has its interval; None with
    fewer than three blocks, or where values are zero or less or all the same. The rest is as in a Comparison.
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


def variabilities(
    campaign: Campaign, *, reference: Settings | None = None, confidence: float = 0.95
) -> list[Variability]:
    """Return the scatter of each contender against its reference's, one answer a primary FOM.

    Each block counts as the geometric mean over coordinates. `reference` takes the place of the study's
    own. Raises UsageError when no case has its settings.
    """
    table = tabulate(campaign)
    subjects: list[tuple[Pair, Cell]] = []
    below, above = [], []
    for pair in pairs(campaign, reference):
        primary = primary_foms(campaign.plan, pair.workload)
        for cells in common_cells(table, pair):
            if not primary or cells[0].fom in primary:
                one, other, _ = sides(table, pair, cells)
                subjects.append((pair, cells[0]))
                below.append(one)
                above.append(other)
    if not subjects:
        return []
    logs = [_logs(np.column_stack(side)) for side in (below, above)]
    told = told_blocks(campaign)
    may_pair = [{pair.reference_case.id, pair.contender_case.id} <= told for pair, _ in subjects]
    found = scatter_ratios(logs[0], logs[1], confidence, np.array(may_pair))
    return _answers(subjects, [scatters(side, confidence) for side in logs], found, confidence)


def _logs(values: Floats) -> Floats:
    """Return logarithms, NaN for a whole column in which a value is zero or less: half of it is no sample."""
    is_positive = ~(values <= 0).any(axis=0)
    return np.log(np.where(is_positive & (values > 0), values, np.nan))


def _answers(
    subjects: list[tuple[Pair, Cell]], cvs: list[Scatters], found: ScatterRatios, confidence: float
) -> list[Variability]:
    columns = (cvs[0].cv, cvs[1].cv, found.ratio, found.low, found.high)
    rows = zip(
        subjects,
        found.n_blocks.tolist(),
        found.is_paired.tolist(),
        *(absent_as_none(column.tolist()) for column in columns),
        strict=True,
    )
    return [
        Variability(
            fom=cell.fom,
            unit=cell.unit,
            at=pair.shared,
            reference=pair.reference,
            contender=pair.contender,
            reference_case=pair.reference_case.id,
            contender_case=pair.contender_case.id,
            n_blocks=n_blocks,
            reference_cv=reference_cv,
            contender_cv=contender_cv,
            ratio=ratio,
            low=low,
            high=high,
            confidence=confidence,
            verdict=verdict(low, high, margin=SAME_SCATTER, better=Better.LOWER),
            note=_note(n_blocks, ratio, is_paired=is_paired),
        )
        for (pair, cell), n_blocks, is_paired, reference_cv, contender_cv, ratio, low, high in rows
    ]


def _note(n_blocks: int, ratio: float | None, *, is_paired: bool) -> str:
    if n_blocks < MIN_BLOCKS:
        return f"too few blocks: a scatter takes {MIN_BLOCKS} on both sides"
    if ratio is None:
        return "a side does not scatter at all"
    return "" if is_paired else "unpaired"
