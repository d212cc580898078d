"""Tables of many rows: the first stand in the page, the rest travel packed until they are looked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

MOST_ROWS = 250
"""Rows that a table holds as HTML. A browser lays out some hundreds at once without a pause."""

RowT = TypeVar("RowT")


class PackedCell(NamedTuple):
    """A cell as the page's script reads it: text, a remark in small type, what it is sorted by, its class."""

    text: str
    small: str = ""
    value: float | None = None
    paint: str = ""


class PackedRow(NamedTuple):
    """A row as the page's script reads it. `cases` and `state` are what it is filtered by.

    `run` is the attempt folder that its last cell opens; without one that cell leads to the runs of `cases`.
    """

    cases: tuple[str, ...]
    state: str
    run: str
    label: str
    cells: tuple[PackedCell, ...]


@dataclasses.dataclass(frozen=True)
class Listing(Generic[RowT]):
    """The rows of a table: `shown` as HTML, `rest` packed."""

    shown: tuple[RowT, ...]
    rest: tuple[PackedRow, ...] = ()

    def __len__(self) -> int:
        return len(self.shown) + len(self.rest)


def split(rows: Sequence[RowT]) -> tuple[tuple[RowT, ...], Sequence[RowT]]:
    """Return the rows that are shown at once, and the rest."""
    return tuple(rows[:MOST_ROWS]), rows[MOST_ROWS:]
