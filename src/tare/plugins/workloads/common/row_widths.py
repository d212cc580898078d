"""Find the rows of a table that lost a part: programs that pad their columns print rows of one width.

A hole in an output may join the beginning of a row to the end of a later one. What is left may look like a
whole row, such as ``8        1.22`` of ``8        1.20`` and ``16       3.22``; only its width is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

_FEWEST = 3
"""How many rows it takes to know the width of a table."""


class Shape(NamedTuple):
    """The shape of a row, in characters: up to its last cell, in all its cells, and in its widest cell."""

    width: int
    filled: int
    widest: int


def shape(cells: Collection[str], width: int) -> Shape:
    """Return the shape of a row of `cells` that has `width` characters up to its last cell."""
    lengths = [*map(len, cells)]
    return Shape(width, sum(lengths), max(lengths, default=0))


def odd_rows(shapes: Sequence[Shape], *, overflow: int) -> list[int]:
    """Return the indexes of the rows that are not as wide as most rows of their table.

    Cells of `overflow` characters and more may not fit their column, so that a longer row is no fault. Return
    nothing for tables that are not padded: their rows are as wide as what they hold.
    """
    if len(shapes) < _FEWEST:
        return []
    ((width, n_rows),) = Counter(one.width for one in shapes).most_common(1)
    is_padded = len({one.filled for one in shapes if one.width == width}) > 1
    if n_rows == len(shapes) or 2 * n_rows <= len(shapes) or not is_padded:
        return []
    return [
        index
        for index, one in enumerate(shapes)
        if one.width < width or (one.width > width and one.widest < overflow)
    ]
