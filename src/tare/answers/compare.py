"""Every contender against its reference: at each point, and over all points at once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tare.answers.aggregate import block_means
from tare.answers.estimate import absent_as_none
from tare.answers.pairs import Pair, pairs
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.comparison import Comparison
from tare.model.plan import Plan
from tare.model.values import Scalar, Settings
from tare.model.workload import Better
from tare.stats.intervals import MIN_BLOCKS, Floats
from tare.stats.ratios import Design, Ratios, ratios
from tare.stats.verdict import verdict


class Subject(msgspec.Struct, frozen=True, gc=False):
    """What is compared within a pair: a FOM, at some coordinates or over all of them."""

    pair: Pair
    fom: str
    unit: str
    better: Better | None
    at: dict[str, Scalar]
    note: str = ""


def comparisons(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
) -> list[Comparison]:
    """Return each contender against its reference, for every FOM and point of its coordinates.

    `reference` and `margin` take the place of the study's own. A cell that only one side measured is
    there too, without a ratio. Raises UsageError when no case has the settings of `reference`.
    """
    table = tabulate(campaign)
    subjects: list[Subject] = []
    below: list[int] = []
    above: list[int] = []
    for pair in pairs(campaign, reference):
        cells = table.cells(pair.contender_case.id, pair.reference_case.id)
        subjects += [Subject(pair, cell.fom, cell.unit, cell.better, _place(pair, cell)) for cell in cells]
        below += table.find(pair.reference_case.id, cells)
        above += table.find(pair.contender_case.id, cells)
    found = ratios(table.values[:, below], table.values[:, above], confidence)
    return answers(campaign.plan, subjects, found, margin, confidence)


def aggregates(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
) -> list[Comparison]:
    """Return each contender against its reference, one answer a FOM, over all of its coordinates.

    Each side of each block is the geometric mean over coordinates, so the answer has an honest
    paired interval: points of one run rise and fall together and are not counted as evidence n times.
    """
    table = tabulate(campaign)
    subjects, below, above = [], [], []
    for pair in pairs(campaign, reference):
        for cells in common_cells(table, pair):
            one, other, note = sides(table, pair, cells)
            first = cells[0]
            subjects.append(Subject(pair, first.fom, first.unit, first.better, pair.shared, note))
            below.append(one)
            above.append(other)
    if not subjects:
        return []
    found = ratios(np.column_stack(below), np.column_stack(above), confidence)
    return answers(campaign.plan, subjects, found, margin, confidence)


def overview(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
) -> list[Comparison]:
    """Return one answer a contender, workload and scale: its first primary FOM over all coordinates.

    A workload without a primary FOM is shown by its first.
    """
    shown: dict[str, Comparison] = {}
    for one in aggregates(campaign, reference=reference, margin=margin, confidence=confidence):
        held = shown.get(one.contender_case)
        if held is None or (one.is_primary and not held.is_primary):
            shown[one.contender_case] = one
    return list(shown.values())


def primary_foms(plan: Plan, workload: str) -> frozenset[str]:
    """Return the names of the FOMs that a summary of `workload` shows."""
    return frozenset(fom.name for fom in plan.foms.get(workload, ()) if fom.is_primary)


def common_cells(table: Table, pair: Pair) -> list[list[Cell]]:
    """Return the cells of a pair by FOM and unit: those that both sides have, else those of either."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in table.cells(pair.contender_case.id, pair.reference_case.id):
        grouped.setdefault((cell.fom, cell.unit), []).append(cell)
    one, other = (table.columns.get(case.id, {}) for case in (pair.reference_case, pair.contender_case))
    return [[cell for cell in cells if cell in one and cell in other] or cells for cells in grouped.values()]


def sides(table: Table, pair: Pair, cells: Sequence[Cell]) -> tuple[Floats, Floats, str]:
    """Return the mean over `cells` of each block, of the reference and of the contender, and a note."""
    one, other = (
        table.values[:, table.find(case.id, cells)] for case in (pair.reference_case, pair.contender_case)
    )
    (below, above), left_out = block_means(one, other)
    if not left_out:
        return below, above, ""
    return below, above, f"{left_out} of {len(cells)} points left out: too few blocks, or zero or less"


def answers(
    plan: Plan, subjects: Sequence[Subject], found: Ratios, margin: float | None, confidence: float
) -> list[Comparison]:
    """Return what the ratios say of `subjects`, column by column."""
    margin = plan.margin if margin is None else margin
    primary = {name: primary_foms(plan, name) for name in plan.foms}
    rows = zip(
        subjects,
        found.n_blocks.tolist(),
        absent_as_none(found.ratio.tolist()),
        absent_as_none(found.low.tolist()),
        absent_as_none(found.high.tolist()),
        map(Design, found.design.tolist()),
        strict=True,
    )
    return [
        Comparison(
            fom=subject.fom,
            unit=subject.unit,
            better=subject.better,
            at=subject.at,
            reference=subject.pair.reference,
            contender=subject.pair.contender,
            reference_case=subject.pair.reference_case.id,
            contender_case=subject.pair.contender_case.id,
            n_blocks=n_blocks,
            ratio=ratio,
            low=low,
            high=high,
            confidence=confidence,
            verdict=verdict(low, high, margin=margin, better=subject.better),
            is_primary=subject.fom in primary.get(subject.pair.workload, ()),
            note="; ".join(filter(None, (explain(design, low, subject.better), subject.note))),
        )
        for subject, n_blocks, ratio, low, high, design in rows
    ]


def explain(design: Design, low: float | None, better: Better | None) -> str:
    """Return what a reader must know of how a ratio was found, or why it was not; mostly nothing."""
    if design is Design.NONE:
        return "not measured on both sides"
    if design is Design.ARITHMETIC:
        return "some values are zero or less: ratio of arithmetic means, without an interval"
    if low is None:
        return f"too few blocks: an interval takes {MIN_BLOCKS} on both sides"
    if better is None:
        return "the figure of merit has no direction"
    return "unpaired: fewer than three blocks have both sides" if design is Design.UNPAIRED else ""


def _place(pair: Pair, cell: Cell) -> dict[str, Scalar]:
    """Return where a cell is compared; a coordinate named as a shared setting is becomes ``at_…``."""
    place = dict(pair.shared)
    for name, value in cell.at:
        place[f"at_{name}" if name in pair.shared else name] = value
    return place
