"""Fold a table that is wider than the terminal: its last column, or else each row into lines of its own.

Widths are in columns of the terminal: 日 takes two, and an accent that follows its letter none.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

GAP = 2
"""The spaces between two columns."""

LEAST_FOLDED = 16
"""A last column with less room than this is not folded; the rows are stacked instead."""


_NARROW = re.compile(
    "[\x20-\x7e\u00a0-\u02ff\u0370-\u03ff\u2010-\u2027\u202f-\u205e\u2070-\u209c\u2190-\u22ff\u2400-\u2426"
    "\u2500-\u25fc\u2605]*"
)
"""Text of characters that surely take one column each, as nearly all text of Tare does."""


def is_narrow(text: str) -> bool:
    """Return whether all characters of `text` surely take one column each."""
    return text.isascii() or _NARROW.fullmatch(text) is not None


def n_columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    if is_narrow(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def width_of(widths: Sequence[int]) -> int:
    """Return how wide a row of columns of these widths is."""
    return sum(widths) + GAP * (len(widths) - 1)


def room_for_last(widths: Sequence[int], width: int) -> int | None:
    """Return how wide the last column of a table may be on a terminal of `width`.

    None if too few are left for it.
    """
    room = width - width_of([*widths[:-1], 0])
    return room if len(widths) > 1 and room >= LEAST_FOLDED else None


def wrapped(text: str, room: int) -> list[str]:
    """Return the lines of a cell that is folded to a width of `room`; a word that is longer is broken."""
    if is_narrow(text):
        return textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    from rich.console import Console
    from rich.text import Text

    lines = Text(" ".join(text.split())).wrap(Console(width=room), room, overflow="fold")
    return [line.plain.rstrip() for line in lines] or [""]


def stacked(columns: Sequence[str], cells: Sequence[str], width: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the beginning and the folded lines of each cell of a row that is not empty.

    The first cell is the title of the row. Each other one stands behind the name of its column.
    """
    yield "", wrapped(cells[0], width)
    longest = max(map(n_columns, columns[1:]), default=0)
    for name, cell in zip(columns[1:], cells[1:], strict=False):
        if cell:
            begin = " " * GAP + name + " " * (longest - n_columns(name) + GAP)
            yield begin, wrapped(cell, max(width - n_columns(begin), LEAST_FOLDED))
