"""One table of IMB: the rows of a benchmark on one group of ranks, and what is missing of them."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from itertools import pairwise

from tare.core.counting import count
from tare.plugins.workloads.common.row_widths import Shape, odd_rows

GROUP = "Group"
COUNTS = frozenset({GROUP, "#bytes", "#repetitions", "Msg/sec"})
"""Columns of whole numbers; the other columns have two decimals."""

_OVERFLOW = 12
"""The least characters of a cell that may be wider than its column, of 13 characters."""

FLOAT_BYTES = 4  # reductions sum MPI_FLOATs, so the sizes of their messages are multiples of this


@functools.cache
def _row_pattern(columns: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a whole row; NaN, overflowed fields and most truncated numbers do not match."""
    fields = ("([0-9]{1,15})" if name in COUNTS else r"([0-9]{1,15}\.[0-9]{2})" for name in columns)
    return re.compile(r"\s*" + r"\s+".join(fields))


@dataclasses.dataclass
class Table:
    """The rows of one group of ranks, and the announced sizes and ranks; None if unknown."""

    run: int
    smallest: int | None = None
    largest: int | None = None
    least: int | None = None
    """The size of its smallest message that is not empty."""
    ranks: int | None = None
    n_groups: int = 1
    group: int | None = None
    """The number of its group of ranks, if each has rows of its own (-multi 1)."""
    members: list[Table] = dataclasses.field(default_factory=list)
    """The tables of all groups, whose rows alternate."""
    columns: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    mode: str | None = None
    waiting: int = 0
    threads: int | None = None
    width: int | None = None
    megabyte: float | None = None
    """The megabyte of the program's version, in 10⁶ bytes; None if the version is unknown."""
    unaffordable: int | None = None
    """The first size that IMB refused, and all larger ones: for its limit of memory (-mem), or of a count."""
    rows: list[tuple[float, ...]] = dataclasses.field(default_factory=list)
    shapes: list[Shape] = dataclasses.field(default_factory=list)

    @property
    def key(self) -> tuple[int | None, str | None, int | None]:
        """What distinguishes it from the other tables of one run: its ranks, its mode and its group."""
        return self.ranks, self.mode, self.group

    def take_columns(self, line: str) -> None:
        """Take the columns, and the width of the rows, from the line with their heads."""
        self.columns, self.width = tuple(line.split()), len(line)
        self.pattern = _row_pattern(self.columns)

    def faults(self) -> Iterator[str]:
        """Yield the differences between the rows and the announced sizes."""
        for odd in odd_rows(self.shapes, overflow=_OVERFLOW):
            yield f"lost a part of its row number {odd + 1}, as the width of that row shows"
        if not self.rows:
            yield "has no rows"
        elif self.smallest is not None and self.largest is not None:
            sizes = [int(row[0]) for row in self.rows]
            # Reductions round a smallest size of 1 or 2 bytes up to a whole number.
            if sizes[0] != self.smallest and not 0 < self.smallest < sizes[0] <= 2 * FLOAT_BYTES:
                yield f"starts at {count(sizes[0], 'byte')} instead of {self.smallest}"
            for size, following in pairwise(sizes):
                expected = 2 * size or self.least
                if expected is not None and following != expected:
                    yield f"goes on from {count(size, 'byte')} to {following} instead of {expected}"
            if sizes[-1] != self.largest and self.unaffordable != (2 * sizes[-1] or 1):
                yield f"stops at {sizes[-1]} of {count(self.largest, 'byte')}"
