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
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.left_out import UNFINISHED, too_small
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.row_widths import Shape, shape
from tare.plugins.workloads.common.torn_start import TornStart
from tare.plugins.workloads.imb_call import Call
from tare.plugins.workloads.imb_table import COUNTS, GROUP, Table

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

_OF_ONE_PAIR = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_MOST_GROUPS = 10_000

MULTIPLE = "Multi-"


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
    | \#processes\ =\  (?P<ranks> [0-9]{1,9} ) (?: \ \(threads:\ (?P<threads> [0-9]{1,9} ) \) )? $
    | MODE:\ (?P<mode> (?:NON-)?AGGREGATE ) $
    | (?:\S*/)?IMB-\w+ (?P<call> (?:\ .*)? ) $
    | \(\ (?P<waiting> [0-9]{1,9} )\ additional\ process(?:es)?\ waiting\ in\ MPI_Barrier
    | \(\ (?P<groups> [0-9]{1,9} )\ groups\ of\ (?P<members> [0-9]{1,9} )\ processes\b
    )""",
    re.VERBOSE,
)


_ROW_OF_ANY = re.compile(r"\s*[0-9]{1,15}\s+[0-9]{1,15}(?:\s+[0-9]{1,15}(?:\.[0-9]{2})?){1,8}")
"""A row of a table of any benchmark with sizes."""


class ImbLog(LogParser):
    """Collects the tables of one benchmark from a log, line by line."""

    banner = Banner(" MPI Benchmark", r"Intel ?\(R\) MPI Benchmark(?:s | Suite V)([0-9][^,\n]*),")

    def __init__(self, workload: ImbBenchmark) -> None:
        super().__init__(workload.foms)
        self._workload = workload
        self._limits: dict[str, int] = {}
        self._tables: list[Table] = []
        self._open: Table | None = None
        self._is_named = True
        """Whether the title of the open table has the name of the benchmark, with ``Multi-``."""
        self._run = 0
        self._megabyte: float | None = None
        self._finished_runs: set[int] = set()
        self._calls: dict[int, Call] = defaultdict(Call)
        """By run: its command line."""
        self._is_in_call = self._has_title = False
        """Whether a line of a command line was the last header, and whether any title was read."""
        self._start = TornStart(_ROW_OF_ANY)

    def read(self, line: str) -> None:
        """Read one line."""
        if "#" in line:
            self._read_header(line)
        elif line.lstrip()[:1].isdigit():
            self._read_row(line)
        elif line.startswith(("Invalid benchmark name ", "CHECK FAILURES: ")):  # unknown options it ignores
            self._findings.problem(f"IMB printed: {line[:200]}")

    def _read_header(self, line: str) -> None:
        """Read a line with a ``#``: banner, limits, the head of a table, or the closing line."""
        header = _HEADER.match(line)
        was_in_call, self._is_in_call = self._is_in_call, header is not None and header["call"] is not None
        if header is None:
            if self._open is not None and "#repetitions" in line:
                self._read_columns(self._open, line)
            elif was_in_call and line[:2] == "# ":  # IMB wraps it after six words
                self._is_in_call = True
                self._calls[self._run].read(line[1:])
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
            self._has_title = True
        elif header["call"] is not None:
            self._calls[self._run].read(header["call"])
        elif self._open is not None:
            self._read_table_head(self._open, header)

    @staticmethod
    def _read_table_head(table: Table, header: re.Match[str]) -> None:
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
            table.threads = int(header["threads"]) if header["threads"] else None

    def _new_table(self) -> Table:
        table = Table(run=self._run, megabyte=self._megabyte)
        if self._workload.has_sizes and not self._workload.has_one_size:
            table.smallest, table.largest = self._limits.get("Minimum"), self._limits.get("Maximum")
            least = self._calls[self._run].least_bytes
            table.least = None if least is None else max(least, self._workload.least_bytes)
            if self._workload.asked is not None:
                table.smallest, table.largest = self._workload.asked
        if not self._workload.has_footer:
            self._finished_runs.add(self._run)
        self._tables.append(table)
        self._findings.begin()
        return table

    def _read_columns(self, table: Table, line: str) -> None:
        columns = tuple(line.split())
        if columns == self._workload.columns:
            table.take_columns(line)
        elif columns[:1] == (GROUP,) and self._is_known(columns[1:]):
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

    def _divide(self, table: Table, line: str) -> None:
        """Make `table` the first of the tables of its groups; a row begins with the number of its group."""
        if table.n_groups > _MOST_GROUPS:
            self._findings.problem(f"{self._name(table)} has {table.n_groups} groups, which no run has")
            return
        table.take_columns(line)
        table.group = 0
        others = [
            dataclasses.replace(table, group=number, rows=[], shapes=[], members=[])
            for number in range(1, table.n_groups)
        ]
        table.members = [table, *others]
        self._tables += others
        self._findings.keep(len(others))

    def _read_row(self, line: str) -> None:
        """Read a line that starts with a digit: a row, a broken row, or other text between the rows."""
        table = self._open
        if not self._has_title and (fault := self._start.fault(line)):
            self._findings.problem(fault)
        if table is None or table.width is None or table.pattern is None:
            return
        columns = table.columns
        row = table.pattern.fullmatch(line)
        # A row is as wide as its head; only the width shows that a count in the last column was cut short.
        if row and (len(line) >= table.width or columns[-1] not in COUNTS):
            self._add(table, tuple(map(float, row.groups())), shape(row.groups(), len(line)))
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

    def _add(self, table: Table, row: tuple[float, ...], form: Shape) -> None:
        """Add a row to its table, or to that of its group."""
        if table.group is None:
            table.rows.append(row)
            table.shapes.append(form)
        elif row[0] < len(table.members):
            member = table.members[int(row[0])]
            member.rows.append(row[1:])
            member.shapes.append(form)
        else:
            self._findings.problem(
                f"{self._name(table)} has a row of group {int(row[0])}, which it does not have"
            )

    def _leave_out_unfinished(self, tables: Iterable[Table]) -> None:
        """Name the figures of tables that are not among `tables`, which count."""
        counted = {id(table) for table in tables}
        for table in self._tables:
            if table.rows and id(table) not in counted:
                for _, fom in self._workload.figures:
                    self._findings.leave_out(
                        fom, UNFINISHED, {} if table.ranks is None else {"ranks": table.ranks}
                    )

    def parsed(self) -> Parsed:
        """Return the rows as measurements; they are complete if all announced sizes are there."""
        findings, tables = self._findings, self._tables_that_count()
        counts = Counter(table.key for table in tables)
        self._leave_out_unfinished(tables)
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
            if (n_tables := counts[table.key]) > 1:
                findings.problem(f"{self._name(table)} is there {count(n_tables, 'time')}")
            if table.ranks is not None:
                findings.record_facts(ranks=table.ranks + table.waiting)
            if table.threads is not None:
                findings.record_facts(threads=table.threads)
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
            is_end_known=self._workload.has_footer or self._workload.asked is not None,
        )

    def _tables_that_count(self) -> list[Table]:
        """Return all tables, except those of an unfinished run that was repeated in the same log."""
        last_run = {table.key: table.run for table in self._tables}
        return [
            table
            for table in self._tables
            if table.run in self._finished_runs or table.run == last_run[table.key]
        ]

    def _lost_tables(self, tables: Iterable[Table]) -> Iterator[str]:
        """Yield the modes that have no table, of those that the benchmark runs in and its command left in."""
        found: dict[tuple[int, int | None], set[str | None]] = defaultdict(set)
        for table in tables:
            found[table.run, table.ranks].add(table.mode)
        for (run, ranks), modes in found.items():
            asked = self._calls[run].mode
            for mode in self._workload.modes:
                if mode not in modes and (asked in {None, "MULTI", mode}):
                    suffix = f" on {ranks} ranks" if ranks else ""
                    yield f"the output lacks the table of {self._workload.benchmark}{suffix}, mode {mode}"

    def _measure(self, table: Table, at: Mapping[str, Scalar]) -> None:
        columns = tuple(name for name in table.columns if name != GROUP)
        has_sizes = self._workload.has_sizes
        megabyte = _megabyte(table, columns)
        # In the order of the figures of merit, not of the columns.
        figures = [one for one in self._workload.figures if one[0] in columns]
        foms = [(fom, columns.index(column)) for column, fom in figures]
        for row in table.rows:
            point = {"bytes": int(row[0]), **at} if has_sizes else at
            for fom, column in foms:
                if fom == "bandwidth" and has_sizes and not row[0]:
                    continue  # nothing moves at 0 bytes
                if row[column] == 0 and fom != "overlap":
                    printed = "0" if columns[column] in COUNTS else "0.00"
                    self._findings.leave_out(fom, too_small(printed), point)
                elif fom == "bandwidth":
                    self._findings.measure_at(fom, round(row[column] * megabyte, 6), point)
                else:
                    self._findings.measure_at(fom, row[column], point)

    def _name(self, table: Table) -> str:
        suffix = f" on {table.ranks} ranks" if table.ranks else ""
        suffix += f", mode {table.mode}," if table.mode else ""
        suffix += f", group {table.group}," if table.group is not None and table.n_groups > 1 else ""
        return f"the table of {self._workload.benchmark}{suffix}"


def _megabyte(table: Table, columns: tuple[str, ...]) -> float:
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
