"""perftest: RDMA verbs between two hosts, `perftest.write_bw` … (https://github.com/linux-rdma/perftest)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Findings, coordinates
from tare.plugins.workloads.common.heads import unknown_heads
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.perftest_table import FIGURES, Figure, Table

_BANDWIDTH = (
    declare.higher("bandwidth", "Gbit/s", "mean over the test", "bytes", is_primary=True),
    declare.higher("bandwidth_peak", "Gbit/s", "the fastest stretch", "bytes"),
    declare.higher("message_rate", "Mmsg/s", "10⁶ messages per second", "bytes", is_primary=True),
)
_LATENCY = (
    declare.lower("latency", "us", "mean", "bytes", is_primary=True),
    declare.lower("latency_typical", "us", "median", "bytes", is_primary=True),
    declare.lower("latency_min", "us", "the shortest", "bytes"),
    declare.lower("latency_max", "us", "the longest", "bytes"),
    declare.lower("latency_stddev", "us", "standard deviation", "bytes"),
    declare.lower("latency_percentile", "us", "by percentile", "bytes", "percentile"),
    declare.higher("transactions", "1/s", "round trips per second, in tests of a fixed time (-D)", "bytes"),
)

_HEAD = re.compile(
    r"\d[\d.]*% percentile\[usec\]|(?:BW|MsgRate) \w+\[[^\]]*\]|tps average|\S+\[[^\]]*\]|#\w+|\S+"
)
_ROW = re.compile(r"[0-9]{1,15}(?:\s+[0-9]{1,15}(?:\.[0-9]{2,6})?)*\s*")
_BROKEN = re.compile(r"[-+0-9.,'*]+(?:e[-+]?[0-9]+)?|-?(?:nan|inf)", re.IGNORECASE)

_PARAMETERS = (
    declare.size("message_bytes", 65536, "size of a message (-s)", minimum=1),
    declare.flag("all_sizes", False, "all sizes from 2 bytes to 8 MiB (-a)"),
    declare.whole("iterations", 5000, "messages of each size (-n)", minimum=5),
    declare.text("device", "", "RDMA device, as mlx5_0 (-d); empty: first"),
    declare.flag("connection_manager", False, "connect with rdma_cm (-R), as RoCE and iWARP may need"),
    port_parameter(18515),
)

_BANDWIDTH_PARAMETERS = (
    declare.whole("queue_pairs", 1, "queue pairs that share the test (-q); bandwidth only", minimum=1),
    declare.flag(
        "bidirectional", False, "both send (-b), and the bandwidth is that of both directions together"
    ),
)

_DESCRIPTION = """\
Starts `{program}` on the first node, as a server, and on the second, as its client. Bandwidths are asked for
in 10⁹ bits per second (--report_gbits); reports in MB/sec, which are 2²⁰ bytes, are converted. Debian and
Fedora have the package perftest.

Traps: an RDMA device carries the data past the counters of its network interface, so no proof of transport
is asked for; the programs know no other way than verbs. A latency is half of a round trip for send and
write, a whole one for read. Bidirectional bandwidth is that of both directions
together."""

_PROGRAM = re.compile(r"\bib_(write|read|send|atomic)_(?:bw|lat)\b")
"""The name of a program, in a command or in the words of a script; a title below it takes precedence."""
_TITLES = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}
_TITLE = re.compile(
    r"(?P<verb>RDMA_Write|RDMA_Read|RDMA_Atomic|Atomic|Send|Raw \w+) (?P<words>.* )?(?:BW|Latency) Test"
)
_QPS = re.compile(r"Number of qps\s*: ([0-9]{1,6})(?:\s.*)?")
_CONNECTION = re.compile(r"Connection type\s*: (\w{1,8})(?:\s.*)?")
_MTU = re.compile(r"Mtu\s*: ([0-9]{1,6})\[B\].*")


class Perftest(PeerBenchmark, frozen=True, kw_only=True):
    """A workload that runs one of the ib_… programs."""

    program: str
    has_all_sizes: bool = False
    """Whether the case asks for all sizes (-a)."""

    def expecting(self, case: Case) -> Self:
        """Return a copy that knows whether `case` asks for all sizes."""
        return msgspec.structs.replace(self, has_all_sizes=bool(case.parameters["all_sizes"]))

    @property
    def is_latency(self) -> bool:
        """Whether the program measures latency."""
        return self.program.endswith("_lat")

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked = case.parameters
        options = [self.program, "-p", str(asked["port"]), "-n", str(asked["iterations"])]
        options += ["-a"] if asked["all_sizes"] else ["-s", str(asked["message_bytes"])]
        options += ["-b"] if asked.get("bidirectional") else []
        options += ["-q", str(asked["queue_pairs"])] if int(asked.get("queue_pairs", 1)) > 1 else []
        options += ["-d", str(asked["device"])] if asked["device"] else []
        options += ["-R"] if asked["connection_manager"] else []
        options += [] if self.is_latency else ["--report_gbits"]
        return (peer_stage(case, options, [*options, "{address0}"], int(asked["port"])),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the tables of this program (see core.workload.Workload.parse)."""
        verb = self.program.split("_")[1]
        prefix = "t_" if self.is_latency else "BW average"
        return _Log(self.foms, _TITLES[verb], prefix, has_all_sizes=self.has_all_sizes).parse(lines)


class _Log(LogParser):
    """Collects tables below `title` or below no title, if a column of theirs begins with `column_prefix`."""

    def __init__(self, foms: Iterable[Fom], title: str, column_prefix: str, *, has_all_sizes: bool) -> None:
        super().__init__(foms)
        self._title = title
        self._column_prefix = column_prefix
        self._has_all_sizes = has_all_sizes
        self._is_ours = True
        self._facts: dict[str, Scalar] = {}
        """The settings that are printed between the title of a test and its table."""
        self._tables: list[Table] = []
        self._open: Table | None = None
        self._closed: Table | None = None
        self._problems: dict[str, None] = {}

    def read(self, line: str) -> None:
        """Read one line: heads, a row, the closing line, or something else."""
        text = line.lstrip()
        first = text[:1]
        if first.isdigit():
            if self._open is not None:
                self._read_row(self._open, text, is_indented=line != text)
            elif self._closed is not None and _ROW.fullmatch(text):
                self._read_stray(self._closed, tuple(text.split()))
        elif first == "#" and text.startswith("#bytes"):
            self._read_heads(tuple(_HEAD.findall(text)), is_indented=line != text)
        elif text.endswith(" Test"):
            self._closed = None
            if (title := _TITLE.fullmatch(text)) is not None:
                self._is_ours = title["verb"] == self._title
                both = "Bidirectional" in (title["words"] or "")
                self._facts = {} if self._column_prefix == "t_" else {"bidirectional": both}
        elif "ib_" in text and (program := _PROGRAM.search(text)) is not None:
            self._is_ours = program[1] == self._title.removeprefix("RDMA_").lower()
        elif " : " in text or "\t: " in text:
            self._read_fact(text)
        elif self._open is None:
            return
        elif text.startswith("-----"):
            self._close(self._open)

    def _read_stray(self, table: Table, row: tuple[str, ...]) -> None:
        """Read a row below a closed table; if the table contains it, the test's other side printed it."""
        if len(row) == len(table.heads) and row not in table.rows:
            self._findings.mixed("rows after the closing line of their table")

    def _read_fact(self, text: str) -> None:
        if qps := _QPS.fullmatch(text):
            self._facts["queue_pairs"] = int(qps[1])
        elif connection := _CONNECTION.fullmatch(text):
            self._facts["connection"] = connection[1]
        elif mtu := _MTU.fullmatch(text):
            self._facts["mtu"] = int(mtu[1])

    def _close(self, table: Table) -> None:
        if table.rows:
            table.is_closed = True
            self._open, self._closed = None, table

    def _read_heads(self, heads: tuple[str, ...], *, is_indented: bool) -> None:
        self._closed = None
        is_perftest = "#iterations" in heads  # IMB's heads have #repetitions
        has_column = any(head.startswith(self._column_prefix) for head in heads)
        if not (self._is_ours and is_perftest and has_column):
            self._open = None
        elif self._open is not None and not self._open.rows and self._open.heads != heads:
            self._problems.setdefault("the heads of two tables stand one above the other")
        elif self._open is None or self._open.rows:
            self._open = Table(heads, dict(self._facts), self._has_all_sizes, is_indented=is_indented)
            self._tables.append(self._open)
            self._findings.begin()
            for head in heads:
                if head.startswith(self._column_prefix) and head not in FIGURES:
                    self._problems.setdefault(f"the table has an unknown column: {head}")
            for one in unknown_heads(heads, FIGURES, ()):
                if one.meant and not one.name.startswith(self._column_prefix):
                    self._problems.setdefault(
                        f"the table has a column {one.name!r}, which may be {one.meant!r}"
                    )

    def _read_row(self, table: Table, text: str, *, is_indented: bool) -> None:
        cells = text.rstrip("-")  # a test stopped by hand prints its closing line after a row's text
        row = tuple(cells.split())
        if row and len(row) % len(table.heads) == 0:
            is_whole = len(row) == len(table.heads) and is_indented == table.is_indented
            if is_whole and _ROW.fullmatch(cells) and table.is_printed(row):
                if not table.is_consistent(row):
                    self._problems.setdefault(f"the table has a row that contradicts itself: {' '.join(row)}")
                table.rows.setdefault(row)
                table.reports.append(row)
                self._findings.keep(len(row) - 1)
            elif all(map(_BROKEN.fullmatch, row)):
                self._problems.setdefault(f"the table has a broken row: {' '.join(row)[:200]}")
                self._findings.keep()
        if len(text) > len(cells) + len("-----"):
            self._close(table)

    def parsed(self) -> Parsed:
        """Return the figures of all tables, with coordinates that distinguish the tables."""
        findings, tables = self._findings, self._distinct_tables()
        faults = [f"the table {fault}" for table in tables for fault in table.faults()]
        faults += self._problems
        faults += [] if tables else ["the output holds no such table of perftest"]
        findings.problems(faults)
        for table, which in zip(tables, coordinates([table.facts for table in tables]), strict=True):
            findings.record_facts(**table.facts)
            is_endless, figures = table.is_endless, table.figures
            for index, row in enumerate(table.reports if is_endless else table.rows, start=1):
                report = {"report": index} if is_endless else {}
                self._measure(findings, figures, row, {**report, **which})
        return findings.parsed(
            is_complete=not faults, is_end_known=all(table.is_end_known for table in tables)
        )

    def _distinct_tables(self) -> list[Table]:
        """Return the tables without those whose rows are all in an earlier one: reports of the other side."""
        tables: list[Table] = []
        holding: dict[tuple[str, ...], list[Table]] = defaultdict(list)
        for table in self._tables:
            first = next(iter(table.rows), None)
            candidates = [] if first is None else holding[first]
            if not any(table.rows.keys() <= other.rows.keys() for other in candidates):
                tables.append(table)
                for row in table.rows:
                    holding[row].append(table)
        return tables

    @staticmethod
    def _measure(
        findings: Findings, figures: Iterable[Figure], row: tuple[str, ...], at: Mapping[str, Scalar]
    ) -> None:
        n_bytes = int(row[0])
        for column, fom, factor, which in figures:
            value = float(row[column]) * factor
            if value or fom != "bandwidth_peak":
                findings.measure(fom, value, bytes=n_bytes, **which, **at)
            else:
                findings.leave_out(fom, _NO_PEAK, {"bytes": n_bytes, **which, **at})


_NO_PEAK = "it is printed as 0.00, as tests of a fixed time (-D) and periodic reports do not measure it"

_PROGRAMS = (
    ("write_bw", "Bandwidth of RDMA writes.", _BANDWIDTH),
    ("write_lat", "Latency of RDMA writes.", _LATENCY),
    ("read_bw", "Bandwidth of RDMA reads.", _BANDWIDTH),
    ("read_lat", "Latency of RDMA reads.", _LATENCY),
    ("send_bw", "Bandwidth of RDMA sends.", _BANDWIDTH),
    ("send_lat", "Latency of RDMA sends.", _LATENCY),
)

WORKLOADS = tuple(
    Perftest(
        name=f"perftest.{name}",
        summary=summary,
        description=_DESCRIPTION.format(program=f"ib_{name}"),
        parameters=(*(_BANDWIDTH_PARAMETERS if foms is _BANDWIDTH else ()), *_PARAMETERS),
        foms=foms,
        needs_transport=False,
        program=f"ib_{name}",
    )
    for name, summary, foms in _PROGRAMS
)
