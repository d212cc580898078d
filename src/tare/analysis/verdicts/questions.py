"""Group the comparisons of a campaign into families, within which they are judged.

A row has one verdict, wherever it is shown. The verdict comes from the row's family, and all rows of a family
are judged, whether or not they are shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.aggregate import block_means
from tare.analysis.answering_figures import answering_foms, quoted_foms
from tare.analysis.aspects import Aspect, Sizes, has_data_rate, parts, parts_without_rate
from tare.analysis.pairs import Pair, pairs, recorded_blocks
from tare.analysis.proofs import nothing_crosses
from tare.analysis.table import Cell, FigureName, Table, by_figure, tabulate
from tare.analysis.verdicts.families import (
    AskedFigure,
    Family,
    FamilyKind,
    FamilyRow,
    GatheredFamily,
    PointSubjects,
    row_coordinates,
)
from tare.analysis.verdicts.interim_looks import SessionEnds, session_ends
from tare.analysis.verdicts.row_notes import NO_COMMON_POINT, NOT_MEASURED, ONE_SIDED, TOO_FEW_OR_ZERO
from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.core.counting import count
from tare.core.telemetry import PREFIX
from tare.core.values import Settings
from tare.stats.intervals import Floats
from tare.stats.rounding import shift_of_mean


class SplitName(NamedTuple):
    """Which cells of which pair are a split."""

    reference_case: str
    contender_case: str
    cells: tuple[Cell, ...]


class FigureRows(NamedTuple):
    """Where the points of one figure of one pair are judged: one row for each."""

    pair: Pair
    figure: FigureName
    rows: Sequence[FamilyRow]


@dataclasses.dataclass(frozen=True)
class Questions:
    """All families of a campaign, and where the rows of its tables are judged.

    `figures` has one row for each contender and figure, over its numeric coordinates. `points` has the rows
    of its points. `splits` has the parts of a figure's sizes that sentences report. A figure with a single
    point that both sides have is the same row in the first two, and a split with a single size is the same
    row in the last two.
    """

    families: Sequence[Family]
    figures: Sequence[FamilyRow]
    points: Sequence[FigureRows]
    splits: Mapping[SplitName, FamilyRow]
    ends: SessionEnds


def questions(campaign: Campaign, reference: Settings | None = None, foms: Collection[str] = ()) -> Questions:
    """Return all comparisons of the campaign, by family.

    `foms` selects rows by FOM (all if empty) and includes telemetry that it names. It does not change the
    families: selecting one figure after seeing all of them must not relax the correction. The result is
    cached, since a campaign does not change.
    """
    question = (_ask, None if reference is None else tuple(reference.items()), frozenset(foms))
    return campaign.memo.get(question, lambda: _ask(campaign, reference, foms))


def _ask(campaign: Campaign, reference: Settings | None, foms: Collection[str]) -> Questions:
    plan, table = campaign.plan, tabulate(campaign, foms)
    gathered = {kind: GatheredFamily(kind) for kind in FamilyKind}
    figures: list[FamilyRow] = []
    points: list[FigureRows] = []
    splits: dict[SplitName, FamilyRow] = {}
    for pair in pairs(campaign, reference):
        quoted, answering = quoted_foms(plan, pair), answering_foms(plan, pair)
        is_uncrossed = nothing_crosses(plan, pair)
        for cells in cells_by_figure(table, pair):
            fom = cells[0].fom
            if fom.startswith(PREFIX) and fom not in foms:
                continue
            asked = AskedFigure(pair, fom in quoted, fom in answering, is_uncrossed)
            common = cells_of_both(table, pair, cells)
            lack = _lack(table, pair, cells, common)
            figure = _whole(table, asked, common, gathered[kind_of(fom, quoted)], lack)
            parts_of_figure: dict[SplitName, FamilyRow] = {}
            if not is_uncrossed and (asked.is_answer or not answering):
                parts_of_figure = _splits(table, asked, cells, common, gathered[FamilyKind.SPLITS])
            splits |= parts_of_figure
            own = {one.cells[0]: row for one, row in parts_of_figure.items() if len(one.cells) == 1}
            own |= {common[0]: figure} if len(common) == 1 else {}
            each = _points(table, asked, cells, own, gathered[FamilyKind.POINTS])
            if not foms or fom in foms:
                figures.append(figure)
                points.append(FigureRows(pair, cells[0].figure, each))
    recorded = recorded_blocks(campaign)
    families = [found.family(recorded) for found in gathered.values() if len(found)]
    return Questions(families, figures, points, splits, session_ends(campaign, table.passes))


def kind_of(fom: str, quoted: Collection[str]) -> FamilyKind:
    """Return the family of a figure of merit over all of its coordinates."""
    if fom.startswith(PREFIX):
        return FamilyKind.TELEMETRY
    return FamilyKind.QUOTED if not quoted or fom in quoted else FamilyKind.OTHERS


def _whole(
    table: Table, asked: AskedFigure, cells: Sequence[Cell], gathered: GatheredFamily, lack: str
) -> FamilyRow:
    """Return the row of the mean over `cells`; `lack` says which other points only one side has."""
    pair, first = asked.pair, cells[0]
    found = pair_sides(table, pair, cells)
    at, labels = row_coordinates(pair, first.labels), dict(first.labels)
    note = "; ".join(filter(None, (lack, found.note)))
    subject = asked.subject(first, at, labels, note, table.once(_over, cells), tuple(cells))
    columns = found.below[:, np.newaxis], found.above[:, np.newaxis]
    (row,) = gathered.add(asked, [subject], [first.better], columns, np.array([found.rounding]))
    return row


def _over(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the coordinates in which `cells` differ."""
    names = dict.fromkeys(name for cell in cells for name, _ in cell.at)
    return tuple(name for name in names if len({dict(cell.at).get(name) for cell in cells}) > 1)


def _lack(table: Table, pair: Pair, cells: Sequence[Cell], common: Sequence[Cell]) -> str:
    """Return how many of `cells` are not among the `common` ones of both sides; empty if none."""
    if len(common) < len(cells):
        return f"{len(cells) - len(common)} of {count(len(cells), 'point')} left out: {ONE_SIDED}"
    one, other = (table.places(case.id) for case in (pair.reference_case, pair.contender_case))
    if one is other or any(cell in one and cell in other for cell in cells):
        return ""
    has_both = any(cell in one for cell in cells) and any(cell in other for cell in cells)
    return NO_COMMON_POINT if has_both else ""


def _splits(
    table: Table,
    asked: AskedFigure,
    cells: Sequence[Cell],
    common: Sequence[Cell],
    gathered: GatheredFamily,
) -> dict[SplitName, FamilyRow]:
    """Return the rows for parts of the `common` sizes of a figure, unless one part is the whole figure.

    `cells` are all of its sizes; those of a part that only one side has are counted in its note.
    """
    pair, whole = asked.pair, _lack(table, asked.pair, cells, common)
    every = {part[:2]: part[2] for part in size_parts(table, pair, cells)} if whole else {}
    rows: dict[SplitName, FamilyRow] = {}
    for aspect, sizes, chosen in size_parts(table, pair, common):
        if len(chosen) < len(common):
            lack = _lack(table, pair, every.get((aspect, sizes), chosen), chosen)
            lack = whole if whole == NO_COMMON_POINT else lack
            rows[split_name(pair, chosen)] = _whole(table, asked, chosen, gathered, lack)
    return rows


def size_parts(table: Table, pair: Pair, cells: Sequence[Cell]) -> list[tuple[Aspect, Sizes, list[Cell]]]:
    """Return the parts of a figure's sizes that a sentence reports, with what each part measures.

    The times of large messages are a part only if the pair has no bandwidth, which says the same.
    """
    sides = [table.places(case.id) for case in (pair.contender_case, pair.reference_case)]
    has_rate = table.memo.get((has_data_rate, *map(id, sides)), lambda: any(map(has_data_rate, sides)))
    return table.once(parts if has_rate else parts_without_rate, cells)


def split_name(pair: Pair, cells: Iterable[Cell]) -> SplitName:
    """Return the name of the split that `cells` of a pair form."""
    return SplitName(pair.reference_case.id, pair.contender_case.id, tuple(cells))


def _points(
    table: Table,
    asked: AskedFigure,
    cells: Sequence[Cell],
    own: Mapping[Cell, FamilyRow],
    gathered: GatheredFamily,
) -> list[FamilyRow]:
    """Return the rows of the points of a figure; those in `own` already are rows of another family."""
    pair, labels = asked.pair, dict(cells[0].labels)
    others = [cell for cell in cells if cell not in own] if own else cells
    rows: list[FamilyRow] = []
    if others:
        columns = [table.find(case.id, others) for case in (pair.reference_case, pair.contender_case)]
        sides_of_points = table.values[:, columns[0]], table.values[:, columns[1]]
        shifts = table.shifts[columns[0]] + table.shifts[columns[1]]
        subjects = PointSubjects(asked, others, labels)
        rows = gathered.add(asked, subjects, [cell.better for cell in others], sides_of_points, shifts)
    if not own:
        return rows
    rest = iter(rows)
    return [
        own[cell]._replace(at=row_coordinates(pair, cell.at)) if cell in own else next(rest) for cell in cells
    ]


def cells_by_figure(table: Table, pair: Pair) -> list[list[Cell]]:
    """Return the cells that either side of a pair has, grouped by FOM, unit and labels: one list per figure.

    Where the sides run different workloads, only figures that both have are included.
    """
    sides = [table.places(case.id) for case in (pair.reference_case, pair.contender_case)]
    grouped = table.once(by_figure, table.cells(pair.contender_case.id, pair.reference_case.id))
    if pair.reference_case.workload == pair.contender_case.workload or not all(sides):
        return list(grouped.values())
    ours, theirs = (set(table.once(by_figure, list(side))) for side in sides)
    return [cells for figure, cells in grouped.items() if figure in ours & theirs]


def cells_of_both(table: Table, pair: Pair, cells: list[Cell]) -> list[Cell]:
    """Return those of `cells` that both sides have; all of them if there are none."""
    one, other = (table.places(case.id) for case in (pair.reference_case, pair.contender_case))
    if one is other:
        return cells
    return [cell for cell in cells if cell in one and cell in other] or cells


def common_cells(table: Table, pair: Pair) -> list[list[Cell]]:
    """Return the cells of a pair by figure: those that both sides have, or else those of either."""
    return [cells_of_both(table, pair, cells) for cells in cells_by_figure(table, pair)]


class Sides(NamedTuple):
    """The mean of each block over some cells of a pair, for the reference and for the contender.

    `note` says which cells were left out. `rounding` is how far rounding may have moved the ratio, as a
    logarithm. At one point, it is the sum of the shifts of both sides. Over P points, which are rounded
    independently, it is √Σ(sums)² / P.
    """

    below: Floats
    above: Floats
    note: str
    rounding: float


def half_steps_of(table: Table, pair: Pair, cells: Sequence[Cell]) -> tuple[float, float]:
    """Return how far rounding may have moved the block means of both sides of a pair, as shares of them."""
    below, above = (
        shift_of_mean(table.half_steps[table.find(case.id, cells)])
        for case in (pair.reference_case, pair.contender_case)
    )
    return below, above


def pair_sides(table: Table, pair: Pair, cells: Sequence[Cell]) -> Sides:
    """Return the sides of a pair over `cells`."""
    columns = [table.find(case.id, cells) for case in (pair.reference_case, pair.contender_case)]
    (below, above), left_out = block_means(*(table.values[:, side] for side in columns))
    note = f"{left_out} of {count(len(cells), 'point')} {TOO_FEW_OR_ZERO}" if left_out else ""
    shifts = table.shifts[columns[0]] + table.shifts[columns[1]]
    return Sides(below, above, note, shift_of_mean(shifts))


def sides_of_figure(table: Table, pair: Pair, cells: Sequence[Cell]) -> Sides:
    """Return the sides of a pair over `cells` of a figure, with a note on its points that only one side has.

    Nothing is said of these where `cells` are only some of those that both sides have.
    """
    found = pair_sides(table, pair, cells)
    every = next(one for one in cells_by_figure(table, pair) if one[0].figure == cells[0].figure)
    common = cells_of_both(table, pair, every)
    lack = _lack(table, pair, every, common) if len(common) == len(cells) else ""
    return found._replace(note="; ".join(filter(None, (lack, found.note))))


def with_left_out(found: Finding, left_out: str) -> Finding:
    """Return `found` with a note on the points left out; if all are, this is why there is no ratio."""
    if not left_out:
        return found
    is_why = found.ratio is None and found.note.startswith(NOT_MEASURED) and not left_out.endswith(ONE_SIDED)
    own = "" if is_why else found.note
    return msgspec.structs.replace(found, note="; ".join(filter(None, (own, left_out))))
