"""Find out whether an output begins in the middle of a table of message sizes, whose rows would be lost."""

from __future__ import annotations

import re


class TornStart:
    """Looks at the lines before the first title: rows among them are the rest of a table without a title."""

    def __init__(self, row: re.Pattern[str]) -> None:
        """Create it for tables whose rows match `row`, and begin with a size that doubles from row to row."""
        self._row = row
        self._size: int | None = None

    def fault(self, line: str) -> str | None:
        """Return the fault if `line` is a row that follows another one; None for any other line.

        A single row may be a line of something else.
        """
        if self._row.fullmatch(line) is None:
            return None
        before, self._size = self._size, int(line.split()[0])
        if before is None or self._size != (2 * before or 1):
            return None
        return "the output begins in the middle of a table: rows of it stand before the first title"
