"""Read the tables of the OSU micro-benchmarks, versions 2 to 7 (util/osu_util_mpi.c: print_stats and so on).

A table has a title, heads of columns, and rows of numbers with two decimals (bandwidths of version 2 have
six). It has no closing line, so only its last message size shows whether it is complete.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from tare.core.counting import count
from tare.core.values import Scalar
from tare.plugins.workloads.common.row_widths import odd_rows, shape

COLUMNS = {
    "latency (us)": "latency",
    "latency(us)": "latency",
    "avg latency(us)": "latency",
    "min latency(us)": "latency_min",
    "max latency(us)": "latency_max",
    "bandwidth (mb/s)": "bandwidth",
    "bi-bandwidth (mb/s)": "bandwidth",
    "mb/s": "bandwidth",
    "messages/s": "message_rate",
    "overall(us)": "overall",
    "compute(us)": "compute",
    "coll. init(us)": "init",
    "init(us)": "init",
    "mpi_test(us)": "test",
    "mpi_wait(us)": "wait",
    "pure comm.(us)": "communication",
    "min comm.(us)": "communication_min",
    "max comm.(us)": "communication_max",
    "overlap(%)": "overlap",
}
"""The figure of merit for each column, by its head in lower case; other columns are ignored."""

_TAIL = re.compile(r"p([0-9]{1,2}) tail (lat|bw)\S*")
_VALIDATION = "validation"
VALID = frozenset({"Pass", "passed"})
"""What stands in a row whose data were right; atomic operations say passed (osu_cas_latency.c)."""
_ATOMIC_BYTES = frozenset({1, 4, 8})
"""The sizes of the numbers of atomic operations: 8 until version 7 let them choose a data type (-T)."""

_GAP = re.compile(r"\t+\s*|\s{2,}| (?=P[0-9]+ Tail BW)")
"""What parts the heads: one space is enough before percentiles of bandwidths, which fill their width."""


_SIZE = r"[0-9]{1,15}"
_FIGURE = r"[0-9]{1,15}\.[0-9]{2}(?:[0-9]{4})?"
_GAPS = r"[^\S\n]+"
_MULTI_LATENCY = "multi latency"
_OVERFLOW = 10
"""The least characters of a cell that may be wider than its column (osu_util.h, ``%-10d%18.2f``)."""


def is_figure(head: str) -> bool:
    """Return whether a column with this head, in lower case, holds a figure of merit."""
    return head in COLUMNS or _TAIL.fullmatch(head) is not None


def split_heads(line: str) -> list[str]:
    """Return the heads in a line, in lower case."""
    return [name.lower() for name in _GAP.split(line.strip("# \t")) if name]


class _Heads(NamedTuple):
    """The names of columns, how many at their end rows may lack, and a pattern for rows under them."""

    names: tuple[str, ...]
    n_unprinted: int
    rows: re.Pattern[str]


@functools.lru_cache(maxsize=256)  # the tables of a long log have few different heads
def _heads(line: str, *, has_sizes: bool, may_lack_tails: bool) -> _Heads:
    """Return what the line with the heads says about the rows."""
    names = split_heads(line)
    fields = [_FIGURE if is_figure(name) else r"\S+" for name in (names[1:] if has_sizes else names)]
    size = [_SIZE] if has_sizes else []
    n_unprinted = sum(_TAIL.fullmatch(name) is not None for name in names) if may_lack_tails else 0
    tails = [fields.pop() for _ in range(n_unprinted)]
    optional = rf"(?:{_GAPS}{_GAPS.join(tails)})?" if tails else ""
    return _Heads(tuple(names), n_unprinted, _rows_pattern(_GAPS.join([*size, *fields]) + optional))


def _rows_pattern(row: str) -> re.Pattern[str]:
    """Return a pattern for one or more whole rows of the form `row`."""
    return re.compile(rf"(?:[^\S\n]*{row}[^\S\n]*(?:\n|\Z))++")


class Sizes(msgspec.Struct, frozen=True):
    """The message sizes that a table should have, in bytes: they double from `first` up to at most `last`."""

    first: int
    last: int

    @property
    def end(self) -> int:
        """Return the last size of the table."""
        size = self.first or min(1, self.last)
        while 0 < size * 2 <= self.last:
            size *= 2
        return size


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables of a benchmark should contain.

    `key` is the title (see osu_output.benchmark_key), and `main` is the figure that every row must have.
    `least` and `largest` are the default sizes of the smallest and the largest message. `asked` are the sizes
    that the case asks for, None without a case. `iterations` are the repetitions of each size, None for OMB's
    default, which it does not print. `is_fan` says that the tables call their rates latencies, as those of
    osu_bw_fan_in and osu_bw_fan_out do.
    """

    key: str
    main: str
    has_sizes: bool
    least: int
    largest: int
    asked: Sizes | None = None
    iterations: int | None = None
    is_fan: bool = False

    @property
    def sweeps(self) -> bool:
        """Whether the tables have several sizes."""
        return self.has_sizes and self.least < self.largest


@dataclasses.dataclass
class Table:
    """One table: its announced sizes and settings, and its rows. `key` is that of its title."""

    key: str
    run: int
    label: str
    version: int | None
    asked: Sizes | None
    device: str = ""  # that its title names
    limit: int | None = None
    heads: tuple[str, ...] = ()
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    pattern: re.Pattern[str] | None = None
    n_figures: int = 1
    """How many figures a row has."""
    validation: int | None = None
    """The index of the column with the result of data validation."""
    rows: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    widths: list[int] = dataclasses.field(default_factory=list)
    """How many characters each row has."""
    windows: tuple[int, ...] | None = None
    """The windows of the columns if they vary (osu_mbw_mr -V), empty before their heads; else None."""
    rates: list[tuple[str, ...]] | None = None
    """The rows with the message rates of varied windows, once their heading was read."""
    n_unprinted: int = 0
    """How many columns osu_multi_lat names at the end of its heads, and may leave out of its rows."""
    is_cut: bool = False
    """Whether the text ends in the middle of a row."""
    lacks_end: bool = False
    """Whether the text ends with a row that has no line end."""

    def read_heads(self, line: str, *, has_sizes: bool) -> None:
        """Take the columns from the line with their heads; without sizes, a table has one row."""
        heads = _heads(line, has_sizes=has_sizes, may_lack_tails=self.key == _MULTI_LATENCY)
        self.heads, self.n_unprinted, self.pattern = heads
        self.n_figures = max(len(self.heads) - 1, 1)
        self.validation = self.heads.index(_VALIDATION) if _VALIDATION in self.heads else None

    def read_windows(self, line: str) -> None:
        """Take the columns from the line with their windows."""
        self.windows = tuple(map(int, line.strip("# \t").split()))
        self.heads = ("size", *["mb/s"] * len(self.windows))
        self.n_figures = len(self.windows)
        self.pattern = _rows_pattern(_GAPS.join([_SIZE, *[_FIGURE] * len(self.windows)]))

    def rows_in(self, lines: str) -> list[tuple[str, ...]]:
        """Return the rows in `lines`, if each line is a whole row under the heads; else an empty list.

        Cells that are not printed are empty.
        """
        if self.pattern is None or self.pattern.fullmatch(lines) is None:
            return []
        if self.n_unprinted:
            rows = [line.split() for line in lines.splitlines()]
            return [(*row, *[""] * (len(self.heads) - len(row))) for row in rows]
        words = iter(lines.split())
        return list(zip(*[words] * len(self.heads), strict=True))

    def add(self, rows: Iterable[tuple[str, ...]], lines: str) -> None:
        """Add the rows in `lines`, which are those of message rates below their heading."""
        (self.rows if self.rates is None else self.rates).extend(rows)
        if self.rates is None:
            self.widths += [len(line.rstrip()) for line in lines.splitlines()]

    @functools.cached_property
    def sizes(self) -> list[int]:
        """The message sizes in the first column, to be asked for after the last row was read."""
        return [int(row[0]) for row in self.rows]

    def figures(self) -> Iterator[tuple[int, str, dict[str, int]]]:
        """Yield the index of each column with a figure of merit, its name, and its percentile, if any."""
        for column, head in enumerate(self.heads):
            if head in COLUMNS:
                yield column, COLUMNS[head], {}
            elif tail := _TAIL.fullmatch(head):
                fom = "bandwidth_tail" if tail[2] == "bw" else "latency_tail"
                yield column, fom, {"percentile": int(tail[1])}

    def faults(self, expected: Expectation) -> Iterator[str]:
        """Yield the differences between the rows and the expected ones."""
        if self.is_cut:
            yield "breaks off in the middle of a row"
        if not self.rows:
            yield "has no rows that fit its heads"
        elif not expected.has_sizes:
            if len(self.rows) > 1:
                yield f"has {count(len(self.rows), 'row')} instead of one"
        else:
            sizes = self.sizes
            for size, following in pairwise(sizes):
                if following != (2 * size or 1):
                    yield f"goes on from {count(size, 'byte')} to {following} instead of {2 * size or 1}"
            shapes = [*map(shape, self.rows, self.widths)] if len(set(self.widths)) > 1 else []
            for odd in odd_rows(shapes, overflow=_OVERFLOW):
                yield f"has a row that lost a part, as its width shows: {' '.join(self.rows[odd])}"
            if self.windows is not None and [row[0] for row in self.rates or ()] != [
                row[0] for row in self.rows
            ]:
                yield f"has the message rates of {len(self.rates or ())} of {count(len(sizes), 'size')}"
            if expected.sweeps:
                yield from self._faults_of_ends(sizes[0], sizes[-1], expected)
            elif sizes[-1] not in _ATOMIC_BYTES:
                yield f"is of {count(sizes[-1], 'byte')}, which no atomic operation has"

    def _faults_of_ends(self, first: int, last: int, expected: Expectation) -> Iterator[str]:
        asked = expected.asked or self.asked
        end = asked.end if asked else expected.largest
        if self.limit is not None:
            end = min(end, self.limit)
        if asked is None and last > end:  # the user chose the sizes; the last one is unknown
            if self.lacks_end:
                yield f"breaks off at {count(last, 'byte')}"
            return
        if last != end:
            yield f"stops at {last} of {count(end, 'byte')}"
        starts = self._starts(asked.first if asked else expected.least)
        if first not in starts:
            yield f"starts at {count(first, 'byte')} instead of {min(starts)}"

    def _starts(self, least: int) -> frozenset[int]:
        """Return the sizes at which the table may start if it should start at `least`.

        From version 7 on, a message contains whole elements of 1 or 4 bytes, so it is never empty. Before
        version 5, one-sided messages may be empty.
        """
        if self.version is None or self.version >= 7:
            chars = {1} if "reduce" in self.key and least == 4 else set()  # sums of characters
            return frozenset({least, max(least, 1), max(least, 4), *chars})
        if self.version < 5 and self.key.startswith("mpi_"):
            return frozenset({least, 0})
        return frozenset({least})
