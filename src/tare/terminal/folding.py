"""Fold a table that is wider than the terminal: its last column, or else each row into lines of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

GAP = 2
"""The spaces between two columns."""

LEAST_FOLDED = 16
"""A last column with less room than this is not folded; the rows are stacked instead."""


def width_of(widths: Sequence[int]) -> int:
    """Return how many characters a row of columns of these widths takes."""
    return sum(widths) + GAP * (len(widths) - 1)


def room_for_last(widths: Sequence[int], width: int) -> int | None:
    """Return how many characters the last column of a table may have on a terminal of `width`.

    None if too few are left for it.
    """
    room = width - width_of([*widths[:-1], 0])
    return room if len(widths) > 1 and room >= LEAST_FOLDED else None


def wrapped(text: str, room: int) -> list[str]:
    """Return the lines of a cell that is folded to `room` characters; a word that is longer is broken."""
    return textwrap.wrap(text, room, break_on_hyphens=False) or [""]


def stacked(columns: Sequence[str], cells: Sequence[str], width: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the beginning and the folded lines of each cell of a row that is not empty.

    The first cell is the title of the row. Each other one stands behind the name of its column.
    """
    yield "", wrapped(cells[0], width)
    longest = max(map(len, columns[1:]), default=0)
    for name, cell in zip(columns[1:], cells[1:], strict=False):
        if cell:
            begin = f"{'':{GAP}}{name:{longest}}{'':{GAP}}"
            yield begin, wrapped(cell, max(width - len(begin), LEAST_FOLDED))
