"""elbencho, a storage benchmark: `elbencho.read`, `elbencho.write` (https://github.com/breuner/elbencho)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.peers import port_parameter
from tare.plugins.workloads.common.services import block_faults, services_stage
from tare.plugins.workloads.elbencho_json import json_phase
from tare.plugins.workloads.elbencho_results import CsvReader, Phase, Table, TextReader, split


def _rates(name: str, unit: str, what: str, *, is_primary: bool = False) -> tuple[Fom, Fom]:
    return (
        declare.higher(name, unit, f"{what}, until the last thread was done", "phase", is_primary=is_primary),
        declare.higher(f"{name}_first", unit, f"{what}, until the first thread was done", "phase"),
    )


_FOMS = (
    *_rates("bandwidth", "MiB/s", "data", is_primary=True),
    *_rates("iops", "op/s", "reads or writes of one block", is_primary=True),
    *_rates("entries", "op/s", "files or directories"),
    declare.lower("time", "ms", "until the last thread was done", "phase"),
    declare.lower("time_first", "ms", "until the first thread was done", "phase"),
    declare.lower("latency", "us", "of one block, mean", "phase"),
    declare.lower("latency_max", "us", "of one block, largest", "phase"),
    declare.lower("entry_latency", "us", "of one file or directory, mean", "phase"),
    declare.lower("entry_latency_max", "us", "of one file or directory, largest", "phase"),
)

_PARAMETERS = (
    declare.size("block", 1 << 20, "size of one read or write", minimum=1),
    declare.size("size", 1 << 30, "size of one file", minimum=1),
    declare.whole("files", 1, "files of each thread's directory", minimum=1),
    declare.flag("direct", True, "pass the page cache by (O_DIRECT); without it a read may come from memory"),
    declare.flag("random", False, "random offsets instead of sequential"),
    declare.whole("iodepth", 1, "requests under way at once in each thread", minimum=1),
    port_parameter(1611),
)

_DESCRIPTION = """\
`threads` threads on each node (and no MPI ranks) write and read files of their own below the case's storage
path, and delete them. The bandwidth that counts is that of the whole phase (elbencho's column LAST DONE);
when threads are done at different times, FIRST DONE shows what they reached while all were at work.

On several nodes, each runs `elbencho --service`, and the first one also the master, which sums their results.

Get the program from https://github.com/breuner/elbencho (static binaries, packages, containers). `tare parse`
also reads logs of services, and result, CSV and JSON files."""


_OPTIONS = {
    **dict.fromkeys(("-b", "--block"), "set block"),
    **dict.fromkeys(("-s", "--size"), "set size"),
    **dict.fromkeys(("-n", "--dirs"), "set files: each thread has one directory"),
    **dict.fromkeys(("-N", "--files"), "set files"),
    **dict.fromkeys(("-t", "--threads"), "set threads"),
    "--direct": "set direct: true",
    "--rand": "set random: true",
    "--iodepth": "set iodepth",
}
"""elbencho's options for which the workload has a setting, and what to do instead."""


class ElbenchoBenchmark(Benchmark, frozen=True, kw_only=True):
    """A workload that runs elbencho in one direction; its output must contain all `phases`."""

    phases: tuple[str, ...]

    def faults(self, case: Case) -> Iterable[str]:
        """Return a fault for each setting that elbencho would refuse or silently change."""
        return (*block_faults(case), *option_faults(case, self.name, _OPTIONS))

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of elbencho; a read workload has a stage before it that writes the files."""
        if self.phases[0] == "READ":
            prepare = _stage(case, "prepare", "--mkdirs", "--write", "--sync")
            return (prepare, _stage(case, "run", "--read", "--delfiles", "--deldirs"))
        return (_stage(case, "run", "--mkdirs", "--write", "--delfiles", "--deldirs"),)

    def expecting(self, case: Case) -> Self:
        """Return a copy that also expects the phases that remove files and directories."""
        return msgspec.structs.replace(self, phases=(*self.phases, "RMFILES", "RMDIRS"))

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read text, CSV or JSON results, or the log of a master and its services."""
        return _Log(self.foms, self.phases).parse(lines)


def _stage(case: Case, name: str, *phases: str) -> Stage:
    """Return the call of elbencho for `phases`; on several nodes it is the master of one service per node."""
    if case.layout.nodes == 1:
        return Stage(name=name, argv=_argv(case, *phases), is_mpi=False)
    port = int(case.parameters["port"])
    service = ["elbencho", "--service", "--foreground", "--port", str(port)]
    hosts = ("--hostsfile", f"{{work}}/{name}/hosts", "--port", str(port))
    return services_stage(case, service, _argv(case, *hosts, *phases), port, name=name)


def _argv(case: Case, *phases: str) -> tuple[str, ...]:
    parameters = case.parameters
    argv = ["elbencho", *phases, "--threads", str(case.layout.threads), "--files", str(parameters["files"])]
    argv += ["--size", str(parameters["size"]), "--block", str(parameters["block"]), "--lat", "--nolive"]
    argv += ["--direct"] if parameters["direct"] else []
    argv += ["--rand"] if parameters["random"] else []
    argv += ["--iodepth", str(parameters["iodepth"])] if int(parameters["iodepth"]) > 1 else []
    return (*argv, "{storage}")


_WORDS = ("ISO date,", "ERROR", "Phase: ", "Label,Phase,RuntimeMS")
"""Beginnings of lines that are the head of a result file, or that report that there is no result."""


class _Log(LogParser):
    """Collects the results in a log or result file, line by line."""

    def __init__(self, foms: Iterable[Fom], expected: tuple[str, ...]) -> None:
        super().__init__(foms)
        self._expected = expected
        self._text = TextReader(self._findings)
        self._csv = CsvReader(self._findings)
        self._json: list[Phase] = []
        self._is_whole = True

    def read(self, line: str) -> None:
        first = line[:1]
        if first == " ":
            self._text.read_row(line)
        elif first == "{" and '"phase_type"' in line:
            self._read_json(line)
        elif first.isdigit() and line.count(",") > 9:
            self._csv.read(line)
        elif line.startswith(_WORDS):
            self._read_word(line)
        elif line:
            self._text.read(line)

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end; ``---`` and rows of CSV that end in a quote are whole."""
        if line == "---" or line.endswith('"'):
            self.read(line)
        elif line[:1].isdigit() or line[:1] == "{":
            self._is_whole = False

    def _read_json(self, line: str) -> None:
        phase = json_phase(line)
        if phase is None:
            self._findings.problem("a line of JSON is broken")
            self._is_whole = False
        else:
            self._json.append(phase)
            self._findings.keep(len(phase.figures))

    def _read_word(self, line: str) -> None:
        if line.startswith("ISO date,"):
            self._csv.read_head(line)
        elif line.startswith("ERROR"):
            self._findings.problem(f"elbencho printed: {line[:200]}")
        elif line.startswith("Label,"):
            self._findings.problem("this is a --livecsv of samples while elbencho ran, not a file of results")
        else:
            self._findings.problem("this is a dry run, which measures nothing")

    def parsed(self) -> Parsed:
        faults = [*self._faults()]
        tables = [] if self._text.is_mixed else self._tables()
        self._findings.problems(faults)
        for table, at in zip(tables, coordinates([table.facts for table in tables]), strict=True):
            self._findings.record_facts(**table.facts)
            for phase in table.phases:
                for (fom, is_read), value in phase.figures.items():
                    which = {"phase": phase.name + " read" * is_read, **at}
                    self._findings.measure_at(fom, value, which)
        return self._findings.parsed(is_complete=not faults)

    def _faults(self) -> Iterator[str]:
        if self._text.is_mixed:
            yield "the results of several programs are mixed line by line; the program of a row is unknown"
            return
        yield from self._text.finish()
        if not self._is_whole:
            yield "the last line is cut short"
        if self._csv.broken_rows:
            yield f"{count(self._csv.broken_rows, 'row of CSV is', 'rows of CSV are')} broken"
        yield from _shortfalls(self._tables(), self._expected)

    def _tables(self) -> list[Table]:
        return [*self._text.tables, *split([*self._csv.phases, *self._json])]


def _shortfalls(tables: list[Table], expected: Iterable[str]) -> Iterator[str]:
    """Yield what `tables` lack: a phase of `expected`, or the last phases of the last run."""
    for phase in expected:
        if not any(phase in table.names for table in tables):
            yield f"the output holds no results of phase {phase}"
    earlier, last = [table.names for table in tables[:-1]], tables[-1].names if tables else []
    if last not in earlier and any(names[: len(last)] == last for names in earlier):
        yield "the last run stops where others go on to their next phase"


def _workload(name: str, phases: tuple[str, ...], summary: str) -> ElbenchoBenchmark:
    return ElbenchoBenchmark(
        name=f"elbencho.{name}",
        summary=summary,
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
        needs_transport=False,
        phases=phases,
    )


WORKLOADS = (
    _workload("read", ("READ",), "Threads read files: bandwidth, operations, latency."),
    _workload("write", ("WRITE",), "Threads write files: bandwidth, operations, latency."),
)
