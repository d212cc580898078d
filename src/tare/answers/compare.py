"""Every contender against its reference: at each point, and over all points at once."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Sequence

import msgspec
import numpy as np

from tare.answers.aggregate import block_means
from tare.answers.finding import Terms, findings
from tare.answers.pairs import Pair, pairs, told_blocks
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.comparison import Comparison, Correction, Finding
from tare.model.plan import Plan
from tare.model.values import Scalar, Settings
from tare.model.workload import Better
from tare.stats.intervals import Floats


class Subject(msgspec.Struct, frozen=True, gc=False):
    """What is compared within a pair: a FOM, at some coordinates or over all of them."""

    pair: Pair
    fom: str
    unit: str
    better: Better | None
    at: dict[str, Scalar]
    note: str = ""


@dataclasses.dataclass(frozen=True)
class _Family:
    """Subjects that are judged together, with the blocks of both sides and the row that each is shown in."""

    subjects: list[Subject] = dataclasses.field(default_factory=list)
    below: list[Floats] = dataclasses.field(default_factory=list)
    above: list[Floats] = dataclasses.field(default_factory=list)
    rows: list[int] = dataclasses.field(default_factory=list)


def comparisons(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    correction: Correction = Correction.FDR,
    foms: Collection[str] = (),
) -> list[Comparison]:
    """Return each contender against its reference, for every FOM and point of its coordinates.

    `reference` and `margin` take the place of the study's own; `foms` keeps those alone, all when empty. A
    cell that only one side measured is there too, without a ratio. All rows are one family: a table to
    look through, in which by default at most 5 % of the claims are false in the mean. Raises UsageError
    when no case has the settings of `reference`.
    """
    terms = terms_of(campaign.plan, margin, confidence, correction)
    return answers(campaign, *points(campaign, reference, foms), terms)


def points(
    campaign: Campaign, reference: Settings | None = None, foms: Collection[str] = ()
) -> tuple[list[Subject], Floats, Floats]:
    """Return each FOM at each point of its coordinates, with the blocks of both sides, one column each."""
    table = tabulate(campaign, foms)
    subjects: list[Subject] = []
    below: list[int] = []
    above: list[int] = []
    for pair in pairs(campaign, reference):
        cells = table.cells(pair.contender_case.id, pair.reference_case.id)
        if foms:
            cells = [cell for cell in cells if cell.fom in foms]
        subjects += [Subject(pair, cell.fom, cell.unit, cell.better, _place(pair, cell)) for cell in cells]
        below += table.find(pair.reference_case.id, cells)
        above += table.find(pair.contender_case.id, cells)
    return subjects, table.values[:, below], table.values[:, above]


def aggregates(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    correction: Correction = Correction.HOLM,
    foms: Collection[str] = (),
) -> list[Comparison]:
    """Return each contender against its reference, one answer a FOM, over all of its coordinates.

    Each side of each block is the geometric mean over coordinates, so the answer has an honest
    paired interval: points of one run rise and fall together and are not counted as evidence n times.
    The FOMs that a summary shows are one family and the others another, so that by default the chance of
    any false claim among what people quote is at most 5 %. `foms` keeps those alone, as one family.
    """
    terms = terms_of(campaign.plan, margin, confidence, correction)
    found: dict[int, Comparison] = {}
    for family in _families(campaign, reference, foms):
        if family.subjects:
            below, above = np.column_stack(family.below), np.column_stack(family.above)
            found |= zip(family.rows, answers(campaign, family.subjects, below, above, terms), strict=True)
    return [found[row] for row in sorted(found)]


def _families(
    campaign: Campaign, reference: Settings | None, foms: Collection[str]
) -> tuple[_Family, _Family]:
    """Return what a summary shows, and the rest; all of a workload without primary FOMs is shown."""
    table = tabulate(campaign, foms)
    quoted, others = _Family(), _Family()
    rows = itertools.count()
    for pair in pairs(campaign, reference):
        primary = primary_foms(campaign.plan, pair.workload)
        for cells in common_cells(table, pair):
            first = cells[0]
            if foms and first.fom not in foms:
                continue
            one, other, note = sides(table, pair, cells)
            family = quoted if foms or not primary or first.fom in primary else others
            family.subjects.append(Subject(pair, first.fom, first.unit, first.better, pair.shared, note))
            family.below.append(one)
            family.above.append(other)
            family.rows.append(next(rows))
    return quoted, others


def overview(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    correction: Correction = Correction.HOLM,
) -> list[Comparison]:
    """Return one answer a contender, workload and scale: its first primary FOM over all coordinates.

    A workload without a primary FOM is shown by its first. The verdicts are those of `aggregates`, so that
    the same row never has two: what holds of a whole family holds of a part of it.
    """
    return overview_of(
        aggregates(campaign, reference=reference, margin=margin, confidence=confidence, correction=correction)
    )


def overview_of(aggregates: Sequence[Comparison]) -> list[Comparison]:
    """Return those of the `aggregates` that an overview shows: one for each contender's case."""
    shown: dict[str, Comparison] = {}
    for one in aggregates:
        held = shown.get(one.contender_case)
        if held is None or (one.is_primary and not held.is_primary):
            shown[one.contender_case] = one
    return list(shown.values())


def terms_of(plan: Plan, margin: float | None, confidence: float, correction: Correction) -> Terms:
    """Return how verdicts are drawn: with the margin of the study where no other is given."""
    return Terms(
        margin=plan.margin if margin is None else margin, confidence=confidence, correction=correction
    )


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
    campaign: Campaign, subjects: Sequence[Subject], below: Floats, above: Floats, terms: Terms
) -> list[Comparison]:
    """Return what the blocks say of `subjects`, one a column, as one family.

    The columns of `below` are the references', those of `above` the contenders'. Cases whose blocks are
    mere numbers are not paired.
    """
    primary = {name: primary_foms(campaign.plan, name) for name in campaign.plan.foms}
    told = told_blocks(campaign)
    is_paired = [
        one.pair.reference_case.id in told and one.pair.contender_case.id in told for one in subjects
    ]
    with np.errstate(divide="ignore"):  # a count of nothing has a ratio of zero, and that a logarithm
        found = findings(
            below, above, [one.better for one in subjects], terms, np.array(is_paired, dtype=np.bool_)
        )
    return [
        comparison(subject, one, is_primary=subject.fom in primary.get(subject.pair.workload, ()))
        for subject, one in zip(subjects, found, strict=True)
    ]


def comparison(subject: Subject, found: Finding, *, is_primary: bool) -> Comparison:
    """Return what is `found` of a subject, with what the subject is."""
    note = "; ".join(filter(None, (found.note, subject.note)))
    return Comparison(
        fom=subject.fom,
        unit=subject.unit,
        better=subject.better,
        at=subject.at,
        reference=subject.pair.reference,
        contender=subject.pair.contender,
        reference_case=subject.pair.reference_case.id,
        contender_case=subject.pair.contender_case.id,
        is_primary=is_primary,
        **msgspec.structs.asdict(found) | {"note": note},
    )


def _place(pair: Pair, cell: Cell) -> dict[str, Scalar]:
    """Return where a cell is compared; a coordinate named as a shared setting is becomes ``at_…``."""
    place = dict(pair.shared)
    for name, value in cell.at:
        place[f"at_{name}" if name in pair.shared else name] = value
    return place
