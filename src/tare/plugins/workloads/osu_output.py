"""Read the output of the OSU micro-benchmarks, versions 2 to 7: titles, facts and tables.

The beginning of a table of version 5::

    # OSU MPI Latency Test v5.8
    # Size          Latency (us)
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from itertools import repeat

from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import Banner, coordinates
from tare.plugins.workloads.common.left_out import too_small
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.text import Sieve
from tare.plugins.workloads.common.torn_start import TornStart
from tare.plugins.workloads.osu_tables import (
    COLUMNS,
    VALID,
    Expectation,
    Sizes,
    Table,
    is_figure,
    split_heads,
)

SMALL_MEAN = "latency_small_mean"
SMALL_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""The message sizes of one and two digits; published comparisons quote the mean of their latencies."""

_TITLE = re.compile(
    r"""(?P<label> \s* (?: \S+ [:\]] \s? )? ) (?P<hash> \# )? \s*
    (?: OSU | OMB-Py ) \s+ (?P<name> \S.*? ) \s+ Test
    (?: \s+ (?: v | \(Version\  )? (?P<version> [0-9]+ [0-9.]* \S*? ) \)? )? \s*""",
    re.VERBOSE,
)
_SIZED_HEADS = re.compile(r"[#\s]*Size\b.*", re.DOTALL)
_SIZELESS_HEADS = re.compile(r"[#\s]*(?:Avg |Overall|Latency)\s?\S*\(us\).*")
_SIZE_OPTION = re.compile(r"\s(?:-m|--message-size)[ =](?:([0-9]{1,15}):)?([0-9]{1,15})(?=\s|$)")
_ASKED = re.compile(r"\bosu_\w+.*?" + _SIZE_OPTION.pattern)
_LIMITED = re.compile(r"Limiting max message size to: ([0-9]{1,15})")
_DATATYPE = re.compile(r"# Datatype: (MPI_\w{1,30})\b")
_PAIRS = re.compile(r"\[ pairs: ([0-9]{1,9}) \](?: \[ window size: (varied) \])?")
_WINDOWS = re.compile(r"#(?:\s+[0-9]{1,6}){2,64}")
_GRAPH = "Time took to create topology"
"""The beginning of a line that benchmarks of neighbours print before their title."""
_OF_NEIGHBOURS = ("neighborhood", "non-blocking neighborhood")
_DEVICE = re.compile(r"-(cuda|rocm|openacc)\b", re.IGNORECASE)
_BUFFERS = re.compile(r"# (?:Send Buffer|Rank 0 Memory) on \w+ \(([HDM])\) and [ \w]+ on \w+ \(([HDM])\)")
_TELLS_DEVICE = 7  # the first version whose titles name a device only if it is used
_ONE_SIDED = re.compile(r"# (Window|Synchronization)(?: creation)?: (\S.{0,60})")
_FAN_KEY = "bandwidth"
_FAN_CURE = "; those of osu_bw_fan_in and osu_bw_fan_out are like that, so read it as osu.bw_fan_in or _out"
_TO_AND_FRO = frozenset({"latency", "latency persistent", "multi latency"})
_WINDOW = 64  # messages sent before the sender waits for an answer (osu_bw.c, WINDOW_SIZE_LARGE)
_MESSAGES_A_TIME = {
    **dict.fromkeys(_TO_AND_FRO, 2),
    **dict.fromkeys(("bandwidth", "bi-directional bandwidth"), _WINDOW),
}
"""The least number of messages that a node sends and receives in each repetition, if more than one."""
_NUMBER = r"[0-9][-+0-9.*]*+(?=\s)"
_SIEVE = Sieve(
    r"[^\S\n]*+(?:(?:[^\s:\]]*+[:\]])++[^\S\n]*+)?(?:" + _NUMBER + r"|DATA VALI|FAILED:|(?:#|[^\S\n])*+"
    r"(?:OSU|OMB-Py|Size|Avg|Overall|Latency|\[ |Datatype|Send Buffer|Rank 0 Mem|Window|Synchronization"
    r"|Message Rate|Time took)|#[^\S\n]*+[0-9])",
    "osu_",
    "Limiting max",
    rows=r"[^\S\n]*+" + _NUMBER,
)
"""Rows, titles, heads and facts, each after the label that it may have."""
_NOTHING = frozenset({"", "0.00", "0.000000"})
"""Cells that are no figures: those not printed, and times and rates too small for their decimals."""
_NOT_IN_ROWS = "the heads name it, and the rows lack it"
"""Why a percentile of osu_multi_lat is not measured: some versions name it and do not print it."""
_LONGEST_ROW = 2000
_LONGEST_HEAD = 60
_ROW_OF_ANY = re.compile(r"\s*[0-9]{1,15}(?:\s+[0-9]{1,15}\.[0-9]{2}){1,8}")
"""A row of a table of any benchmark."""
_NUMBER_LIKE = re.compile(r"[-+0-9.,'*]+(?:e[-+]?[0-9]+)?|-?(?:nan|inf)", re.IGNORECASE)


@functools.lru_cache(maxsize=256)
def _meant(head: str) -> str | None:
    """Return the known head of a column of which `head` seems to be a garbled form."""
    import difflib

    if is_figure(head):
        return None
    return next(iter(difflib.get_close_matches(head[:_LONGEST_HEAD], COLUMNS, n=1)), None)


@functools.lru_cache(maxsize=256)
def benchmark_key(title: str) -> str:
    """Return the part of a title that names the benchmark, in one spelling for all versions and devices."""
    name = re.sub(r"-(?:cuda|openacc|rocm|managed|cxl)\b(?: managed)?", "", title.lower())
    name = name.replace("personalized exchange ", "").replace("nonblocking", "non-blocking")
    name = re.sub(r"\s+", " ", name.replace("alltoall", "all-to-all"))
    return name.removeprefix("mpi ").removeprefix("one sided ")


class OsuLog(LogParser):
    """Collects the tables of one benchmark from a log, line by line."""

    banner = Banner("Test v", r"OSU .* Test v([0-9][0-9.]*)")
    finds_aborts = True
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], expected: Expectation) -> None:
        foms = tuple(foms)
        super().__init__(foms)
        self._expected = expected
        self._foms = frozenset(fom.name for fom in foms)
        self._tables: list[Table] = []
        self._open: Table | None = None
        self._asked: Sizes | None = None
        self._limit: int | None = None
        self._is_of_neighbours = False
        self._has_title = False
        """Whether the title of any benchmark was read."""
        self._n_other_heads = 0
        """How many tables stand below the last title, if it is that of another benchmark."""
        self._start = TornStart(_ROW_OF_ANY)

    def read(self, line: str) -> None:
        """Read one line, or several that may be rows of the open table, with line ends between them."""
        if "\n" not in line:
            self._read_line(line)
        elif self._open is None or not self._has_read_rows(self._open, line):
            for one in line.split("\n"):
                self._read_line(one.rstrip())

    def _read_line(self, line: str) -> None:
        """Read one line: title, heads, row, or a message between them."""
        table = self._open
        if table is not None:
            if table.label and line.startswith(table.label):
                line = line[len(table.label) :]
            first = line.lstrip()[:1]
            if first.isdigit():
                self._read_row(table, line)
                return
            # Before version 7, the heads of a non-blocking barrier begin with "Overall(us)" and without "#".
            if first in {"#", "S", "O"} and self._read_heads(table, line):
                return
            if first in {"#", "["}:
                self._read_fact(table, line)
            elif line.startswith(("DATA VALIDATION ERROR", "FAILED:")):
                self._findings.problem(f"OMB found wrong data: {line.strip()}")
        if table is None and self._has_title and "#" in line[:40]:
            self._read_heads_of_others(line)
        if "Test" in line and ("OSU " in line or "OMB-Py" in line):
            self._n_other_heads = 0
            self._read_title(line)
        elif not self._has_title and (fault := self._start.fault(line)):
            self._findings.problem(fault)
        elif "osu_" in line or "Limiting max" in line or _GRAPH in line:
            self._read_word(line)

    def _read_word(self, line: str) -> None:
        """Read a line outside of tables: a command, a limit on sizes, or that neighbours were chosen."""
        if "osu_" in line:
            if _SIZE_OPTION.search(line) and (asked := _ASKED.search(line)):
                self._asked = Sizes(int(asked[1] or self._expected.least), int(asked[2]))
        elif limited := _LIMITED.search(line):
            self._limit = int(limited[1])
            if self._open is not None and not self._open.rows:
                self._open.limit = self._limit
        elif _GRAPH in line:
            self._is_of_neighbours = True

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end; a row is whole if it ends in two decimals or in Pass."""
        table = self._open
        if table is None or not line.removeprefix(table.label).lstrip()[:1].isdigit():
            return
        rows = table.rows_in(line.removeprefix(table.label))
        last = table.heads[-1] if table.heads else ""
        if rows and (is_figure(last) or rows[0][-1] in VALID):
            table.lacks_end = True
            self.read(line)
        else:
            table.is_cut = True

    def _read_title(self, line: str) -> None:
        title = _TITLE.fullmatch(line)
        if title is None or not (title["hash"] or title["version"]):
            return
        self._has_title = True
        major = (title["version"] or "").partition(".")[0]
        version = int(major) if major.isdecimal() else None
        key = benchmark_key(title["name"])
        if self._is_of_neighbours and not key.startswith(_OF_NEIGHBOURS):
            key = f"{_OF_NEIGHBOURS[0]} {key}"  # osu_neighbor_alltoallw has the title of osu_alltoallw
        self._is_of_neighbours = False
        self._open = None
        if key == self._expected.key:
            label = title["label"] if title["label"].strip() else ""
            self._open = self._new_table(key, label, version)
            if device := _DEVICE.search(title["name"]):
                self._open.device = device[1].lower()
                self._open.facts |= {"device": device[1].lower()} if (version or 0) >= _TELLS_DEVICE else {}
        self._asked = self._limit = None

    def _new_table(self, key: str, label: str, version: int | None) -> Table:
        table = Table(key, len(self._tables) + 1, label, version, self._asked, limit=self._limit)
        self._tables.append(table)
        self._findings.begin()
        return table

    def _following(self, table: Table) -> Table:
        """Return a new table under the title of `table`, the last table."""
        following = self._new_table(table.key, table.label, table.version)
        following.asked, following.limit, following.device = table.asked, table.limit, table.device
        following.facts = dict(table.facts)
        return following

    def _read_heads(self, table: Table, line: str) -> bool:
        expected = self._expected
        heads = _SIZED_HEADS if expected.has_sizes else _SIZELESS_HEADS
        if not heads.match(line):
            return False
        if table.rows:  # those of another data type (-T) stand below a line that names it
            self._findings.mixed("a second table stands below one title")
            table = self._open = self._following(table)
        if expected.is_fan:
            line = line.replace("Avg Latency(us)", "Bandwidth (MB/s)").replace(
                "Tail Lat(us)", "Tail BW(MB/s)"
            )
        table.read_heads(line, has_sizes=expected.has_sizes)
        for name in table.heads:
            if near := _meant(name[:64]):  # an unknown column is ignored, but a garbled head is a problem
                self._findings.problem(f"{self._name(table)} has a column {name!r}, which may be {near!r}")
        if len(set(table.heads)) < len(table.heads):  # OMB prints the percentile 99.9 as P99
            self._findings.problem(
                f"{self._name(table)} has two columns of one name; use whole percentiles: {line.strip()}"
            )
        if not any(COLUMNS.get(name) == expected.main for name in table.heads):
            cure = "" if "avg latency(us)" not in table.heads or table.key != _FAN_KEY else _FAN_CURE
            self._findings.problem(f"{self._name(table)} has unknown columns: {line.strip()}{cure}")
            table.pattern = None
        return True

    def _read_heads_of_others(self, line: str) -> None:
        """Read heads below the title of another benchmark; a second table there has lost its own title."""
        if "Datatype" in line:
            self._n_other_heads = 0
        elif "Size" in line and COLUMNS.keys() & set(split_heads(line)):
            self._n_other_heads += 1
            if self._n_other_heads > 1:
                self._findings.mixed("a second table stands below the title of another benchmark")

    def _read_fact(self, table: Table, line: str) -> None:
        """Read a line between a title and its heads; a new data type begins a new table."""
        if "Datatype" in line and (datatype := _DATATYPE.search(line)):
            if table.rows:
                self._open = table = self._following(table)
            table.facts["datatype"] = datatype[1]
        elif "pairs:" in line and (pairs := _PAIRS.search(line)):
            table.facts["pairs"] = int(pairs[1])
            table.windows = () if pairs[2] else None
        elif table.windows is not None and (_WINDOWS.fullmatch(line) or "Message Rate" in line):
            self._read_windows(table, line)
        elif " on " in line and (buffers := _BUFFERS.match(line.lstrip())):
            table.facts["buffers"] = f"{buffers[1]} {buffers[2]}"
            if table.device and table.facts["buffers"] != "H H":
                table.facts["device"] = table.device
        elif one_sided := _ONE_SIDED.match(line):
            table.facts[one_sided[1].lower()] = one_sided[2]

    def _read_windows(self, table: Table, line: str) -> None:
        """Read the heading of the message rates, or the heads with the windows, which stand there twice."""
        if "Message Rate" in line:
            if table.rates is not None:
                self._findings.mixed("a second heading of message rates of one table")
            table.rates = []
        elif not table.windows:
            table.read_windows(line)
        elif table.windows != tuple(map(int, line[1:].split())):
            self._findings.mixed("the windows of message rates are not those of the bandwidths")

    def _has_read_rows(self, table: Table, lines: str) -> bool:
        """Add `lines` to the table, if all are rows of it, and report those whose data were wrong."""
        rows = table.rows_in(lines)
        if not rows:
            return False
        table.add(rows, lines)
        self._findings.keep(table.n_figures * len(rows))
        if table.validation is not None:
            for row, line in zip(rows, lines.split("\n"), strict=True):
                if row[table.validation] not in VALID:
                    self._findings.problem(
                        f"{self._name(table)} has a row that failed its validation: {line.strip()}"
                    )
        return True

    def _read_row(self, table: Table, line: str) -> None:
        if table.pattern is None or self._has_read_rows(table, line):
            return
        words, width = line[:_LONGEST_ROW].split(), len(table.heads)
        is_joined = width > 1 and len(words) > width and len(words) % width == 0
        is_next = table.rows and words[0].isdecimal() and int(words[0]) == (2 * int(table.rows[-1][0]) or 1)
        if (len(words) == width or is_joined or is_next) and all(map(_NUMBER_LIKE.fullmatch, words)):
            self._findings.problem(f"{self._name(table)} has a broken row: {' '.join(words)[:200]}")

    def parsed(self) -> Parsed:
        """Return the rows as measurements; they are complete if all expected sizes are there."""
        findings, expected = self._findings, self._expected
        if not self._tables:
            findings.problem(f"the output holds no table 'OSU MPI {expected.key.title()} Test'")
        faults = [
            f"{self._name(table)} {fault}" for table in self._tables for fault in table.faults(expected)
        ]
        findings.problems(faults)
        points = coordinates([table.facts for table in self._tables])
        for table, at in zip(self._tables, points, strict=True):
            findings.record_facts(**table.facts)
            if table.windows:
                self._measure_windows(table, table.windows, at)
                continue
            self._measure(table, at)
            self._measure_small_mean(table, at)
        is_complete = bool(self._tables) and not faults
        n_times = expected.iterations or 1
        sizes = [size for table in self._tables for size in table.sizes] if expected.has_sizes else []
        payload = sum(sizes) * n_times * _MESSAGES_A_TIME.get(expected.key, 1)
        is_end_known = not expected.sweeps or all(expected.asked or table.asked for table in self._tables)
        return findings.parsed(
            is_complete=is_complete,
            payload_bytes=payload or None,
            n_messages=2 * n_times * len(sizes) if expected.key in _TO_AND_FRO else 0,
            is_end_known=is_end_known,
        )

    def _measure(self, table: Table, at: Mapping[str, Scalar]) -> None:
        figures = [one for one in table.figures() if one[1] in self._foms]
        has_sizes, measure = self._expected.has_sizes, self._findings.measure_at
        leave_out = self._findings.leave_out
        points = [{"bytes": size, **at} for size in table.sizes] if has_sizes else repeat(at)
        for row, point in zip(table.rows, points, strict=False):
            for column, fom, which in figures:
                cell, where = row[column], {**point, **which} if which else point
                if cell not in _NOTHING or fom == "overlap":
                    measure(fom, float(cell), where)
                else:
                    leave_out(fom, too_small(cell) if cell else _NOT_IN_ROWS, where)

    def _measure_windows(self, table: Table, windows: Iterable[int], at: Mapping[str, Scalar]) -> None:
        for fom, rows in (("bandwidth", table.rows), ("message_rate", table.rates or ())):
            for size, *values in rows:
                for window, value in zip(windows, values, strict=True):
                    point = {"bytes": int(size), "window_size": window, **at}
                    if value in _NOTHING:
                        self._findings.leave_out(fom, too_small(value), point)
                    else:
                        self._findings.measure_at(fom, float(value), point)

    def _measure_small_mean(self, table: Table, at: Mapping[str, Scalar]) -> None:
        if SMALL_MEAN not in self._foms:
            return
        column = next((column for column, fom, _ in table.figures() if fom == "latency"), 0)
        rows = dict(zip(table.sizes, table.rows, strict=True))
        latencies = [float(rows[size][column]) for size in SMALL_SIZES if size in rows]
        if len(latencies) < len(SMALL_SIZES):
            return
        if all(latencies):
            self._findings.measure(SMALL_MEAN, round(sum(latencies) / len(latencies), 6), **at)
        else:
            self._findings.leave_out(SMALL_MEAN, "one of the latencies of its mean is printed as 0.00", at)

    def _name(self, table: Table) -> str:
        which = f"table {table.run}" if len(self._tables) > 1 else "the table"
        return f"{which} of {self._expected.key}"
