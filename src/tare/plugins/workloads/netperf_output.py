"""Read the output of netperf 2.4 to 2.7: tables, and the CSV (-o) and keyval (-k) of its omni tests.

nettest_bsd.c defines the classic tables, nettest_omni.c the names in CSV and keyval. The tables of omni tests
(-O) use the names of CSV, each broken into several lines above its column.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.netperf_names import MBIT, NAMES, SIZES, cut_values, damaged_names

_RESULTS = frozenset({"throughput", "transactions"})  # a test without one of these has no result

_TITLE = re.compile(r"(?:MIGRATED )?(?P<test>(?:TCP|UDP|SCTP)[ _A-Za-z/0-9]{0,40}?) TEST (?:from|to) ")
_BURST = re.compile(r" : first burst ([1-9][0-9]{0,8})\b")
"""How many requests are under way besides the last one (-b), where it is not one at a time."""
_KEYVAL = re.compile(r"([A-Z][A-Z0-9_]+)=(.*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?")
"""What netperf prints; a number with a zero before its digits is the rest of another one."""
_COMPLAINT = re.compile(r"netperf: \w+: .* (?:failed|error)|send_data: |establish control: are you sure")
_MOST_HEAD_LINES = 8
_MOST_DIGITS = 12  # of a size
_N_PROCESSORS = len(("% local", "% remote", "us local", "us remote"))
_UNKNOWN = -1.0
"""What netperf prints for a value that it does not know."""
_NAMES_OF_CSV = re.compile(r"[A-Z]\w* ?\w*[^,]*,")
_NAME_OF_PERCENTILE = re.compile(r"[0-9]{1,2}th ")
_UNIT = re.compile(r"10\^[369]bits/s|[KMG]?Bytes */s")
_LONG = {
    "REQUEST/RESPONSE": "RR",
    "CONNECT/REQUEST/RESPONSE": "CRR",
    "CONNECT/REQUEST": "CC",
    "UNIDIRECTIONAL_SEND": "STREAM",  # UDP_STREAM, before it became an omni test
}


def test_name(title: str) -> str:
    """Return the name of a test as in netperf's option -t, such as ``TCP_RR``."""
    protocol, _, kind = title.upper().replace(" ", "_").partition("_")
    return f"{protocol}_{_LONG.get(kind, kind)}"


@dataclasses.dataclass
class _Result:
    """The result of one test: figures with their percentiles, faults and settings."""

    test: str | None
    figures: list[tuple[str, float, float | None]] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    values: dict[str, str] = dataclasses.field(default_factory=dict)


def _faults(result: _Result, known: set[str]) -> Iterator[str]:
    found = {fom for fom, _, _ in result.figures}
    if result.faults:
        yield from result.faults
    elif not found & _RESULTS:
        yield "netperf's result is missing"
    elif not found & known:
        yield "the output is that of another kind of test"


class NetperfLog(LogParser):
    """Collects the tests of a log, in order, and reports those of kind `test`."""

    def __init__(self, foms: Iterable[Fom], test: str) -> None:
        foms = tuple(foms)
        super().__init__(foms)
        self._test = test
        self._known = {fom.name for fom in foms}
        self._results: list[_Result] = []
        self._heads: list[str] = []
        self._table: _Table | None = None
        self._has_nameless_row = False
        self._above: list[str] = []
        """The lines above a table of an omni test, after its title."""

    def read(self, line: str) -> None:
        """Read one line."""
        first = line.lstrip()[:1]
        if first.isdigit() or (first == "-" and self._heads):
            if self._above and self._table is None and not self._heads:
                self._read_omni(line)
            else:
                self._read_numbers(line.strip())
        elif " TEST " in line and (title := _TITLE.search(line)) is not None:
            self._flush()
            self._begin(test_name(title["test"]))
            self._above = [""]
            if (burst := _BURST.search(line)) is not None:
                self._results[-1].facts["burst"] = int(burst[1])
        elif "=" in line and (pair := _KEYVAL.fullmatch(line.strip())) is not None:
            self._read_pair(pair[1], pair[2])
        elif self._results and _COMPLAINT.match(line):
            self._results[-1].faults.append(f"netperf printed: {line[:200]}")
            self._findings.keep()
        elif "," in line or self._heads:
            self._read_names(line)
        elif first:
            self._read_head(line)

    def _read_head(self, line: str) -> None:
        """Read a line above a table, or a line that is not from netperf.

        With -v 2, tables of alignments, calls and round trips follow that of the result.
        """
        if line.startswith("Alignment "):
            self._table, self._above = None, []
        if "bits/s" in line or "Bytes" in line or "per sec" in line:
            self._table = _Table.of(line) or self._table
        if 0 < len(self._above) <= _MOST_HEAD_LINES:
            self._above.append(line)

    def parsed(self) -> Parsed:
        """Return the figures of all tests of this kind, with coordinates that distinguish them."""
        self._flush()
        findings = self._findings
        results = [result for result in self._results if result.test in {None, self._test}]
        if not results:
            findings.problem(f"the output holds no result of {self._test}")
            if self._has_nameless_row:
                findings.problem("a row of CSV has no names above it; run netperf without -P 0")
        faults = [fault for result in results for fault in _faults(result, self._known)]
        points = coordinates([result.facts for result in results])
        for result, which in zip(results, points, strict=True):
            findings.record_facts(**result.facts)
            for fom, value, percentile in result.figures:
                at: dict[str, Scalar] = {} if percentile is None else {"percentile": percentile}
                if fom in self._known and value == _UNKNOWN:
                    findings.leave_out(fom, "netperf prints -1 for what it does not know", {**at, **which})
                elif fom in self._known:
                    findings.measure(fom, value, **at, **which)
        findings.problems(faults)
        return findings.parsed(is_complete=bool(results) and not faults)

    def _last(self) -> _Result:
        """Return the test to which a line belongs; without a title (-P 0), its kind is unknown."""
        if not self._results:
            self._begin(None)
        return self._results[-1]

    def _begin(self, test: str | None) -> None:
        self._results.append(_Result(test))
        self._findings.begin()

    def _flush(self) -> None:
        if self._results and self._results[-1].values:
            values, self._results[-1].values = self._results[-1].values, {}
            self._take(values)
        self._heads, self._table, self._above = [], None, []

    def _take(self, values: Mapping[str, str]) -> None:
        result, figures = self._last(), list(_figures(values))
        sizes = {SIZES[name]: value for name, value in values.items() if name in SIZES}
        result.facts |= _message({kind: value for kind, value in sizes.items() if value.isdecimal()})
        result.figures += figures
        result.faults += [*damaged_names(values), *cut_values(values)]
        result.faults += _disorder(figures)
        for name, value in values.items():
            if name in NAMES and value.strip() and not _NUMBER.fullmatch(value.strip()):
                result.faults.append(f"netperf's {name} is {value.strip()[:40]!r}, which is no number")
        has_result = any(fom in _RESULTS for fom, _, _ in figures)
        if not has_result and values.keys() & {"THROUGHPUT", "Throughput"} and not _unit(values):
            result.faults.append("netperf does not print the unit of its throughput (THROUGHPUT_UNITS)")

    def _read_pair(self, name: str, value: str) -> None:
        if self._results and name in self._results[-1].values:  # a new test without a title (-P 0)
            self._flush()
            self._begin(self._results[-1].test)
        if name in NAMES or name in SIZES or name in {"THROUGHPUT", "THROUGHPUT_UNITS"}:
            self._last().values[name] = value
            self._findings.keep()
        for fault in damaged_names([name]):
            self._last().faults.append(fault)
            self._findings.keep()

    def _read_names(self, line: str) -> None:
        """Read names of CSV; a long list of names may continue over several lines.

        A row that begins with a text, such as the type of socket, is recognised by its numbers.
        """
        if self._heads and _is_row(names := " ".join(self._heads).split(","), cells := _cells(line)):
            self._take(dict(zip(names, cells, strict=True)))
            self._findings.keep(len(names))
            self._heads = []
            return
        if self._heads or _NAMES_OF_CSV.match(line):
            self._heads.append(line.strip())
        if not line or len(self._heads) > 200:
            self._heads = []

    def _read_numbers(self, line: str) -> None:
        if self._heads and "," in line:
            names = " ".join(self._heads).split(",")
            cells = _cells(line)
            if "Percentile Latency Microseconds" in names[0] or not _NUMBER.fullmatch(line.split(",")[0]):
                self._read_names(line)  # a name that begins with a number
            elif len(cells) == len(names):
                self._take(dict(zip(names, cells, strict=True)))
                self._findings.keep(len(names))
                self._heads = []
            else:
                self._last().faults.append(
                    f"netperf's row has {count(len(cells), 'value')} instead of {len(names)}"
                )
                self._findings.keep()
                self._heads = []
        elif self._heads and _NAME_OF_PERCENTILE.match(line):
            self._read_names(line)
        elif self._heads:  # names do not begin with other numbers
            self._last().faults.append(f"netperf's row is broken: {line[:200]}")
            self._findings.keep()
            self._heads = []
        elif self._table is not None:
            self._last().faults += self._table.faults(line.split())
            for figure in self._table.figures(line.split()):
                if any(figure[0] == fom for fom, _, _ in self._last().figures):  # a table of several tests
                    self._begin(self._last().test)
                self._last().figures.append(figure)
                self._last().facts |= _message(self._table.sizes(line.split()))
        elif "," in line:
            self._has_nameless_row = True

    def _read_omni(self, line: str) -> None:
        """Read a row of an omni test's table, or a line of its head that begins with a digit."""
        names, cells = _names(tuple(self._above)), line.split()
        if not _NUMBER.fullmatch(cells[0]):
            self._read_head(line)
        elif len(names) == len(cells):
            self._take(dict(zip(names, cells, strict=True)))
            self._findings.keep(len(names))
            self._above = []


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # an overlong field
        return []


def _is_row(names: list[str], cells: list[str]) -> bool:
    """Return whether `cells` are values of the columns `names`: as many, and numbers where figures are."""
    if len(names) != len(cells):
        return False
    found = [cell for name, cell in zip(names, cells, strict=True) if name in NAMES or name == "Throughput"]
    return bool(found) and all(_NUMBER.fullmatch(cell.strip()) for cell in found)


@functools.lru_cache(maxsize=_MOST_HEAD_LINES)
def _names(above: tuple[str, ...]) -> list[str]:
    """Return the name above each column of a table, joined from its lines from top to bottom.

    Columns are separated by positions at which all lines have a blank.
    """
    width = max(map(len, above), default=0)
    lines = [line.ljust(width) for line in above]
    ends = [at for at in range(width) if all(line[at] == " " for line in lines)]
    blank = set(ends)
    starts = [0, *(at + 1 for at in ends if at + 1 < width and at + 1 not in blank)]
    columns = [[line[start:end].strip() for line in lines] for start, end in pairwise([*starts, width])]
    return [" ".join(filter(None, column)) for column in columns]


def _disorder(figures: list[tuple[str, float, float | None]]) -> Iterator[str]:
    """Yield a fault if the latencies of one result do not grow as they must."""
    found = {(fom, percentile): value for fom, value, percentile in figures if value != _UNKNOWN}
    for names in (
        [("latency_percentile", one) for one in (50.0, 90.0, 99.0)],
        [("latency_min", None), ("latency", None), ("latency_max", None)],
    ):
        latencies = [found[name] for name in names if name in found]
        if latencies != sorted(latencies):
            yield f"netperf's row contradicts itself: latencies of {', '.join(map(str, latencies))}"


def _message(sizes: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the size of messages as a setting, or one setting for each kind if the sizes differ."""
    found = {kind: int(size) for kind, size in sizes.items() if len(size) <= _MOST_DIGITS}
    if len(set(found.values())) == 1:
        return {"message_bytes": next(iter(found.values()))}
    return {f"{kind}_bytes": size for kind, size in found.items()}


def _unit(values: Mapping[str, str]) -> str:
    """Return the unit of an omni test's throughput; empty if the output does not contain it."""
    return values.get("THROUGHPUT_UNITS", values.get("Throughput Units", "")).strip()


def _figures(values: Mapping[str, str]) -> Iterator[tuple[str, float, float | None]]:
    throughput, unit = values.get("THROUGHPUT", values.get("Throughput", "")), _unit(values)
    if _NUMBER.fullmatch(throughput):
        if unit == "Trans/s":
            yield "transactions", float(throughput), None
        elif unit in MBIT:
            yield "throughput", float(throughput) * MBIT[unit], None
    has_rate = unit == "Trans/s" and _NUMBER.fullmatch(throughput) is not None
    for name, value in values.items():
        if name in NAMES and _NUMBER.fullmatch(value.strip()):
            fom, percentile = NAMES[name]
            if not (fom == "transactions" and has_rate):  # -o all prints the rate twice
                yield fom, float(value.strip()), percentile


@dataclasses.dataclass
class _Table:
    """A table of a classic test; the last line of its head identifies its kind."""

    kind: str
    factor: float = 1.0

    @classmethod
    def of(cls, heads: str) -> _Table | None:
        """Return the table below the line `heads`, or None if it is not the last line of a table's head."""
        words = heads.split()
        if [word.lower() for word in words[:5]] == [*["bytes"] * 4, "secs."] and "per sec" in heads:
            return cls("rate")
        if "usec/Tran" in words:
            return cls("round trip")
        unit = _UNIT.search(heads)
        if unit is None or words[:2] != ["bytes", "bytes"]:
            return None
        factor = MBIT.get(unit[0].replace(" ", ""), 0.0)
        return cls("datagrams" if "#" in words else "stream", factor)

    def figures(self, row: list[str]) -> Iterator[tuple[str, float, float | None]]:
        if not all(map(_NUMBER.fullmatch, row)):
            return
        if self.kind == "rate" and len(row) >= 6:
            yield "transactions", float(row[5]), None
            yield from self._processors(row[6:])
        elif self.kind == "round trip" and len(row) >= 6:
            yield "latency", float(row[4]), None
        elif self.kind == "stream" and len(row) >= 5:
            yield "throughput", float(row[4]) * self.factor, None
            yield from self._processors(row[5:])
        elif self.kind == "datagrams" and len(row) >= 6 and "." in row[2]:
            yield "throughput_sent", float(row[5]) * self.factor, None
        elif self.kind == "datagrams" and len(row) >= 4 and "." in row[1]:
            yield "throughput", float(row[3]) * self.factor, None

    def faults(self, row: list[str]) -> Iterator[str]:
        """Yield a fault for a row with some of the columns of processor use: one that was cut or wrapped."""
        n_columns = {"rate": 6, "stream": 5}.get(self.kind, len(row))
        if 0 < len(row) - n_columns < _N_PROCESSORS:
            yield f"netperf's row is cut short: {' '.join(row)[:200]}"

    def sizes(self, row: list[str]) -> dict[str, str]:
        """Return the message sizes in a row with figures, by kind of message."""
        columns = {"rate": {"request": 2, "response": 3}, "stream": {"send": 2}, "datagrams": {"send": 1}}
        wanted = columns.get(self.kind, {})
        found = {kind: row[column] for kind, column in wanted.items() if column < len(row)}
        return {kind: size for kind, size in found.items() if size.isdecimal()}

    @staticmethod
    def _processors(columns: list[str]) -> Iterator[tuple[str, float, float | None]]:
        """Yield the processor use of both sides, which -c and -C add before their time per unit."""
        if len(columns) == _N_PROCESSORS:
            yield "cpu_local", float(columns[0]), None
            yield "cpu_remote", float(columns[1]), None
