"""Tables of many rows: the first rows are HTML, and the others are packed until a reader wants them."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

MOST_ROWS = 250
"""The most rows of a table that are HTML. A browser can lay out some hundreds without a pause."""


class Column(NamedTuple):
    """A column: its heading, the CSS classes of its cells, and its order: ``text``, ``number`` or none."""

    title: str
    paint: str = ""
    sort: str = ""


class ListingCell(NamedTuple):
    """A cell: its text, a remark in small type, its sort key if that is not the text, and its CSS class."""

    text: str
    small: str = ""
    value: float | str | None = None
    paint: str = ""


class ListingRow(NamedTuple):
    """A row; a reader can filter rows by `cases` and `state`.

    After the last cell, there is a link to the attempt folder `run`, or with a `label` one to the runs of
    `cases`.
    """

    cases: tuple[str, ...]
    state: str
    run: str
    label: str
    cells: tuple[ListingCell, ...]


@dataclasses.dataclass(frozen=True)
class Listing:
    """A table of many rows."""

    columns: tuple[Column, ...]
    rows: tuple[ListingRow, ...]

    @property
    def shown(self) -> tuple[ListingRow, ...]:
        """Return the rows that are written as HTML."""
        return self.rows[:MOST_ROWS]

    @property
    def rest(self) -> tuple[ListingRow, ...]:
        """Return the rows that are packed."""
        return self.rows[MOST_ROWS:]

    def __len__(self) -> int:
        return len(self.rows)
