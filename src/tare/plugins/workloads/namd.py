"""NAMD: `namd.stmv`, `namd.apoa1`, its published benchmarks (https://www.ks.uiuc.edu/Research/namd/).

Controller.C prints the figures. After load balancing it prints a few lines ``Info: Benchmark time:``, in
days/ns or, in builds of 3.0, in ns/day. Since 3.0 it also prints lines ``PERFORMANCE:``. The last line is
``WallClock:``, also for runs that fail.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.workload import ALL_BUT_STORAGE, Fom, Parsed, QuestionKind, Stage
from tare.plugins.workloads.common import application, declare
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.runs import Runs
from tare.plugins.workloads.common.text import Sieve, figure

_FOMS = (
    declare.lower(
        "days_per_ns",
        "days/ns",
        "time for one simulated ns: the last Benchmark line",
        is_primary=True,
        answers=ALL_BUT_STORAGE,
    ),
    declare.higher("ns_per_day", "ns/day", "simulated time in a day: its reciprocal"),
    declare.lower("step_time", "s", "time of one step: the last Benchmark line"),
    declare.higher("mean_ns_per_day", "ns/day", "over the whole run: the last PERFORMANCE line, since 3.0"),
    declare.lower(
        "wall_time",
        "s",
        "elapsed time of the program, start and output included",
        is_primary=True,
        answers=(QuestionKind.STORAGE,),
    ),
    declare.lower("cpu_time", "s", "processor time of the first rank"),
)

_HEAVY_INTERVAL = 10
"""Steps between two writes of heavy output: checkpoints and a frame of the trajectory."""

_DESCRIPTION = f"""\
Runs the published input {{config}} in `inputs` (unpack {{archive}} from
https://www.ks.uiuc.edu/Research/namd/utilities/ there). A copy of the configuration gets `steps` as its
numsteps, one output name and the output intervals; everything else stays as it is.

The program is a build of NAMD for MPI, version 2 or 3 (https://www.ks.uiuc.edu/Research/namd/), one rank a
process; with more than one thread a rank, an SMP build gets one thread less for work (+ppn), the last
being the one that communicates.

Traps: days/ns is of the last few hundred steps before the last Benchmark line, so a short run (less than 500
steps) has none; output is not in it, so compare I/O by wall_time. "ERROR: Margin is too small" is a warning.
WallClock is printed even by runs that exit prematurely.

{application.IO_NOTE}
Heavy means checkpoints and frames every {_HEAVY_INTERVAL} steps (restartfreq, dcdfreq). `frames: false`
leaves out the frames, and `restartsave` keeps each checkpoint instead of the last. Options of Charm++ are
`pemap`, `commap` (SMP builds), `isomalloc_sync`, and any words in `args`."""


class Namd(application.Application, frozen=True, kw_only=True):
    """A workload that runs a published input of NAMD; `config` is the name of its configuration file."""

    config: str

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that the workload cannot use."""
        yield from _option_faults(case)
        yield from application.io_faults(case)
        yield from application.folder_faults("inputs", str(case.parameters["inputs"]))
        yield from application.sum_faults(case)

    def expecting(self, case: Case) -> Self:
        """Return a copy with the number of processors that NAMD prints: the worker threads of all ranks."""
        threads = case.layout.threads
        workers = case.layout.ranks * (threads - 1 if threads > 1 else 1)
        return msgspec.structs.replace(self, ranks=workers)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages that link the input, edit the configuration, and run NAMD."""
        parameters = case.parameters
        argv = [str(parameters["program"]), *_runtime_options(case)]
        inputs = str(parameters["inputs"])
        return (
            application.linked(inputs),
            *application.checked(case),
            application.edited("configure", [self.config], *_changes(case)),
            Stage(argv=(*argv, self.config), inputs=(inputs,)),
        )

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the standard output of NAMD (see core.workload.Workload.parse)."""
        return _Log(_FOMS, self.ranks).parse(lines)


_CPU_LIST = re.compile(r"L?[0-9]+([-,:.+][0-9]+)*")
"""A list of processors as Charm++ takes it: ``0-46:48.47``, ``0,24``; with L in front, of logical ones."""


def _option_faults(case: Case) -> Iterator[str]:
    """Yield a fault for each option that Charm++ or NAMD would refuse or silently change."""
    for name in ("pemap", "commap"):
        text = str(case.parameters[name])
        if text and not _CPU_LIST.fullmatch(text):
            yield f"{name} is {text!r}, which Charm++ does not read; write processors, such as 0-22 or 0,24"
        if text and case.layout.threads == 1 and name == "commap":
            yield "commap places the thread that communicates, of SMP builds; set threads: 2 or more"
    try:
        words = shlex.split(str(case.parameters["args"]))
    except ValueError as error:
        yield f"args is {case.parameters['args']!r}: {error}; close the quotes"
        return
    for word in words:
        if word in _OWN_OPTIONS:
            yield f"args has {word}, which Tare sets itself; use the parameter or `threads` for it"


_OWN_OPTIONS = ("+ppn", "+p", "+pemap", "+commap", "+isomalloc_sync")


def _runtime_options(case: Case) -> Iterator[str]:
    """Yield the options of the Charm++ runtime, then those that the case adds."""
    parameters, threads = case.parameters, case.layout.threads
    if threads > 1:
        yield from ("+ppn", str(threads - 1))
    for name in ("pemap", "commap"):
        if parameters[name]:
            yield from (f"+{name}", str(parameters[name]))
    if parameters["isomalloc_sync"]:
        yield "+isomalloc_sync"
    yield from shlex.split(str(parameters["args"]))


_OWN = (
    "numsteps",
    "outputname",
    "restartfreq",
    "restartname",
    "restartsave",
    "dcdfreq",
    "dcdfile",
    "xstfreq",
    "outputtiming",
)
"""Keywords of the configuration that the workload sets; NAMD refuses a keyword that is set twice."""


def _changes(case: Case) -> Iterator[str]:
    """Yield the sed expressions that replace length and output in the configuration by those of the case."""
    yield rf"/^[[:space:]]*({'|'.join(_OWN)})[[:space:]=]/Id"
    interval = _HEAVY_INTERVAL if application.is_heavy(case) else 0
    settings = {
        "numsteps": case.parameters["steps"],
        "outputname": f"{application.output_folder(case)}/result",
        "restartfreq": interval,
        "dcdfreq": interval if case.parameters["frames"] else 0,
        "outputtiming": 100,
    }
    if case.parameters["restartsave"]:
        settings["restartsave"] = "yes"
    # Insert before the first line: a script that runs its steps itself needs the settings before them.
    yield "1i " + r"\n".join(f"{name} {value}" for name, value in settings.items())


_BENCHMARK = re.compile(r"Info: Benchmark time: \d+ CPUs (\S+) s/step (\S+) (days/ns|ns/day)\b.*")
_PERFORMANCE = re.compile(r"PERFORMANCE: (\d{1,15}) +averaging (\S+) ns/day, \S+ sec/step with .*")
_WALL = re.compile(r"WallClock: (\S+) +CPUTime: (\S+) +Memory: \S+ [kM]B")
_RANKS = re.compile(r"Info: Running on (\d+) processors(?:, (\d+) nodes, (\d+) physical nodes)?\.")
"""Here, Charm++ uses the word node for a process."""
_ATOMS = re.compile(r"Info: (\d{1,12}) ATOMS")
_TIMING = re.compile(r"TIMING: (\d{1,15}) ")
_HEADS = frozenset({"Info", "PERF", "TCL:", "TIMI", "Wall", "ERRO", "FATA"})
_SIEVE = Sieve(
    r"Info: (?:Initial time|Benchmark|NAMD|Running|\d+ ATOMS)|"
    r"PERF|TIMING: |TCL: (?:Running|Minimizing)|Wall|ERRO",
    "FATAL ERROR",
    "CmiAbort",
    "Charm++ fatal error",
)


class _Log(application.ApplicationLog):
    banner = Banner("Info: NAMD ", r"Info: NAMD (\S+) for ")
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms, ranks)
        self._runs = Runs(self._findings, len(_FOMS))
        self._error = ""
        self._step = -1
        self._has_loose_lines = False
        """Whether lines of a run came before its first line."""
        self._averaged: int | None = None
        """The step of the last mean (``PERFORMANCE:``); `_pace` is its distance from the one before."""
        self._pace = 0
        self._descents = 0
        self._parts = 0
        """How many parts (lines ``TCL:``) the script has begun."""
        self._has_benchmark = False
        """Whether a line Benchmark time has come since the last part of the script began."""

    def read(self, line: str) -> None:
        if line[:4] not in _HEADS:
            if "FATAL ERROR" in line or "CmiAbort" in line or "Charm++ fatal error" in line:
                self._findings.problem(f"NAMD ended with an error: {line.strip()[:200]}")
        elif line.startswith("Info: Benchmark time: "):
            self._read_benchmark(line)
        elif line.startswith("PERFORMANCE: "):
            if match := _PERFORMANCE.fullmatch(line):
                self._measure("mean_ns_per_day", match[2])
                step = int(match[1])
                self._pace = max(step - self._averaged, 0) if self._averaged is not None else 0
                self._averaged = step
        elif line.startswith("TIMING: "):
            self._read_step(line)
        elif line.startswith("TCL: "):
            self._parts += 1
            self._has_benchmark = False
        elif line.startswith("WallClock: "):
            self._read_wall(line)
        elif line.startswith("Info: "):
            self._read_info(line)
        elif line.startswith(("ERROR", "FATAL")):
            self._read_error(line)

    def _read_step(self, line: str) -> None:
        """Read the line of a step; step numbers grow, except where a script begins a new part."""
        if match := _TIMING.match(line):
            self._belong()
            step = int(match[1])
            self._descents += step <= self._step
            self._step = step

    def _belong(self) -> None:
        """Check that a line which belongs inside a run is not before its first or after its last line."""
        last = self._runs.last
        if last is None:
            self._has_loose_lines = True
        elif last.is_finished and last.is_begun:
            self._findings.mixed("lines of a run after its end")

    def _read_info(self, line: str) -> None:
        """Read a line ``Info:``: version, processors, number of atoms."""
        if line.startswith("Info: NAMD "):
            if self._has_loose_lines:
                self._findings.mixed("lines of a run before its beginning")
            self._runs.begin()
            self._step, self._averaged, self._pace = -1, None, 0
            self._has_benchmark = False
        elif line.startswith("Info: Initial time: "):
            if self._has_benchmark:  # it comes only after load balancing (Controller.C)
                self._findings.mixed("a line Benchmark time comes before the initial ones")
        elif match := _RANKS.match(line):
            self._belong()
            self._ranks.add(int(match[1]))
            self._findings.record_facts(processors=int(match[1]))
            if match[2]:
                self._findings.record_facts(ranks=int(match[2]), nodes=int(match[3]))
        elif match := _ATOMS.fullmatch(line):
            self._belong()
            self._findings.record_facts(n_atoms=int(match[1]))

    def _read_benchmark(self, line: str) -> None:
        match = _BENCHMARK.fullmatch(line)
        self._has_benchmark = True
        if match is None:
            self._findings.problem(f"a line Benchmark time is broken: {line[:120]}")
            return
        self._measure("step_time", match[1])
        inverse = {"days/ns": "ns_per_day", "ns/day": "days_per_ns"}[match[3]]
        name = {"days/ns": "days_per_ns", "ns/day": "ns_per_day"}[match[3]]
        rate = self._measure(name, match[2])
        if rate:
            self._runs.open.figures[inverse] = 1 / rate

    def _read_wall(self, line: str) -> None:
        if match := _WALL.fullmatch(line):
            if self._averaged is not None and 0 < self._pace <= self._step - self._averaged:
                self._findings.problem(
                    "the last line PERFORMANCE is missing: NAMD's mean is not of all steps"
                )
            self._measure("wall_time", match[1])
            self._measure("cpu_time", match[2])
            self._runs.open.is_finished = True

    def _measure(self, fom: str, word: str) -> float | None:
        """Record a figure of the open run, replacing an earlier one; return it, or None if not a number."""
        value = figure(word)
        if value is not None:
            self._runs.open.figures[fom] = value
        return value

    def _read_error(self, line: str) -> None:
        """Read a line with ERROR or FATAL; only ``Exiting prematurely`` and FATAL ERROR end a run."""
        if line.startswith("ERROR: Exiting prematurely"):
            self._findings.problem(f"NAMD exited prematurely: {self._error or 'it gives no reason'}")
        elif line.startswith("FATAL ERROR"):
            self._findings.problem(f"NAMD ended with an error: {line.strip()[:200]}")
        elif "argin" not in line and "may be calculated" not in line:
            self._error = line.removeprefix("ERROR: ").strip()[:200]

    def parsed(self) -> Parsed:
        """Return the figures of each finished run, and those of the last run even if it did not finish."""
        is_complete = self._runs.report(
            end="the output lacks the line WallClock; NAMD did not come to its end",
            nothing="the output holds no run of NAMD",
        )
        if self._has_loose_lines and self._runs.last is not None and not self._runs.last.is_begun:
            self._findings.problem("the log begins in the middle of a run: its line Info: NAMD is missing")
        if self._descents > max(self._parts - 1, 0):
            self._findings.mixed("steps do not grow")
        return self._finish(is_complete=is_complete)


_OPTIONS = (
    declare.flag("frames", True, "heavy output has frames of the trajectory (dcdfreq)", is_late=True),
    declare.flag(
        "restartsave", False, "keep each checkpoint as a file of its own (restartsave)", is_late=True
    ),
    declare.text("pemap", "", "processors of the threads that compute (+pemap), such as 0-22", is_late=True),
    declare.text(
        "commap", "", "processors of the threads that communicate (+commap), such as 23", is_late=True
    ),
    declare.flag("isomalloc_sync", False, "synchronise memory maps at start (+isomalloc_sync)", is_late=True),
    declare.text("args", "", "further words of the command, such as '+setcpuaffinity'", is_late=True),
)


def _workload(name: str, summary: str, *, archive: str, config: str) -> Namd:
    return Namd(
        name=name,
        summary=summary,
        description=_DESCRIPTION.format(config=config, archive=archive),
        parameters=(
            declare.text(
                "inputs",
                f"{{storage}}/{archive.partition('.')[0]}",
                f"the folder with {config} and what it reads",
            ),
            declare.whole("steps", 1000, "time steps (numsteps)", minimum=1),
            declare.text("program", "namd2", "the NAMD command: namd2, namd3"),
            *_OPTIONS,
            application.CHECKSUMS,
        ),
        foms=_FOMS,
        config=config,
    )


WORKLOADS = (
    _workload(
        "namd.stmv",
        "Molecular dynamics of the satellite tobacco mosaic virus, 1.07 million atoms: days/ns.",
        archive="stmv.tar.gz",
        config="stmv.namd",
    ),
    _workload(
        "namd.apoa1",
        "Molecular dynamics of apolipoprotein A-I, 92 thousand atoms: days/ns.",
        archive="apoa1.tar.gz",
        config="apoa1.namd",
    ),
)
