"""Read the tables that IMB prints for one benchmark, and check that they are complete.

The beginning of a table::

    # Benchmarking PingPong
    # #processes = 2
    #---------------------------------------------------
           #bytes #repetitions      t[usec]   Mbytes/sec
                0         1000         0.31         0.00
                1         1000         0.32         3.12
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import TYPE_CHECKING

from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.log_parser import LogParser

if TYPE_CHECKING:
    from tare.plugins.workloads.imb_benchmark import ImbBenchmark


COLUMNS = {
    "t[usec]": declare.lower("latency", "us", "time of one message", "bytes", is_primary=True),
    "t_min[usec]": declare.lower("time_min", "us", "time on the fastest rank", "bytes"),
    "t_max[usec]": declare.lower("time_max", "us", "time on the slowest rank", "bytes"),
    "t_avg[usec]": declare.lower("time_avg", "us", "time, mean over ranks", "bytes", is_primary=True),
    "Mbytes/sec": declare.higher("bandwidth", "MB/s", "10⁶ bytes per second", "bytes", is_primary=True),
    "Msg/sec": declare.higher(
        "message_rate", "msg/s", "messages per second, all pairs together", "bytes", is_primary=True
    ),
}
"""The figure of merit for each column of IMB's tables."""

_GROUP = "Group"
_OF_ONE_PAIR = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_MOST_GROUPS = 10_000
_COUNTS = frozenset({_GROUP, "#bytes", "#repetitions", "Msg/sec"})
"""Columns of whole numbers; the other columns have two decimals."""

MULTIPLE = "Multi-"

FLOAT_BYTES = 4  # reductions sum MPI_FLOATs, so the sizes of their messages are multiples of this

_VERSION = re.compile(r"MPI Benchmark(?: Suite V|s )(?:(?P<old>[1-4]\.)|20(?:1[89]|[2-9]))")
_OLD_MEGABYTE = 2**20 / 1e6
"""Up to version 4.1, a megabyte is 2²⁰ bytes; from 2018 on, it is 10⁶ bytes."""
_MOST_WAYS = 8
"""More than the factor between a rate × its time and the size: 1, 2 (Sendrecv) or 4 (Exchange)."""
_EXACT = 10.0  # a number from here on has decimals enough to tell the two megabytes, 4.9 % apart

_HEADER = re.compile(
    r"""\#\s* (?:
      (?P<banner>    Intel\s?\(R\)\ MPI\ Benchmark )
    | (?P<footer>    All\ processes\ entering\ MPI_Finalize $ )
    | (?P<limit>     Minimum | Maximum ) \ message\ length\ in\ bytes: \s+ (?P<bytes> [0-9]{1,15} ) $
    | Benchmarking\  (?P<benchmark> \S+ )
    | \#processes\ =\  (?P<ranks> [0-9]{1,9} ) $
    | MODE:\ (?P<mode> (?:NON-)?AGGREGATE ) $
    | \S*IMB-\w+\ .*-aggregate_mode\ (?P<asked_mode> \w+ )
    | \(\ (?P<waiting> [0-9]{1,9} )\ additional\ process(?:es)?\ waiting\ in\ MPI_Barrier
    | \(\ (?P<groups> [0-9]{1,9} )\ groups\ of\ (?P<members> [0-9]{1,9} )\ processes\b
    )""",
    re.VERBOSE,
)


@functools.cache
def _row_pattern(columns: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a whole row; NaN, overflowed fields and most truncated numbers do not match."""
    fields = ("([0-9]{1,15})" if name in _COUNTS else r"([0-9]{1,15}\.[0-9]{2})" for name in columns)
    return re.compile(r"\s*" + r"\s+".join(fields))


@dataclasses.dataclass
class _Table:
    """The rows of one group of ranks, and the announced sizes and ranks; None if unknown."""

    run: int
    smallest: int | None = None
    largest: int | None = None
    ranks: int | None = None
    n_groups: int = 1
    group: int | None = None
    """The number of its group of ranks, if each has rows of its own (-multi 1)."""
    members: list[_Table] = dataclasses.field(default_factory=list)
    """The tables of all groups, whose rows alternate."""
    columns: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    mode: str | None = None
    waiting: int = 0
    width: int | None = None
    megabyte: float | None = None
    """The megabyte of the program's version, in 10⁶ bytes; None if the version is unknown."""
    unaffordable: int | None = None
    """The first size that IMB refused, and all larger ones: for its limit of memory (-mem), or of a count."""
    rows: list[tuple[float, ...]] = dataclasses.field(default_factory=list)

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
        if not self.rows:
            yield "has no rows"
        elif self.smallest is not None and self.largest is not None:
            sizes = [int(row[0]) for row in self.rows]
            # Reductions round a smallest size of 1 or 2 bytes up to a whole number.
            if sizes[0] != self.smallest and not 0 < self.smallest < sizes[0] <= 2 * FLOAT_BYTES:
                yield f"starts at {sizes[0]} bytes instead of {self.smallest}"
            for size, following in pairwise(sizes):
                if size and following != 2 * size:
                    yield f"goes on from {size} bytes to {following} instead of {2 * size}"
            if sizes[-1] != self.largest and self.unaffordable != (2 * sizes[-1] or 1):
                yield f"stops at {sizes[-1]} of {self.largest} bytes"


class ImbLog(LogParser):
    """Collects the tables of one benchmark from a log, line by line."""

    banner = Banner(" MPI Benchmark", r"Intel ?\(R\) MPI Benchmark(?:s | Suite V)([0-9][^,\n]*),")

    def __init__(self, workload: ImbBenchmark) -> None:
        super().__init__(workload.foms)
        self._workload = workload
        self._limits: dict[str, int] = {}
        self._tables: list[_Table] = []
        self._open: _Table | None = None
        self._is_named = True
        """Whether the title of the open table has the name of the benchmark, with ``Multi-``."""
        self._run = 0
        self._megabyte: float | None = None
        self._finished_runs: set[int] = set()
        self._asked_modes: dict[int, str] = {}
        """By run: the mode that its command asked for, if it has the option -aggregate_mode."""

    def read(self, line: str) -> None:
        """Read one line."""
        if "#" in line:
            self._read_header(line)
        elif line.lstrip()[:1].isdigit():
            self._read_row(line)
        elif line.startswith("Invalid benchmark name "):  # it ignores an option that it does not know
            self._findings.problem(f"IMB printed: {line[:200]}")

    def _read_header(self, line: str) -> None:
        """Read a line with a ``#``: banner, limits, the head of a table, or the closing line."""
        header = _HEADER.match(line)
        if header is None:
            if self._open is not None and "#repetitions" in line:
                self._read_columns(self._open, line)
        elif header["banner"]:
            self._run += 1
            version = _VERSION.search(line)
            self._megabyte = (_OLD_MEGABYTE if version["old"] else 1.0) if version else None
            self._findings.begin()
            self._limits.clear()
            self._open = None
        elif header["footer"]:
            self._finished_runs.add(self._run)
            self._open = None
        elif header["limit"]:
            self._limits[header["limit"]] = int(header["bytes"])
            if any(table.run == self._run for table in self._tables):
                self._findings.mixed("the sizes of a run come after its tables")
        elif header["benchmark"]:
            # With one pair of ranks, IMB leaves `Multi-` out of the title; only the columns show the option.
            names = {self._workload.benchmark, self._workload.benchmark.removeprefix(MULTIPLE)}
            self._open = self._new_table() if header["benchmark"] in names else None
            self._is_named = header["benchmark"] == self._workload.benchmark
        elif header["asked_mode"]:
            self._asked_modes[self._run] = header["asked_mode"].upper().replace("_", "-")
        elif self._open is not None:
            self._read_table_head(self._open, header)

    @staticmethod
    def _read_table_head(table: _Table, header: re.Match[str]) -> None:
        """Read how many ranks take part in a table, how many wait, or its mode."""
        if header["groups"]:
            table.n_groups = int(header["groups"])
            table.ranks = table.n_groups * int(header["members"])
        elif header["waiting"]:
            table.waiting = int(header["waiting"])
        elif header["mode"]:
            table.mode = header["mode"]
        elif header["ranks"]:
            table.ranks = int(header["ranks"])

    def _new_table(self) -> _Table:
        table = _Table(run=self._run, megabyte=self._megabyte)
        if self._workload.has_sizes and not self._workload.has_one_size:
            table.smallest, table.largest = self._limits.get("Minimum"), self._limits.get("Maximum")
        self._tables.append(table)
        self._findings.begin()
        return table

    def _read_columns(self, table: _Table, line: str) -> None:
        columns = tuple(line.split())
        if columns == self._workload.columns:
            table.take_columns(line)
        elif columns[:1] == (_GROUP,) and self._is_known(columns[1:]):
            self._divide(table, line)
        elif not self._is_named:
            self._tables.remove(table)
            self._open = None
        elif columns[-1] == "Msg/sec" and self._workload.program == "IMB-MPI1" and "t[usec]" in columns:
            self._findings.problem(
                f"{self._name(table)} is of IMB-P2P; read it as imb.p2p_{self._workload.benchmark.lower()}"
            )
        elif "t_avg[usec]" in columns and self._workload.benchmark in {"PingPong", "PingPing"}:
            self._findings.problem(
                f"{self._name(table)} has the columns of IMB's option -multi; "
                f"read it as imb.{MULTIPLE.lower()}{self._workload.benchmark.lower()}"
            )
        else:
            self._findings.problem(f"{self._name(table)} has unknown columns: {line.strip()}")

    def _is_known(self, columns: tuple[str, ...]) -> bool:
        """Return whether the table of one group has such columns."""
        return columns == self._workload.columns or (self._workload.is_multiple and columns == _OF_ONE_PAIR)

    def _divide(self, table: _Table, line: str) -> None:
        """Make `table` the first of the tables of its groups; a row begins with the number of its group."""
        if table.n_groups > _MOST_GROUPS:
            self._findings.problem(f"{self._name(table)} has {table.n_groups} groups, which no run has")
            return
        table.take_columns(line)
        table.group = 0
        others = [
            dataclasses.replace(table, group=number, rows=[], members=[])
            for number in range(1, table.n_groups)
        ]
        table.members = [table, *others]
        self._tables += others
        self._findings.keep(len(others))

    def _read_row(self, line: str) -> None:
        """Read a line that starts with a digit: a row, a broken row, or other text between the rows."""
        table = self._open
        if table is None or table.width is None or table.pattern is None:
            return
        columns = table.columns
        row = table.pattern.fullmatch(line)
        # A row is as wide as its head; only the width shows that a count in the last column was cut short.
        if row and (len(line) >= table.width or columns[-1] not in _COUNTS):
            self._add(table, tuple(map(float, row.groups())))
            self._findings.keep(len(self._workload.foms))
            return
        words = line.split()
        if len(words) < 2 or not words[0].isdecimal():
            return
        if words[1] in {"out-of-mem.;", "int-overflow;"} and self._workload.has_sizes:
            table.unaffordable = min(int(words[0]), table.unaffordable or int(words[0]))
        elif words[1] == "time-out.;":
            self._findings.problem(f"{self._name(table)} gave up at {' '.join(words)}")
        elif len(words) % len(columns) == 0 and words[1].isdigit():  # more than once: joined rows
            self._findings.problem(f"{self._name(table)} has a broken row: {' '.join(words)}")

    def _add(self, table: _Table, row: tuple[float, ...]) -> None:
        """Add a row to its table, or to that of its group."""
        if table.group is None:
            table.rows.append(row)
        elif row[0] < len(table.members):
            table.members[int(row[0])].rows.append(row[1:])
        else:
            self._findings.problem(
                f"{self._name(table)} has a row of group {int(row[0])}, which it does not have"
            )

    def parsed(self) -> Parsed:
        """Return the rows as measurements; they are complete if all announced sizes are there."""
        findings, tables = self._findings, self._tables_that_count()
        counts = Counter(table.key for table in tables)
        all_ranks = {table.ranks for table in tables}
        if not tables:
            findings.problem(f"the output holds no table of {self._workload.benchmark}")
        faults = [f"{self._name(table)} {fault}" for table in tables for fault in table.faults()]
        faults += self._lost_tables(tables)
        if any(table.run not in self._finished_runs for table in tables):
            faults.append("the output lacks IMB's closing line; the run did not come to its end")
        findings.problems(faults)
        if None in all_ranks and len(all_ranks) > 1:
            findings.mixed("a table without its number of processes")
        for table in tables:
            if self._workload.has_sizes and len({row[0] for row in table.rows}) < len(table.rows):
                findings.mixed(f"a size is twice in {self._name(table)}")
            if (count := counts[table.key]) > 1:
                findings.problem(f"{self._name(table)} is there {count} times")
            if table.ranks is not None:
                findings.record_facts(ranks=table.ranks + table.waiting)
            at: dict[str, Scalar] = {}
            if len(all_ranks) > 1 and table.ranks is not None:
                at["ranks"] = table.ranks
            if len(self._workload.modes) > 1 and table.mode is not None:
                at["mode"] = table.mode
            if table.group is not None and table.n_groups > 1:
                at["group"] = table.group
            self._measure(table, at)
        return findings.parsed(
            is_complete=bool(tables) and not faults,
            payload_bytes=self._workload.payload_bytes(row for one in tables for row in one.rows),
            n_messages=self._workload.n_messages(row for one in tables for row in one.rows),
        )

    def _tables_that_count(self) -> list[_Table]:
        """Return all tables, except those of an unfinished run that was repeated in the same log."""
        last_run = {table.key: table.run for table in self._tables}
        return [
            table
            for table in self._tables
            if table.run in self._finished_runs or table.run == last_run[table.key]
        ]

    def _lost_tables(self, tables: Iterable[_Table]) -> Iterator[str]:
        """Yield the modes that have no table, of those that the benchmark runs in and its command left in."""
        found: dict[tuple[int, int | None], set[str | None]] = defaultdict(set)
        for table in tables:
            found[table.run, table.ranks].add(table.mode)
        for (run, ranks), modes in found.items():
            asked = self._asked_modes.get(run)
            for mode in self._workload.modes:
                if mode not in modes and (asked in {None, "MULTI", mode}):
                    suffix = f" on {ranks} ranks" if ranks else ""
                    yield f"the output lacks the table of {self._workload.benchmark}{suffix}, mode {mode}"

    def _measure(self, table: _Table, at: Mapping[str, Scalar]) -> None:
        columns = tuple(name for name in table.columns if name != _GROUP)
        has_sizes = self._workload.has_sizes
        megabyte = _megabyte(table, columns)
        # In the order of the figures of merit, not of the columns.
        figures = [one for one in self._workload.figures if one[0] in columns]
        foms = [(fom, columns.index(column)) for column, fom in figures]
        for row in table.rows:
            point = {"bytes": int(row[0]), **at} if has_sizes else at
            for fom, column in foms:
                if row[column] == 0 and fom != "overlap":
                    continue  # it is too small for two decimals; nothing moves at 0 bytes
                if fom != "bandwidth":
                    self._findings.measure_at(fom, row[column], point)
                elif row[0] or not has_sizes:
                    self._findings.measure_at(fom, round(row[column] * megabyte, 6), point)

    def _name(self, table: _Table) -> str:
        suffix = f" on {table.ranks} ranks" if table.ranks else ""
        suffix += f", mode {table.mode}," if table.mode else ""
        suffix += f", group {table.group}," if table.group is not None and table.n_groups > 1 else ""
        return f"the table of {self._workload.benchmark}{suffix}"


def _megabyte(table: _Table, columns: tuple[str, ...]) -> float:
    """Return the megabytes in which a table counts its rates, in 10⁶ bytes.

    If the version is unknown, the rows decide: a rate × its time is the size, or a small multiple of it.
    """
    time = next((columns.index(name) for name in ("t[usec]", "t_max[usec]") if name in columns), None)
    if table.megabyte is not None or time is None or "Mbytes/sec" not in columns:
        return table.megabyte or 1.0
    rate = columns.index("Mbytes/sec")
    exact = (row for row in reversed(table.rows) if row[0] and min(row[time], row[rate]) >= _EXACT)
    for row, megabyte in product(exact, (1.0, _OLD_MEGABYTE)):
        ways = row[time] * row[rate] / row[0] * megabyte
        if round(ways) < _MOST_WAYS and math.isclose(ways, round(ways), rel_tol=0.01):
            return megabyte
    return 1.0
