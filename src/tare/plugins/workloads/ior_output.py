"""Read IOR's output: rows and summaries of its tests as text of all versions, or JSON (see ior_json).

A row, the line of the best rate, and the beginning of a summary::

    write     7120       7121       0.042952    1048576    1024.00    0.604956   44.61      0.590920   44.61
    Max Write: 7119.75 MiB/sec (7360.75 MB/sec)
    Summary of all tests:
    Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs) …
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import Banner, coordinates, run_number
from tare.plugins.workloads.common.left_out import UNKNOWN_COLUMN, too_small
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.text import aborts, figure
from tare.plugins.workloads.ior_checks import (
    ROW_COLUMNS,
    SUMMARY_COLUMNS,
    contradiction,
    is_cut,
    is_sorted,
    unknown_columns,
)
from tare.plugins.workloads.ior_json import TASK_OFFSETS, TIMES, Document, JsonReader

_MAX = re.compile(r"Max (Write|Read):\s+(\S+) MiB/sec \(\S+ MB/sec\)")

_REPETITIONS = re.compile(r"\s*repetitions\s*[=:]\s*([0-9]{1,6})")

_OPTION = re.compile(
    r"\s*(api|nodes|tasks|clients per node|clients|access|type|segments|ordering in a file"
    r"|ordering inter file|xfersize|transfersize|blocksize|transfer size|block size)\s*[=:]\s+(\S.*)"
)

_SIZES = {"xfersize": "transfer", "transfersize": "transfer", "transfer size": "transfer",
          "blocksize": "block", "block size": "block"}  # fmt: skip

_COUNTS = {"nodes": "nodes", "tasks": "ranks", "clients per node": "ranks_per_node", "segments": "segments"}

_SIZE = re.compile(r"([0-9]{1,15}) (bytes|KiB|MiB|GiB|TiB)")

_POWERS = {"bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}

_API_VERSION = re.compile(r"-[0-9][0-9.]*$")
"""The version that IOR 2 appends to the name of an interface: ``HDF5-1.8.16 (Parallel)``."""

_CLIENTS = re.compile(r"([0-9]{1,9}) \(([0-9]{1,9}) per node\)")

_TEST = re.compile(r"(?:TestID\s*: |Test )([0-9]{1,6})")

_IO500 = re.compile(r"\./ior .*(?:dataPacketType|stoneWallingStatusFile)")

_MOVING = ("write", "read")

_NOTHING = ("-", "NA")
"""What stands for a value that is missing."""

_ERROR_WORDS = ("ERROR", "ior ERROR", "** error")


@dataclasses.dataclass
class _Test:
    """One test: its rows by direction, and the figures of its summary by direction and figure of merit."""

    number: int
    repetitions: int | None = None
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    rows: dict[str, list[Mapping[str, float]]] = dataclasses.field(default_factory=dict)
    summary: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)

    @property
    def n_figures(self) -> int:
        return sum(len(row) for rows in (*self.rows.values(), self.summary.values()) for row in rows)


@dataclasses.dataclass
class _Run:
    tests: dict[int, _Test] = dataclasses.field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    is_library: bool = False
    is_finished: bool = False

    def test(self, number: int) -> _Test:
        return self.tests.setdefault(number, _Test(number))

    @property
    def last_test(self) -> _Test | None:
        return next(reversed(self.tests.values()), None)

    def faults(self) -> Iterator[str]:
        if not self.is_finished and not self.is_library:
            yield "the output lacks IOR's closing line; the run did not come to its end"
        for test in self.tests.values():
            for direction in sorted(self.asked - test.rows.keys()):
                yield f"test {test.number} of IOR has no result of its {direction}"
            for direction, rows in test.rows.items():
                if direction == "remove":
                    if test.repetitions is not None and len(rows) > test.repetitions:
                        yield f"test {test.number} of IOR has {len(rows)} of {test.repetitions} removes"
                    continue
                if test.repetitions is not None and len(rows) != test.repetitions:
                    yield f"test {test.number} of IOR has {len(rows)} of {test.repetitions} {direction}s"
                if "bandwidth" in test.summary.get(direction, {}) and len(rows) == test.repetitions:
                    yield from self._contradictions(test, direction)
                if self.is_finished and "bandwidth" not in test.summary.get(direction, {}):
                    yield f"test {test.number} of IOR has no summary of its {direction}"

    @staticmethod
    def _contradictions(test: _Test, direction: str) -> Iterator[str]:
        if what := contradiction(test.rows[direction], test.summary[direction]):
            yield f"the summary of test {test.number} of IOR is not that of its {direction}s: {what}"


class IorLog(LogParser):
    """Collects the runs in a log, line by line."""

    banner = Banner("IOR-", r"\bIOR-(\S+): MPI Coordinated Test")

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[_Run] = []
        self._columns: list[str] = []
        self._is_summary = False
        self._json = JsonReader()
        self._hint = ""
        """What to do about an output without results, if it shows that."""

    def read(self, line: str) -> None:
        """Read one line."""
        if (self._json.is_open or line == "{") and (document := self._json.read(line)):
            self._begin(_run_of(document))
        if line.startswith(("write ", "read ", "remove ")):
            self._read_row(line.split())
        elif line.startswith(("access ", "Operation ")) and " : " not in line:
            self._read_heads(line)
        elif (
            line.startswith(_ERROR_WORDS)
            or "ncorrect data on" in line  # the data read differ from the data written
            or "FAILED comparison" in line
        ):
            self._findings.problem(f"IOR printed: {' '.join(line.split())[:200]}")
        elif line.startswith("access,bw(MiB/s)"):
            self._hint = "; its CSV has no settings and no end, so write JSON (-O summaryFormat=JSON)"
        elif line.startswith("IOR-") and "Coordinated Test" in line:
            self._begin(_Run())
            self._columns = []
        elif "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")
        elif self._runs and line[:1] in "CTMFRSrantcsxbo\t":
            self._read_option(self._runs[-1], line)

    def _read_heads(self, line: str) -> None:
        self._is_summary = line[0] == "O"
        heads = line.partition(" Op grep ")[0]  # in version 2, the rows have no such columns
        self._columns = heads.replace(" (", "(").replace("Std Dev", "StdDev").split()
        if is_cut(self._columns):
            self._findings.problem(
                "the heads of IOR's table are cut short, as where a terminal or a log wrapped the lines: "
                f"{' '.join(self._columns)[:200]}"
            )
            self._columns = []
        for one in unknown_columns(self._columns):
            if one.meant:
                self._findings.problem(f"IOR's table has a column {one.name!r}, which may be {one.meant!r}")
            else:
                self._findings.leave_out(f"IOR's column {one.name}", UNKNOWN_COLUMN, {})

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end: only a closing brace is whole."""
        if line == "}":
            self.read(line)

    def _begin(self, run: _Run) -> None:
        self._runs.append(run)
        self._findings.begin()
        self._findings.keep(sum(test.n_figures for test in run.tests.values()))

    def _read_option(self, run: _Run, line: str) -> None:
        if line.startswith(("Finished", "Run finished: ")):
            run.is_finished = True
        elif line.startswith("Command line"):
            run.asked = _directions(line)
            run.is_library = _IO500.search(line) is not None
        elif match := _MAX.fullmatch(line):
            value = figure(match[2])
            if value is not None and (test := run.last_test):
                test.summary.setdefault(match[1].lower(), {}).setdefault("bandwidth_max", value)
        elif match := _TEST.match(line):
            run.test(int(match[1]))
            self._findings.begin()
        elif line == "Summary:" and ((last := run.last_test) is None or last.summary):
            run.test(len(run.tests))
        elif (match := _REPETITIONS.fullmatch(line)) and (test := run.last_test):
            test.repetitions = int(match[1])
            test.facts["repetitions"] = test.repetitions
        elif (match := _OPTION.fullmatch(line)) and (test := run.last_test) and not test.rows:
            test.facts |= _facts(match[1], match[2])

    def _read_row(self, words: list[str]) -> None:
        is_row = words[1:2] == ["-"] or figure(words[1] if len(words) > 1 else "") is not None
        if not self._runs or not self._columns or not is_row:
            return
        run, direction = self._runs[-1], words[0]
        if self._is_summary and words[-1] == "EXCEL":  # version 2 ends its rows with it
            words = words[: len(self._columns)]
        if len(words) != len(self._columns):
            self._findings.problem(f"IOR's table has a broken row: {' '.join(words)[:200]}")
            return
        row = dict(zip(self._columns, words, strict=True))
        columns = SUMMARY_COLUMNS if self._is_summary else ROW_COLUMNS
        cells = (row[name] for name in columns if name in row)
        is_broken = any(figure(cell) is None and cell not in _NOTHING for cell in cells)
        if is_broken or (self._is_summary and not is_sorted(row)):
            self._findings.problem(f"IOR's table has a broken row: {' '.join(words)[:200]}")
            return
        self._findings.keep(len(words))
        if run.is_finished:
            self._findings.mixed("rows of IOR after the end of their run")
        for column, fom in columns.items() if direction in _MOVING else ():
            if row.get(column) in _NOTHING:
                self._findings.leave_out(fom, f"IOR prints {row[column]} for it", {"operation": direction})
        if self._is_summary:
            last = run.last_test.number if run.last_test else 0
            number = int(row["Test#"]) if row.get("Test#", "").isdigit() else last
            summary = run.test(number).summary.setdefault(direction, {})
            if "bandwidth" in summary:
                self._findings.mixed(f"two summaries of the {direction}s of one test of IOR")
            summary.update(_figures(row, SUMMARY_COLUMNS))
        else:
            test = run.last_test or run.test(0)
            test.rows.setdefault(direction, []).append(dict(_figures(row, ROW_COLUMNS)))

    def parsed(self) -> Parsed:
        """Return the figures of all tests."""
        runs = self._runs
        self._json.finish()
        faults = [self._json.fault] if self._json.fault else []
        faults += [fault for run in runs for fault in run.faults()]
        if not any(test.rows for run in runs for test in run.tests.values()):
            faults.insert(0, f"the output holds no result of IOR{self._hint}")
        self._findings.problems(faults)
        for test, at in self._points():
            self._findings.record_facts(**test.facts)
            self._measure(test, at)
        is_end_known = not any(run.is_library and not run.is_finished for run in runs)
        return self._findings.parsed(is_complete=not faults, is_end_known=is_end_known)

    def _points(self) -> Iterator[tuple[_Test, dict[str, Scalar]]]:
        """Yield every test with its coordinates: settings that differ, and numbers if settings repeat."""
        tests = [test for run in self._runs for test in run.tests.values()]
        numbers = [
            run_number(number, len(self._runs)) | ({"test": test.number} if len(run.tests) > 1 else {})
            for number, run in enumerate(self._runs, start=1)
            for test in run.tests.values()
        ]
        for test, point, number in zip(
            tests, coordinates([one.facts for one in tests]), numbers, strict=True
        ):
            is_repeated = point.pop("run", None) is not None
            yield test, {**point, **number} if is_repeated else point

    def _measure(self, test: _Test, at: Mapping[str, Scalar]) -> None:
        for direction, rows in test.rows.items():
            which = {"operation": direction, **at}
            for number, row in enumerate(rows):
                point = {**which, "iteration": number} if len(rows) > 1 else which
                for fom, value in row.items():
                    if value or fom not in TIMES:
                        self._findings.measure_at(fom, value, point)
                    else:
                        self._findings.leave_out(fom, too_small("0"), point)
            for fom, value in _overall(rows, test.summary.get(direction, {})):
                self._findings.measure_at(fom, value, which)


def _facts(option: str, value: str) -> dict[str, Scalar]:
    """Return the setting in a line of IOR's options, by the name of the workload's parameter."""
    word = value.split()[0]
    if option in _COUNTS and value.isdecimal() and len(value) < _MOST_DIGITS:
        return {_COUNTS[option]: int(value)}
    if option in _SIZES and (size := _SIZE.fullmatch(value)):
        return {_SIZES[option]: int(size[1]) << _POWERS[size[2]]}
    if option == "clients" and (clients := _CLIENTS.fullmatch(value)):
        return {"ranks": int(clients[1]), "ranks_per_node": int(clients[2])}
    if option == "access" and word in {"file-per-process", "single-shared-file"}:
        return {"file_per_process": word == "file-per-process"}
    if option == "type" and word in {"independent", "collective"}:
        return {"collective": word == "collective"}
    if option == "ordering inter file" and word in TASK_OFFSETS:
        return {"task_offset": TASK_OFFSETS[word]}
    if option == "ordering in a file" and word in {"sequential", "random"}:
        return {"random": word == "random"}
    return {"api": _API_VERSION.sub("", word).upper()} if option == "api" else {}


_MOST_DIGITS = 10


def _run_of(document: Document) -> _Run:
    run = _Run(asked=_directions(document.command), is_finished=True)
    for one in document.tests:
        test = run.test(one.number)
        test.repetitions = one.repetitions
        test.facts |= {} if one.repetitions is None else {"repetitions": one.repetitions}
        test.facts |= one.facts | ({"program_version": document.version} if document.version else {})
        for direction, figures in one.rows():
            test.rows.setdefault(direction, []).append(figures)
    for summary in document.summary:
        run.test(summary.test).summary[summary.operation] = summary.figures()
    return run


def _directions(command: str) -> frozenset[str]:
    """Return the directions that a command line of IOR selects."""
    words = command.replace('"', " ").split()
    return frozenset(name for name, flag in (("write", "-w"), ("read", "-r")) if flag in words)


def _figures(row: Mapping[str, str], columns: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the figures in `row`; ``-`` and ``NA`` stand for missing values."""
    for column, fom in columns.items():
        value = figure(row.get(column, ""))
        if value is not None:
            yield fom, value


def _overall(rows: list[Mapping[str, float]], summary: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the figures over all repetitions: those of the summary, or else those of the only row."""
    yield from summary.items()
    if len(rows) == 1:
        bandwidth = summary.get("bandwidth_max", rows[0].get("row_bandwidth"))
        for fom, value in (("bandwidth", bandwidth), ("iops", rows[0].get("row_iops"))):
            if fom not in summary and value is not None:
                yield fom, value
