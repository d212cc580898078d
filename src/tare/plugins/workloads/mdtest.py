"""mdtest, metadata rates of a file system: `mdtest` (https://github.com/hpc/ior, src/mdtest.c).

A run prints a table of rates. Since 3.0 it may also print a table of times with the same row names. Rows of
operations that were not selected are zero. Versions differ in the title (``SUMMARY:``, ``SUMMARY rate:``,
``SUMMARY rate (in ops/sec):``), in a colon after the row name, and in columns for ranks before the usual
ones. Version 1.8 does not read files.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.row_widths import odd_rows, shape
from tare.plugins.workloads.common.text import aborts, figure

_TITLE = re.compile(r"SUMMARY(?: (rate|time))?(?: \(in [^)]*\))?: \(of ([0-9]{1,6}) iterations\)")
"""Times are seconds of all operations; versions after 4.0 say ``in ops/sec`` or ``in ms/op`` nonetheless."""
_VALUE = r"\s+(-?[0-9]+\.[0-9]{3}|\*+|-?nan|-?inf|NA)"
_ROW = re.compile(
    r"\s*((?:File|Directory|Tree) [a-z]+(?: \(stonewall\))?)\s*:?"
    rf"(?:(?:\s+[-+0-9.*]+|\s+-?nan|\s+-?inf|\s+NA){{3}})?{_VALUE}{_VALUE}{_VALUE}{_VALUE}"
)
_NEEDED = {
    "File": ("creation", "stat", "read", "removal"),
    "Directory": ("creation", "stat", "removal"),
    "Tree": ("creation", "removal"),
}
"""The rows that every version prints for each kind of entry that it tests; before 1.9 there are no reads."""
_HEADS = re.compile(r"\s+Operation\s+Max\s")
_LAUNCH = re.compile(r"mdtest-\S+ was launched with ([0-9]{1,9}) total task\(s\) on ([0-9]{1,9}) node\(s\)")
_UNDONE = re.compile(
    r"WARNING: .*\b(?:unable to (?:create|stat|read|open|write|rename|remove|delete|unlink)"
    r" (?:tree )?(?:directory|file)\b|rename\(\) of file .* failed)",
    re.IGNORECASE,
)
"""Warnings after which mdtest continues and counts the failed operation as done (mdtest.c, aiori-POSIX.c)."""
_BOTH = re.compile(r"""\s(["']?)-P\1(?=\s|$)""")
"""The option that prints the rates and the times; without it, one table is printed."""
_OVERFLOW = 14
"""The least characters of a figure that is wider than its column (mdtest.c, ``%14.3f``)."""
_LONG_S = 1000
"""A rate that is printed as 0.000 is of an operation that took longer, or was not selected."""
_TASKS = re.compile(r"([0-9]{1,9}) tasks, ([0-9]{1,15}) (?:files|directories|files/directories)")
_WITHOUT_READS = re.compile(r"mdtest-1\.[0-8]\b")

_DESCRIPTION = """\
Every rank makes `items` empty files (or directories) below the case's storage path, stats them, reads them
and removes them. With more than one node each rank stats and reads those of a rank on the next one, because
its own are in its node's cache. The mean rate over repetitions counts.

Build it from https://github.com/hpc/ior. Rates rise with the number of ranks until the metadata servers are
busy, so scale `ranks`. A run with verification errors does not count, whatever its table says."""


_OPTIONS = {
    "-n": "set items",
    "-I": "set items",
    "-i": "set repetitions",
    "-F": "set entries: files",
    "-D": "set entries: directories",
    "-w": "set file_size",
    "-e": "set file_size",
    "-u": "set unique: true",
    "-d": "set storage: the entries lie on the storage path of the case",
}
"""mdtest's options for which the workload has a setting, and what to do instead."""


class MdtestBenchmark(Benchmark, frozen=True, kw_only=True):
    """The mdtest benchmark."""

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of mdtest."""
        parameters = case.parameters
        argv = ["mdtest", "-n", str(parameters["items"]), "-i", str(parameters["repetitions"])]
        argv += {"files": ["-F"], "directories": ["-D"], "both": []}[str(parameters["entries"])]
        argv += ["-u"] if parameters["unique"] else []
        argv += ["-N", str(case.layout.ranks_per_node)] if case.layout.nodes > 1 else []
        if size := int(parameters["file_size"]):
            argv += ["-w", str(size), "-e", str(size)]
        return (Stage(argv=(*argv, "-d", "{storage}"), shares_storage=True),)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for settings that contradict each other."""
        if case.parameters["entries"] == "directories" and case.parameters["file_size"]:
            yield "directories hold no data; set file_size: 0, or entries: files"
        yield from option_faults(case, self.name, _OPTIONS)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the tables of all runs, and the error messages before or after them."""
        return _Log(self.foms).parse(lines)


@dataclasses.dataclass
class _Table:
    """One table of rates or times; each row has the largest, least and mean value."""

    fom: str
    rows: dict[str, tuple[float | None, ...]] = dataclasses.field(default_factory=dict)
    lines: list[str] = dataclasses.field(default_factory=list)
    has_heads: bool = False

    def missing(self, *, has_reads: bool) -> Iterator[str]:
        """Yield the names of the missing rows, out of those that every version prints."""
        kinds = {"Tree", *(name.split()[0] for name in self.rows)}
        if len(kinds) == 1:
            yield "File or Directory creation"
        for kind in sorted(kinds):
            for what in _NEEDED[kind]:
                if f"{kind} {what}" not in self.rows and (has_reads or what != "read"):
                    yield f"{kind} {what}"

    def broken(self) -> Iterator[str]:
        """Yield the rows that are left of two rows, or lost a part."""
        odd = odd_rows([shape(line.split(), len(line)) for line in self.lines], overflow=_OVERFLOW)
        for index, (line, (largest, least, mean)) in enumerate(
            zip(self.lines, self.rows.values(), strict=True)
        ):
            known = [value for value in (least, mean, largest) if value is not None and not math.isnan(value)]
            if index in odd or known != sorted(known):
                yield " ".join(line.split())


@dataclasses.dataclass
class _Run:
    """The tables of one run of mdtest."""

    tables: list[_Table] = dataclasses.field(default_factory=list)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    has_reads: bool = True
    has_both: bool = False
    """Whether it was asked for rates and times."""
    is_finished: bool = False


class _Log(LogParser):
    banner = Banner(" was launched with ", r"mdtest-(\S+) was launched with ")

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[_Run] = []
        self._undone = ""

    def read(self, line: str) -> None:
        if line.startswith("-- started at"):
            self._runs.append(_Run())
            self._findings.begin()
        elif line.startswith(("mdtest-", "Command line used: ")) and self._runs:
            self._read_call(self._runs[-1], line)
        elif line.startswith("SUMMARY"):
            self._read_title(line)
        elif " tasks, " in line and (tasks := _TASKS.fullmatch(line)) and self._runs:
            n_tasks, n_items = int(tasks[1]), int(tasks[2])
            if n_tasks and n_items % n_tasks == 0:
                self._runs[-1].facts["items"] = n_items // n_tasks
        elif line.startswith(" ") and self._runs:
            self._read_row(line)
        elif line.startswith("-- finished at") and self._runs:
            self._runs[-1].is_finished = True
        elif line.startswith("ERROR") or " FAILED in " in line:
            self._findings.problem(f"mdtest printed: {line[:200]}")
        elif line.startswith("WARNING") and _UNDONE.match(line):  # mdtest continues and counts it as done
            self._undone = self._undone or line[:200]
        elif "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end, if it is the closing line."""
        if line.startswith("-- finished at"):
            self.read(line)

    def _read_call(self, run: _Run, line: str) -> None:
        """Read the line with the version, or the one with the options."""
        if line.startswith("Command"):
            run.has_both = _BOTH.search(line) is not None
            return
        run.has_reads = _WITHOUT_READS.match(line) is None
        if launch := _LAUNCH.fullmatch(line):
            run.facts |= {"ranks": int(launch[1]), "nodes": int(launch[2])}

    def _read_title(self, line: str) -> None:
        if match := _TITLE.match(line):
            if not self._runs:
                self._runs.append(_Run())
            self._runs[-1].tables.append(_Table(match[1] or "rate"))
            self._runs[-1].facts["repetitions"] = int(match[2])
            self._findings.begin()

    def _read_row(self, line: str) -> None:
        tables = self._runs[-1].tables
        if _HEADS.match(line):
            if not tables or tables[-1].has_heads:
                self._findings.mixed("a table of mdtest without its title")
            else:
                tables[-1].has_heads = True
        elif not tables:
            return
        elif match := _ROW.fullmatch(line):
            values = tuple(figure(word) for word in match.group(2, 3, 4))
            rows = tables[-1].rows
            if match[1] in rows:
                self._findings.mixed(f"mdtest's table has two rows {match[1]}")
            else:
                tables[-1].lines.append(line)
            rows[match[1]] = values
            self._findings.keep(len(values))
        elif line.lstrip().startswith(("File ", "Directory ", "Tree ")):
            self._findings.problem(f"mdtest's table has a broken row: {' '.join(line.split())}")

    def parsed(self) -> Parsed:
        # A failed start without tables that was repeated in the same log is ignored.
        runs = [run for run in self._runs if run.tables] or self._runs
        faults = [*_faults(runs)]
        self._findings.problems(faults)
        if self._undone:
            self._findings.problem(f"mdtest counted what could not be done; it printed: {self._undone}")
        for run, at in zip(runs, coordinates([run.facts for run in runs]), strict=True):
            self._findings.record_facts(**run.facts)
            for table in run.tables:
                self._measure(table, at)
        return self._findings.parsed(is_complete=not faults)

    def _measure(self, table: _Table, at: Mapping[str, Scalar]) -> None:
        for operation, values in table.rows.items():
            point = {"operation": operation, **at}
            for fom, value in zip((f"{table.fom}_max", f"{table.fom}_min", table.fom), values, strict=True):
                if value is None:
                    self._findings.leave_out(fom, _NO_VALUE, point)
                elif value or math.isnan(value):
                    self._findings.measure_at(fom, value, point)
                elif fom == table.fom:  # its largest and its least are 0, too
                    self._findings.leave_out(fom, _NOT_SELECTED, point)


_NO_VALUE = "mdtest prints NA for it"
_NOT_SELECTED = (
    "it is printed as 0.000, as of an operation that is not selected or too short for its decimals"
)


def _faults(runs: list[_Run]) -> Iterator[str]:
    if not any(run.tables for run in runs):
        yield "the output holds no table of mdtest"
    if not all(run.is_finished for run in runs):
        yield "the output lacks mdtest's closing line; the run did not come to its end"
    for run in runs:
        kinds = [table.fom for table in run.tables]
        if kinds and kinds[0] != "rate":
            yield "a table of mdtest is missing: times stand there without rates"
        if len(set(kinds)) < len(kinds):
            yield "a run of mdtest has two tables of one kind"
        if run.has_both and len(set(kinds)) == 1:
            yield f"a table of mdtest is missing: -P prints rates and times, and only {kinds[0]}s are there"
        if kinds == ["rate", "time"]:
            yield from _contradictions(*run.tables)
        for table in run.tables:
            for row in table.broken():
                yield f"mdtest's table has a broken row: {row}"
            for name in table.missing(has_reads=run.has_reads):
                yield f"mdtest's table of {table.fom}s lacks the row {name}"
        if run.tables and not any(any(values) for table in run.tables for values in table.rows.values()):
            yield "mdtest's table holds nothing but zeros: nothing was run"


def _contradictions(rates: _Table, times: _Table) -> Iterator[str]:
    """Yield what the two tables of one run do not have in common."""
    for name in sorted(rates.rows.keys() ^ times.rows.keys()):
        kind, _, what = name.partition(" ")
        if what not in _NEEDED[kind]:  # those have a sentence of their own
            yield f"one of mdtest's tables of rates and times lacks the row {name}"
    for name in sorted(rates.rows.keys() & times.rows.keys()):
        rate, time = rates.rows[name][-1], times.rows[name][-1]
        if rate == 0 and time is not None and 0 < time < _LONG_S:
            yield f"mdtest's tables are of several runs: {name} took {time} s and has no rate"


def _foms(
    declared: Callable[..., Fom], name: str, unit: str, what: str, *, is_primary: bool = False
) -> tuple[Fom, ...]:
    return (
        declared(name, unit, f"{what}, mean", "operation", is_primary=is_primary),
        declared(f"{name}_max", unit, f"{what}, largest", "operation"),
        declared(f"{name}_min", unit, f"{what}, least", "operation"),
    )


WORKLOADS = (
    MdtestBenchmark(
        name="mdtest",
        summary="Rates at which all ranks make, stat, read and remove files or directories.",
        description=_DESCRIPTION,
        parameters=(
            declare.whole("items", 1000, "entries of each rank", minimum=1),
            declare.text("entries", "files", "what is made", choices=("files", "directories", "both")),
            declare.size(
                "file_size",
                0,
                "bytes written into and read from each file; IO500's hard case has 3901",
                minimum=0,
            ),
            declare.flag("unique", True, "a directory for each rank, instead of one for all"),
            declare.whole("repetitions", 1, "repetitions in one run", minimum=1),
        ),
        foms=(
            *_foms(declare.higher, "rate", "op/s", "operations per second of all ranks", is_primary=True),
            *_foms(declare.lower, "time", "s", "time of all operations"),
        ),
        needs_transport=False,
    ),
)
