"""BabelStream, memory bandwidth of processors and GPUs: `babelstream` (https://github.com/UoB-HPC/BabelStream).

It prints a table or, with --csv, the same as CSV. The unit of its rates stands in the head. Versions 1 to 4
with --triad-only print the mean rate over all repetitions instead of a table.

The tables of version 5::

    Function    MB/s        Min (sec)   Max         Average
    Copy        8571.200    0.00196     0.47602     0.15527

    function,num_times,n_elements,sizeof,max_MB_per_sec,min_runtime,max_runtime,avg_runtime
    Copy,5,1048576,8,112311,0.000149382,0.57922,0.161858
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.rounded import Rounded, have_common, rounded
from tare.plugins.workloads.common.text import figure

_CLASSIC = ("copy", "mul", "add", "triad", "dot")
_GPU_STREAM = ("copy", "mul", "add", "triad")
"""The kernels before version 3, when it was called GPU-STREAM."""
_ALL = (*_CLASSIC, "nstream")
_ARRAYS = {"copy": 2, "mul": 2, "add": 3, "triad": 3, "dot": 2, "nstream": 4}
"""How many arrays each kernel reads or writes, once in each repeat (main.cpp, ``weight``)."""

_UNITS = {
    **{f"{prefix}B": 10.0**power for prefix, power in (("M", 0), ("G", 3), ("T", 6))},
    **{f"{prefix}iB": 2.0**power / 1e6 for prefix, power in (("M", 20), ("G", 30), ("T", 40))},
}
"""Each unit of data, in 10⁶ bytes."""
_OLD_UNITS = {"mbytes": "MB", "mibytes": "MiB", "gbytes": "GB", "gibytes": "GiB"}
"""The units of versions 1 to 4, in lower case."""

_UNIT = r"([MGT]i?B|[MG]i?Bytes|[mg]i?bytes)"
_HEAD = re.compile(rf"Function\s+{_UNIT}/s(?:ec)?\s+Min \(sec\)\s+Max\s+Average")
_CSV_HEAD = re.compile(
    rf"function,num_times,n_elements,sizeof,(?:(max)_)?{_UNIT}_per_sec,(?:min_runtime,max_runtime,avg_)?runtime"
)
_ROW = re.compile(r"([A-Z][a-z]+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)")
_KERNEL = re.compile(r"[A-Z][a-z]+[\s,].*")
_RUNNING = re.compile(
    r"Running +(?:Running +)?(All|Classic|Copy|Mul|Add|Triad|Dot|Nstream)? *(?:kernels )? *\d+ times.*"
)
_MEAN = re.compile(rf"Bandwidth \({_UNIT}/s\): +([0-9]+\.[0-9]{{3}})")
_MEGA = 1e6
_FAILURE = re.compile(r"FAILED validation of |Validation failed on ")

_DESCRIPTION = """\
Copies, scales and adds arrays: c = a, b = s·c, c = a + b, a = b + s·c, and the sum of a·b. The rate of the
fastest repeat counts, without the first one, in 10⁶ bytes per second. It runs `threads` OpenMP threads on one
rank; the arrays must be four times as large as the last-level caches together.

Build one of its models from https://github.com/UoB-HPC/BabelStream; `program` is its name, such as
omp-stream. A wrong result is printed to standard error only, and the program then fails."""


_OPTIONS = {
    **dict.fromkeys(("-s", "--arraysize"), "set elements"),
    **dict.fromkeys(("-n", "--numtimes"), "set repetitions"),
    "--float": "set single: true",
}
"""BabelStream's options for which the workload has a parameter, and what to do instead."""


class BabelStream(Benchmark, frozen=True, kw_only=True):
    """The BabelStream benchmark, in any of its programming models."""

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of the program, with its threads bound (OMP_PROC_BIND)."""
        asked = case.parameters
        argv = [str(asked["program"]), "-s", str(asked["elements"]), "-n", str(asked["repetitions"])]
        argv += ["--float"] if asked["single"] else []
        env = {"OMP_NUM_THREADS": str(case.layout.threads), "OMP_PROC_BIND": "true"}
        return (Stage(argv=tuple(argv), env=env, is_mpi=False),)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault if the case has several ranks, as each would measure the memory of the others."""
        if case.layout.ranks > 1:
            yield f"babelstream runs on one rank, and the case has {case.layout.ranks}; set ranks: 1"
        yield from option_faults(case, self.name, _OPTIONS)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read every table of a log (see core.workload.Workload.parse)."""
        return _Log(self.foms).parse(lines)


class _Head(NamedTuple):
    """The head of a table: the factor of its rates to MB/s, and what separates its columns."""

    factor: float
    is_csv: bool
    is_mean: bool = False


@dataclasses.dataclass
class _Run:
    """One run: the rates of its kernels, and the kernels that it says it runs; None if it does not."""

    rates: dict[str, float] = dataclasses.field(default_factory=dict)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    kernels: tuple[str, ...] | None = None
    head: _Head | None = None
    arrays: list[Rounded] = dataclasses.field(default_factory=list)
    """How many megabytes each array has, by each row."""

    def is_consistent(self, kernel: str, rate: str, time: str, n_times: float) -> bool:
        """Return whether a rate × its time is what the kernel moves in `n_times`, as in the other rows."""
        printed, elapsed = rounded(rate), rounded(time)
        if printed is None or elapsed is None or self.head is None:
            return True
        factor = self.head.factor / _ARRAYS[kernel] / n_times
        self.arrays.append(printed.times(elapsed).scaled(factor))
        n_elements = self.facts.get("elements")
        single = self.facts.get("single")
        n_bytes = (4, 8) if single is None else (4,) if single else (8,)
        known = [] if n_elements is None else [int(n_elements) * one / _MEGA for one in n_bytes]
        return have_common(self.arrays) and (not known or any(map(self.arrays[-1].may_be, known)))

    @property
    def is_end_known(self) -> bool:
        return self.kernels is not None or "triad_mean" in self.rates or len(self.rates) > 1

    def faults(self) -> Iterator[str]:
        """Yield what is missing: a CSV with several kernels has all classic ones, or all."""
        expected = self.kernels
        if "triad_mean" in self.rates:
            return
        if expected is None and len(self.rates) > 1:
            expected = _ALL if "nstream" in self.rates else _CLASSIC
        if missing := [name for name in expected or () if name not in self.rates]:
            yield f"BabelStream's table lacks {', '.join(missing)}"
        elif not self.rates:
            yield "BabelStream's table has no rows"


class _Log(LogParser):
    banner = Banner("Version: ", r"(?m)^Version: ([0-9]\S*)$")

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[_Run] = []

    def read(self, line: str) -> None:
        """Read one line: banner, setting, head, row, or something else."""
        if line in {"BabelStream", "GPU-STREAM"}:
            run = self._begin()
            run.kernels = _GPU_STREAM if line == "GPU-STREAM" else None
        elif line.startswith("Running ") and (running := _RUNNING.fullmatch(line)) is not None:
            self._read_kernels(running[1], line)
        elif line.startswith(("Number of elements: ", "Precision: ")):
            self._read_fact(line)
        elif (head := _read_head(line)) is not None:
            self._read_table(head)
        elif (mean := _MEAN.fullmatch(line)) is not None:
            self._measure(self._open(), "triad_mean", float(mean[2]) * _factor(mean[1]))
        elif _FAILURE.search(line):
            self._findings.problem(f"BabelStream's result is wrong: {line.strip()[:200]}")
        elif self._runs and self._runs[-1].head is not None and _KERNEL.fullmatch(line):
            self._read_row(self._runs[-1], self._runs[-1].head, line)

    def _begin(self) -> _Run:
        self._runs.append(_Run())
        self._findings.begin()
        return self._runs[-1]

    def _open(self) -> _Run:
        return self._runs[-1] if self._runs else self._begin()

    def _read_table(self, head: _Head) -> None:
        """Begin a table; with --csv, a head is the first line of a run."""
        run = self._open()
        if run.head is not None or run.rates:
            if not head.is_csv:
                self._findings.mixed("two tables in one run of BabelStream")
            run = self._begin()
        run.head = head

    def _read_kernels(self, which: str | None, line: str) -> None:
        if "triad" in line:  # version 4 and before
            return
        names = {"All": _ALL, "Classic": _CLASSIC, None: _CLASSIC}
        run = self._open()
        run.kernels = run.kernels or names.get(which) or (str(which).lower(),)

    def _read_fact(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "Precision":
            self._open().facts["single"] = value == "float"
        elif value.isdecimal() and len(value) <= 15:
            self._open().facts["elements"] = int(value)

    def _read_row(self, run: _Run, head: _Head, line: str) -> None:
        cells = line.split(",") if head.is_csv else line.split()
        width = (6 if head.is_mean else 8) if head.is_csv else 5
        values = [figure(cell) for cell in cells[1:]]
        rate = values[3 if head.is_csv else 0] if len(values) == width - 1 else None
        if cells[0].lower() not in _ALL:
            return
        if rate is None or rate < 0 or None in values:
            self._findings.problem(f"BabelStream's table has a broken row: {' '.join(line.split())[:200]}")
            return
        if head.is_csv:
            run.facts |= {"elements": int(values[1] or 0), "single": values[2] == 4}
        rate_at, time_at = (4, 5) if head.is_csv else (1, 2)
        n_times = values[0] or 1.0 if head.is_csv and head.is_mean else 1.0
        if not run.is_consistent(cells[0].lower(), cells[rate_at], cells[time_at], n_times):
            self._findings.problem(
                "BabelStream's table has a row whose rate and time are not of its arrays, as of lost digits "
                f"or another unit: {' '.join(line.split())[:200]}"
            )
        name = "triad_mean" if head.is_mean else cells[0].lower()
        self._measure(run, name, rate * head.factor)

    def _measure(self, run: _Run, name: str, rate: float) -> None:
        if name in run.rates:
            self._findings.mixed(f"a table has {name} twice")
        run.rates[name] = rate
        self._findings.keep()

    def parsed(self) -> Parsed:
        """Return the rates of all runs, with coordinates that distinguish the runs."""
        faults = [fault for run in self._runs for fault in run.faults()]
        faults += [] if self._runs else ["the output holds no table of BabelStream"]
        self._findings.problems(faults)
        for run, at in zip(self._runs, coordinates([run.facts for run in self._runs]), strict=True):
            self._findings.record_facts(**run.facts)
            for name, rate in run.rates.items():
                self._findings.measure(name, rate, **at)
        is_end_known = all(run.is_end_known for run in self._runs)
        return self._findings.parsed(is_complete=not faults, is_end_known=is_end_known)


def _read_head(line: str) -> _Head | None:
    if head := _HEAD.fullmatch(line):
        return _Head(_factor(head[1]), is_csv=False)
    if head := _CSV_HEAD.fullmatch(line):
        return _Head(_factor(head[2]), is_csv=True, is_mean=head[1] is None)
    return None


def _factor(unit: str) -> float:
    """Return how many 10⁶ bytes the unit has, in any version's spelling."""
    return _UNITS[_OLD_UNITS.get(unit.lower(), unit)]


_SUMMARIES: Mapping[str, str] = {
    "copy": "best rate of c = a",
    "mul": "best rate of b = s·c",
    "add": "best rate of c = a + b",
    "triad": "best rate of a = b + s·c",
    "dot": "best rate of the sum of a·b",
    "nstream": "best rate of a = a + b + s·c",
    "triad_mean": "mean rate of triad over all repetitions (--triad-only)",
}

WORKLOADS = (
    BabelStream(
        name="babelstream",
        summary="Memory bandwidth of long vectors, in many programming models: copy, mul, add, triad, dot.",
        description=_DESCRIPTION,
        parameters=(
            declare.text("program", "omp-stream", "the program, as it was built for one model"),
            declare.whole("elements", 33554432, "elements of each array (-s)", minimum=1024),
            declare.whole(
                "repetitions", 100, "repetitions, of which the first does not count (-n)", minimum=2
            ),
            declare.flag("single", False, "single precision (--float)"),
        ),
        foms=tuple(
            declare.higher(name, "MB/s", summary, is_primary=name == "triad", limit=Resource.MEMORY)
            for name, summary in _SUMMARIES.items()
        ),
        needs_transport=False,
    ),
)
