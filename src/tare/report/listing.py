"""Tables of many rows: the first rows are HTML, and the others are packed until a reader wants them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

MOST_ROWS = 250
"""The most rows of a table that are HTML. A browser can lay out some hundreds without a pause."""

RowT = TypeVar("RowT")


class PackedCell(NamedTuple):
    """A cell for the page's script: its text, a remark in small type, its sort key and its CSS class."""

    text: str
    small: str = ""
    value: float | None = None
    paint: str = ""


class PackedRow(NamedTuple):
    """A row for the page's script, which filters rows by `cases` and `state`.

    The last cell opens the attempt folder `run`. If `run` is empty, it leads to the runs of `cases`.
    """

    cases: tuple[str, ...]
    state: str
    run: str
    label: str
    cells: tuple[PackedCell, ...]


@dataclasses.dataclass(frozen=True)
class Listing(Generic[RowT]):
    """The rows of a table: `shown` is written as HTML, and `rest` is packed."""

    shown: tuple[RowT, ...]
    rest: tuple[PackedRow, ...] = ()

    def __len__(self) -> int:
        return len(self.shown) + len(self.rest)


def split(rows: Sequence[RowT]) -> tuple[tuple[RowT, ...], Sequence[RowT]]:
    """Return the first MOST_ROWS rows, and the rest."""
    return tuple(rows[:MOST_ROWS]), rows[MOST_ROWS:]
