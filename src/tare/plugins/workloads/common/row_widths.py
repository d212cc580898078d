"""Find the rows of a table that lost a part: programs that pad their columns print rows of one width.

A hole in an output may join the beginning of a row to the end of a later one. What is left may look like a
whole row, such as ``8        1.22`` of ``8        1.20`` and ``16       3.22``; only its width is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_FEWEST = 3
"""How many rows it takes to know the width of a table."""


def odd_rows(rows: Sequence[Sequence[str]], widths: Sequence[int], *, widest: int) -> list[int]:
    """Return the indexes of the `rows` that are not as wide as most rows of their table.

    `rows` are the cells of each row, and `widths` the number of characters up to the last cell. Cells of
    `widest` characters and more may not fit their column, so that a longer row is no fault. Return nothing
    for tables that are not padded: their rows are as wide as what they hold.
    """
    if len(rows) < _FEWEST:
        return []
    ((width, n_rows),) = Counter(widths).most_common(1)
    if n_rows == len(rows) or 2 * n_rows <= len(rows):
        return []
    n_characters = {sum(map(len, row)) for row, one in zip(rows, widths, strict=True) if one == width}
    if len(n_characters) < 2:
        return []
    return [
        index
        for index, one in enumerate(widths)
        if one < width or (one > width and max(map(len, rows[index])) < widest)
    ]
