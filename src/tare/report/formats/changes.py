"""The table of changes for Markdown and LaTeX: a row per figure and configuration, a column per contender."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.report.sections.overview import HeatMap, HeatMapCell
from tare.report.variants import Variant


@dataclasses.dataclass(frozen=True)
class ChangeRow:
    """The changes of one figure in one configuration, a cell per contender; None if the plan has no case."""

    where: str
    fom: str
    cells: tuple[HeatMapCell | None, ...]


def change_rows(maps: Sequence[HeatMap]) -> tuple[tuple[Variant, ...], list[ChangeRow]]:
    """Return the contenders, and the heat maps transposed, because a line of text is narrower than a page."""
    if not maps:
        return (), []
    variants = tuple(row.variant for row in maps[0].rows)
    rows = [
        ChangeRow(column.configuration.label, column.fom, tuple(row.cells[index] for row in one.rows))
        for one in maps
        for index, column in enumerate(one.columns)
    ]
    return variants, rows
