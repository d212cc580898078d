"""HPC Challenge: `hpcc` (https://hpcchallenge.org, https://icl.utk.edu/hpcc).

hpccoutf.txt has a section for each test and, at the end, a summary of ``name=value`` lines (hpcc.c:
HPCC_Finalize), whose names have not changed since 1.0. The value of a test that was not run is -1. HPCC
appends each run to the file, and each run begins with a banner.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Better, Fom, Parsed, QuestionKind, Stage
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.text import aborts, figure
from tare.plugins.workloads.hpl_input import SIZE_PARAMETERS, hpl_dat, is_rate_of, size_faults

_PRIMARY = frozenset(
    {
        "HPL_Tflops",
        "PTRANS_GBs",
        "MPIRandomAccess_GUPs",
        "MPIFFT_Gflops",
        "StarSTREAM_Triad",
        "RandomlyOrderedRingLatency_usec",
        "RandomlyOrderedRingBandwidth_GBytes",
    }
)
"""The figures by which the HPC Challenge awards and its web site rank systems."""

_ON_NETWORK = _PRIMARY - {"StarSTREAM_Triad"}
"""The figures of tests whose ranks wait for each other's messages."""

_OF_COMPUTING = frozenset(
    {"HPL_Tflops", "StarDGEMM_Gflops", "StarSTREAM_Triad", "StarFFT_Gflops", "MPIFFT_Gflops"}
)
"""The figures of tests that run on all ranks at once and are bound by processors and memory."""


def _question_kinds(name: str) -> tuple[QuestionKind, ...]:
    asked = {QuestionKind.NETWORK: _ON_NETWORK, QuestionKind.COMPUTE: _OF_COMPUTING}
    return tuple(kind for kind, names in asked.items() if name in names)


_KERNELS = ("Copy", "Scale", "Add", "Triad")
_UPDATES = ("MPIRandomAccess", "MPIRandomAccess_LCG")
_METRICS: dict[str, tuple[str, ...]] = {
    "Tflop/s": ("HPL_Tflops",),
    "Gflop/s": (
        *(f"{mode}DGEMM_Gflops" for mode in ("Star", "Single")),
        *(f"{mode}FFT_Gflops" for mode in ("Star", "Single", "MPI")),
    ),
    "GB/s": (
        "PTRANS_GBs",
        *(f"{mode}STREAM_{kernel}" for mode in ("Star", "Single") for kernel in _KERNELS),
        *(f"{kind}PingPongBandwidth_GBytes" for kind in ("Min", "Avg", "Max")),
        *(f"{order}OrderedRingBandwidth_GBytes" for order in ("Naturally", "Randomly")),
    ),
    "GUP/s": (
        *(f"{test}_GUPs" for test in _UPDATES),
        *(f"{mode}RandomAccess{kind}_GUPs" for mode in ("Star", "Single") for kind in ("", "_LCG")),
    ),
    "us": (
        *(f"{kind}PingPongLatency_usec" for kind in ("Min", "Avg", "Max")),
        *(f"{order}OrderedRingLatency_usec" for order in ("Naturally", "Randomly")),
    ),
    "s": ("HPL_time", "PTRANS_time", *(f"{test}_time" for test in _UPDATES)),
}
"""HPCC's names of its results, by unit; a GB is 10⁹ bytes, a GUP 10⁹ updates."""

_LOWER_IS_BETTER = frozenset({"us", "s"})


def _summary(name: str) -> str:
    """Return which figures are controls: their tests send no message, so that no network can change them."""
    modes = {"Star": "all ranks at once, no network", "Single": "one rank, no network"}
    return next((text for mode, text in modes.items() if name.startswith(mode)), "")


_FOMS = tuple(
    Fom(
        name=name,
        unit=unit,
        better=Better.LOWER if unit in _LOWER_IS_BETTER else Better.HIGHER,
        is_primary=name in _PRIMARY,
        answers=_question_kinds(name),
        limit=Resource.FLOPS if name == "HPL_Tflops" else None,
        summary=_summary(name),
    )
    for unit, names in _METRICS.items()
    for name in names
)
_NAMES = frozenset(fom.name for fom in _FOMS)
_ALWAYS = frozenset(name for name in _NAMES if not name.endswith("_LCG") and "_LCG_" not in name)
"""The lines that every summary has had since 1.0, also for tests that were not run."""
_LATE = _NAMES - _ALWAYS
"""The lines of the second generator of RandomAccess, of which a summary has all or none."""
_FACTS = {"CommWorldProcs": "ranks", "HPL_N": "n", "HPL_NB": "nb"}
"""The settings of a run in its summary, by HPCC's name; the value of a test that was not run is -1."""

_NOT_RUN = -1.0
_LEAST = 1e-200
"""The least value of a test that was run. Others have -1, or in 1.5.0 uninitialised memory: 0, 2.3e-310."""

_MOST_COMPLAINTS = 3
_LONGEST = 200

_PTRANS = """\
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
0            values of N
0            number of additional blocking sizes for PTRANS
0            values of NB
"""

_DESCRIPTION = """\
Seven tests in one program: HPL, DGEMM, STREAM, PTRANS (transpose: bandwidth between all pairs), RandomAccess
(small messages to everywhere), FFT, and latency and bandwidth of ping-pongs and rings. The figures carry
HPCC's own names. MPI tests use the network; Star ones run on all ranks at once, Single ones on one rank.

Debian has it (`apt install hpcc`). The order N of HPL's matrix comes from `memory`, a share of all nodes'
memory, or is given as `n`; PTRANS takes half of it. A run counts only when HPCC prints Success=1 and no
residual check has FAILED: a wrong HPL prints its rate all the same."""


class HpccBenchmark(Benchmark, frozen=True, kw_only=True):
    """The HPC Challenge."""

    def faults(self, case: Case) -> Iterable[str]:
        """Return the reasons why the size of the matrix is unknown or invalid."""
        return size_faults(case)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of hpcc; its HPL must write to HPCC's own file (device 8)."""
        return (Stage(argv=("hpcc",), files={"hpccinf.txt": hpl_dat(case, device=8) + _PTRANS}),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the summary of every run, and the failed checks before it."""
        return _Log(self.foms).parse(lines)


@dataclasses.dataclass
class _Run:
    """One run: its summary, and how far it got."""

    figures: dict[str, str] = dataclasses.field(default_factory=dict)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    failures: list[str] = dataclasses.field(default_factory=list)
    complaints: dict[str, None] = dataclasses.field(default_factory=dict)
    """What HPCC printed of tests that could not run, such as memory that it did not get."""
    success: str | None = None
    is_in_summary: bool = False
    is_summed_up: bool = False
    is_finished: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it finished and its summary has every line."""
        return self.is_finished and self.figures.keys() >= _ALWAYS

    @property
    def _has_rate_of_hpl(self) -> bool:
        """Whether the rate of HPL is that of its size and time; True where one of them is not known."""
        rate, time = (figure(self.figures.get(name, "")) for name in ("HPL_Tflops", "HPL_time"))
        n = int(self.facts.get("n", 0))
        if not n or rate is None or time is None or not (rate > 0 and math.isfinite(rate * time)):
            return True
        return is_rate_of(n, time, 1e3 * rate)

    def problems(self) -> Iterator[str]:
        lost = sorted(_ALWAYS - self.figures.keys())
        if _LATE & self.figures.keys():
            lost += sorted(_LATE - self.figures.keys())
        if self.is_finished and lost:
            yield f"lacks lines of its summary: {', '.join(lost[:3])}"
        if self.success is not None and self.success != "1":
            yield "; ".join([f"did not succeed: Success={self.success}", *self.complaints])
        if not self._has_rate_of_hpl:
            yield "has an HPL_Tflops that is not that of its HPL_N and HPL_time"
        for failure in self.failures:
            yield f"failed a check: {failure}"
        if not self.is_finished:
            yield "did not come to its end: the summary is missing or cut short"


class _Log(LogParser):
    banner = Banner("Challenge Benchmark version", r"Challenge Benchmark version (\S+)")

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[_Run] = []

    def read(self, line: str) -> None:
        if "=" in line:
            self._read_value(line)
        elif line.startswith(("This is the DARPA", "Begin of Summary", "End of")):
            self._read_status(line)
        elif line.startswith("Failed to allocate memory") and self._runs:
            complaints = self._runs[-1].complaints
            if len(complaints) < _MOST_COMPLAINTS:
                complaints.setdefault(line[:_LONGEST].strip().rstrip("."))
        if "FAILED" in line or "(failed)" in line:
            self._read_failure(line)
        elif "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")

    def _read_status(self, line: str) -> None:
        """Read a line that begins or ends a run or its summary."""
        if line.startswith("This is the DARPA") or not self._runs:
            self._runs.append(_Run())
            self._findings.begin()
        run = self._runs[-1]
        if line.startswith("Begin of Summary"):
            if run.is_in_summary or run.is_summed_up:
                self._findings.mixed("a second summary of one run")
            run.is_in_summary = True
        elif line.startswith("End of Summary section."):
            run.is_in_summary, run.is_summed_up = False, run.is_in_summary
        elif line.startswith("End of HPC Challenge tests."):
            run.is_finished = run.is_summed_up and run.success is not None

    def _read_value(self, line: str) -> None:
        """Read a line with ``=``, which may belong to the summary."""
        if not self._runs or not self._runs[-1].is_in_summary:
            return
        name, _, value = line.partition("=")
        if name in _NAMES:
            if self._runs[-1].figures.get(name, value) != value:
                self._findings.mixed(f"{name} is in one summary twice")
            self._runs[-1].figures[name] = value
            self._findings.keep()
        elif name in _FACTS and value.isdecimal() and len(value) < 10:
            self._runs[-1].facts[_FACTS[name]] = int(value)
        elif name == "Success":
            self._runs[-1].success = value

    def _read_failure(self, line: str) -> None:
        """Read a failed check: a residual, or a RandomAccess with too many errors."""
        if self._runs and line.startswith(("||", "Found ", "WALL", "CPU")):
            self._runs[-1].failures.append(" ".join(line.split()))
            self._findings.keep()

    def parsed(self) -> Parsed:
        """Return the figures of all runs, except those of tests that were not run."""
        runs = self._runs
        if not runs:
            self._findings.problem("the output holds no run of HPCC")
        points = coordinates([run.facts for run in runs])
        for number, (run, at) in enumerate(zip(runs, points, strict=True), start=1):
            self._findings.record_facts(**run.facts)
            name = f"run {number} of HPCC" if len(runs) > 1 else "HPCC"
            for metric, text in run.figures.items():
                value = figure(text)
                if value is None:
                    self._findings.problem(f"{name}: {metric} is {text!r}, which is no number")
                elif value == _NOT_RUN:
                    self._findings.leave_out(metric, "HPCC prints -1 for a test that was not run", at)
                elif abs(value) < _LEAST:
                    self._findings.leave_out(metric, f"HPCC prints {text} for it, which no test gives", at)
                else:
                    self._findings.measure(metric, value, **at)
            for problem in run.problems():
                self._findings.problem(f"{name} {problem}")
        return self._findings.parsed(is_complete=bool(runs) and all(run.is_whole for run in runs))


WORKLOADS = (
    HpccBenchmark(
        name="hpcc",
        summary="HPC Challenge: HPL, DGEMM, STREAM, PTRANS, RandomAccess, FFT, latency and bandwidth.",
        description=_DESCRIPTION,
        parameters=SIZE_PARAMETERS,
        foms=_FOMS,
        output="hpccoutf.txt",
    ),
)
