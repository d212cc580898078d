"""Read figures out of a column of a CSV table, row by row, as their lines are read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence

from tare.core.counting import count

_DELIMITERS = ",;\t"
_MOST_CELLS = 10_000


class CsvColumn:
    """A column of the first table that has it and the columns `by`, whose header may follow other lines.

    The delimiter is that of the header: a comma, a semicolon or a tab. Fields may be quoted (RFC 4180), but a
    field with a line break is not read. Blank lines, and lines that start with ``#``, are left out.
    """

    def __init__(self, column: str, by: Sequence[str]) -> None:
        self.column = column
        self.by = tuple(by)
        self._delimiter = ""
        self._header: list[str] = []

    def read(self, line: str, on_value: Callable[[str, tuple[str, ...]], None]) -> str:
        """Call `on_value` with the value and the coordinates of a row; return what is wrong with the row.

        That is empty for a good row, and for lines before the header.
        """
        if not line.strip() or line.startswith("#"):
            return ""
        if not self._header:
            self._begin(line)
            return ""
        cells = _cells(line, self._delimiter)
        if len(cells) != len(self._header):
            return f"a row of the table has {count(len(cells), 'cell')}, and its header {len(self._header)}"
        row = dict(zip(self._header, cells, strict=True))
        on_value(row[self.column], tuple(row[name] for name in self.by))
        return ""

    def _begin(self, line: str) -> None:
        for delimiter in _DELIMITERS:
            header = _cells(line, delimiter)
            if {self.column, *self.by} <= set(header) and len(set(header)) == len(header):
                self._delimiter, self._header = delimiter, header
                return


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # an overlong field
        return []
    return [cell.strip() for cell in cells[:_MOST_CELLS]]
