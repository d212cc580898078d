"""HPCG, the conjugate gradients benchmark: `hpcg` (https://github.com/hpcg-benchmark/hpcg).

Its report has three formats (ReportResults.cpp): the YAML of 2.x and 3.0 (``key: value``, indented below the
name of the section), the text of 3.1 (``section::key=value``), and the standard output of some optimised
builds (``section key value``). One rank writes it at the very end of the run. NVIDIA's builds also print a
summary to standard output (``final =  202.6 GF (…``), before the report; old builds print it instead of the
report.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.text import aborts, figure
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults

_VALID = "HPCG result is VALID with a GFLOP/s rating of"
_TIMES, _RATES, _BYTES, _REDUCTIONS = (
    "Benchmark Time Summary",
    "GFLOP/s Summary",
    "GB/s Summary",
    "DDOT Timing Variations",
)
_FINAL = "Final Summary"
_TESTS = (
    "Spectral Convergence Tests",
    "Departure from Symmetry",
    "Iteration Count Information",
    "Reproducibility Information",
)

_SECTIONS = (
    _TIMES,
    _RATES,
    _BYTES,
    _REDUCTIONS,
    _FINAL,
    *_TESTS,
    "Machine Summary",
    "Global Problem Dimensions",
    "Processor Dimensions",
    "Local Domain Dimensions",
    "Setup Information",
    "Linear System Information",
    "Multigrid Information",
    "Memory Use Information",
    "Floating Point Operations Summary",
    "Sparse Operations Overheads",
    "User Optimization Overheads",
)
_LAST_WORDS = (
    "Results are valid but execution time",
    "Please ",
    "Official results execution time",
    "You have selected",
    "After confirmation",
)
"""Beginnings of the lines after a rating; every version prints at least one of them."""

_FIRST_LETTERS = frozenset({" ", "_", "#", "H", "C", "n", "t", "f", "v", *(name[0] for name in _SECTIONS)})
"""The first characters of lines of a report; all other lines are skipped."""

_KERNELS = {"DDOT": "ddot", "WAXPBY": "waxpby", "SpMV": "spmv", "MG": "mg", "SymGS": "symgs"}


_FOMS = (
    declare.higher(
        "rating", "Gflop/s", "the rating: with all overheads of set-up and optimisation", is_primary=True
    ),
    declare.higher("rating_2_4", "Gflop/s", "the rating as HPCG 2.4 defined it"),
    declare.higher("raw", "Gflop/s", "rate of the iterations alone"),
    declare.higher("kernel_rate", "Gflop/s", "rate of one kernel: ddot, waxpby, spmv, mg", "kernel"),
    declare.lower("kernel_time", "s", "time in one kernel", "kernel"),
    declare.lower("time", "s", "time of all iterations"),
    declare.higher("bandwidth", "GB/s", "memory traffic of the iterations, as modelled"),
    declare.lower("allreduce_min", "s", "time in MPI_Allreduce on the rank that waited least"),
    declare.lower("allreduce_max", "s", "time in MPI_Allreduce on the rank that waited most"),
    declare.lower("allreduce_avg", "s", "time in MPI_Allreduce, mean over ranks"),
)

_FIGURES: Mapping[tuple[str, str], tuple[str, str | None]] = {
    (_FINAL, _VALID): ("rating", None),
    (_FINAL, "HPCG 2.4 rating for historical reasons is"): ("rating_2_4", None),
    (_FINAL, "HPCG 2.4 Rating (for historical value) is"): ("rating_2_4", None),
    (_RATES, "Raw Total"): ("raw", None),
    (_TIMES, "Total"): ("time", None),
    (_BYTES, "Raw Total B/W"): ("bandwidth", None),
    **{
        (_REDUCTIONS, f"{kind} DDOT MPI_Allreduce time"): (f"allreduce_{kind.lower()}", None)
        for kind in ("Min", "Max", "Avg")
    },
    **{(_RATES, f"Raw {kernel}"): ("kernel_rate", name) for kernel, name in _KERNELS.items()},
    **{(_TIMES, kernel): ("kernel_time", name) for kernel, name in _KERNELS.items()},
}
"""For each section and key: the figure of merit, and its kernel if it has one."""

_MACHINE, _DOMAIN = "Machine Summary", "Local Domain Dimensions"
_FACTS: Mapping[tuple[str, str], str] = {
    (_MACHINE, "Distributed Processes"): "ranks",
    (_MACHINE, "Threads per processes"): "threads",
    **{(_DOMAIN, name): name for name in ("nx", "ny", "nz")},
}
"""For each section and key: the setting of the run that it reports."""

_INTEL_BANNER = re.compile(r"n[0-9]+-[0-9]+p-[0-9]+t(?: version: .*)?")
"""The first line of a report of Intel's builds: a name made of the run's size, ranks and threads."""

_SUM = re.compile(r"(total|final) = +([0-9]+\.[0-9]) GF \( *[0-9.]+ GB/s Effective\) .*")
_SUMS = {"total": "raw", "final": "rating"}
"""NVIDIA's names of the rate of the iterations alone, and of the rate with all overheads."""

_DESCRIPTION = """\
Solves a sparse system of nx × ny × nz equations a rank by preconditioned conjugate gradients, for time_s
seconds. Bound by memory bandwidth, with halo exchanges and an MPI_Allreduce in every dot product. Official
results take 1800 s and fill at least a quarter of the memory (104³ a rank is about 1 GB).

Build `xhpcg` from https://github.com/hpcg-benchmark/hpcg. It writes HPCG-Benchmark*.txt; builds by Intel and
NVIDIA write the same report elsewhere, which `tare parse hpcg` reads too. A result that HPCG calls INVALID (a
residual that differs, a failed symmetry test) does not count."""

_DIMENSIONS = ("nx", "ny", "nz")
_COARSENINGS = 8  # three coarser grids, each of half as many points in each direction (hpcg main.cpp)


_OPTIONS = {"--nx": "set nx", "--ny": "set ny", "--nz": "set nz", "--rt": "set time_s"}
"""HPCG's options for which the workload has a parameter, and what to do instead."""


class HpcgBenchmark(Benchmark, frozen=True, kw_only=True):
    """The HPCG benchmark."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each dimension that cannot be coarsened three times, and for parts of seconds."""
        for name in _DIMENSIONS:
            size = int(case.parameters[name])
            if size and (size < 2 * _COARSENINGS or size % _COARSENINGS):
                near = max(size // _COARSENINGS, 2) * _COARSENINGS
                yield f"{name} is {size}, but HPCG needs multiples of 8 from 16 on; set {name}: {near}"
        yield from option_faults(case, self.name, _OPTIONS)
        yield from whole_seconds_faults(case, "HPCG", "time_s")

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of xhpcg; with some MPIs its options need their prefixes (hpcg init.cpp)."""
        side = case.parameters["nx"]
        sizes = (f"--{name}={case.parameters[name] or side}" for name in _DIMENSIONS)
        return (Stage(argv=("xhpcg", *sizes, f"--rt={float(case.parameters['time_s']):.0f}")),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the reports, one per run."""
        return _Log(self.foms).parse(lines)


@dataclasses.dataclass
class _Report:
    """One report: its figures by section and key, its settings, and its failed tests."""

    figures: dict[tuple[str, str], str] = dataclasses.field(default_factory=dict)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    failures: list[str] = dataclasses.field(default_factory=list)
    is_invalid: bool = False
    is_whole: bool = False


class _Log(LogParser):
    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._reports: list[_Report] = []
        self._section = ""
        self._has_residuals = False
        self._is_early = False
        self._sums: dict[str, float] = {}

    def read(self, line: str) -> None:
        if "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")
        if line[:1] not in _FIRST_LETTERS:
            return
        if "::" in line:
            path, _, value = line.partition("=")
            section, _, key = path.partition("::")
            self._read_value(section.strip(), key.strip(), value.strip())
        elif line.startswith("HPCG-Benchmark") or (line[0] == "n" and _INTEL_BANNER.fullmatch(line)):
            self._reports.append(_Report())
            self._findings.begin()
            self._section = ""
        elif line.startswith("version=") and self._reports and not self._section:
            self._reports[-1].facts["program_version"] = line.removeprefix("version=").strip()
        elif line[-1:] in (":", "="):
            name = line.strip("_#*:= ")
            self._section = name if name.startswith(_SECTIONS) else self._section
        elif self._section and ": " in line and line[:1] == " ":
            key, _, value = line.partition(": ")
            self._read_value(self._section, key.strip(), value.strip())
        elif line.startswith(_SECTIONS):
            self._read_words(line)
        elif line[0] in "tf" and (rate := _SUM.fullmatch(line)):
            self._sums[_SUMS[rate[1]]] = float(rate[2])
        elif "Residual [" in line:
            self._has_residuals = True
            if "nan]" in line or "inf]" in line:
                self._findings.problem("a residual is not a number; HPCG diverged")

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end, if it is a closing remark: its beginning is enough."""
        if line.partition("::")[2].startswith(_LAST_WORDS) or line.strip().startswith(_LAST_WORDS):
            self.read(line)

    def _read_words(self, line: str) -> None:
        """Read a line ``section key value``, separated by blanks."""
        section = next(name for name in _SECTIONS if line.startswith(name))
        rest = line[len(section) :].strip()
        key, _, value = rest.rpartition(" ")
        name = section, key.strip()
        is_figure = name in _FIGURES or name in _FACTS or key.strip() == "Result"
        self._read_value(section, key.strip(), value) if is_figure else self._read_value(section, rest, "")

    def _read_value(self, section: str, key: str, value: str) -> None:
        if not self._reports:
            self._is_early |= (section, key) in _FIGURES
            return
        report = self._reports[-1]
        if (section, key) in _FIGURES:
            if report.figures.get((section, key), value) != value:
                self._findings.mixed(f"{key} is in one report twice")
            report.figures[section, key] = value
            self._findings.keep()
        elif (section, key) in _FACTS:
            if value.isdecimal() and len(value) < 10:
                report.facts[_FACTS[section, key]] = int(value)
        elif section == _FINAL:
            report.is_whole |= key.startswith(_LAST_WORDS)
            report.is_invalid |= key.startswith("HPCG result is") and "INVALID" in key + value
        elif key == "Result" and value == "FAILED":
            report.failures.append(section)
            self._findings.keep()

    def parsed(self) -> Parsed:
        findings, reports = self._findings, self._reports
        if not reports and self._has_residuals:
            findings.problem("this is HPCG's log of residuals; the rating is in HPCG-Benchmark*.txt")
        elif not reports and self._sums:
            for fom, value in self._sums.items():
                findings.measure(fom, value)
            findings.problem("NVIDIA's summary does not show whether the result is VALID; HPCG's report does")
        elif not reports:
            findings.problem("the output holds no report of HPCG")
        if reports and self._is_early:
            findings.mixed("figures before the beginning of their report")
        points = coordinates([report.facts for report in reports])
        for number, (report, at) in enumerate(zip(reports, points, strict=True), start=1):
            findings.record_facts(**report.facts)
            name = f"run {number} of HPCG" if len(reports) > 1 else "HPCG"
            for (section, key), text in report.figures.items():
                fom, kernel = _FIGURES[section, key]
                self._measure(fom, text, at | ({"kernel": kernel} if kernel else {}), f"{name}: {key}")
            for problem in _problems(report):
                findings.problem(f"{name} {problem}")
        return findings.parsed(is_complete=bool(reports) and all(_is_complete(one) for one in reports))

    def _measure(self, fom: str, text: str, at: Mapping[str, Scalar], name: str) -> None:
        value = figure(text)
        if value is None:
            self._findings.problem(f"{name} is {text!r}, which is no number")
        else:
            self._findings.measure(fom, value, **at)


def _is_complete(report: _Report) -> bool:
    is_rated = report.is_invalid or (_FINAL, _VALID) in report.figures
    return report.is_whole and is_rated and (_TIMES, "Total") in report.figures


def _is_of_version_3(report: _Report) -> bool:
    return str(report.facts.get("program_version", "")).startswith("3.")


def _lacks_old_rating(report: _Report) -> bool:
    """Return whether a report of HPCG 3 has a rating without that of version 2.4, which it always prints."""
    foms = {_FIGURES[key][0] for key in report.figures}
    return _is_of_version_3(report) and report.is_whole and "rating" in foms and "rating_2_4" not in foms


def _missing(report: _Report) -> set[str]:
    """Return the kernels that lack their time or their rate, and the totals that are missing.

    If only some of the three figures of MPI_Allreduce are there, return the name of their section.
    """
    kinds = {key.split()[0] for section, key in report.figures if section == _REDUCTIONS}
    if ("Min" in kinds) != ("Max" in kinds) or (kinds and "Avg" not in kinds):
        return {_REDUCTIONS}
    timed, rated = (
        {kernel for fom, kernel in map(_FIGURES.__getitem__, report.figures) if fom == name and kernel}
        for name in ("kernel_time", "kernel_rate")
    )
    lost = timed ^ rated if timed and rated else set()
    foms = {_FIGURES[key][0] for key in report.figures}
    if "kernel_rate" in foms and "raw" not in foms:
        lost.add("GFLOP/s Summary::Raw Total")
    if _is_of_version_3(report) and report.is_whole and "kernel_rate" in foms and not kinds:
        lost.add(_REDUCTIONS)
    if _is_of_version_3(report) and "kernel_rate" in foms and "bandwidth" not in foms:
        lost.add("GB/s Summary::Raw Total B/W")
    return lost


def _problems(report: _Report) -> Iterator[str]:
    if missing := _missing(report):
        yield f"lacks lines of {', '.join(sorted(missing))}"
    if _lacks_old_rating(report):
        yield "lacks its line of the HPCG 2.4 rating"
    if report.is_invalid:
        yield "calls its result INVALID"
    for section in report.failures:
        yield f"failed its test: {section}"
    if not _is_complete(report):
        yield "wrote only a part of its report; the run did not come to its end"


WORKLOADS = (
    HpcgBenchmark(
        name="hpcg",
        summary="Conjugate gradients on a sparse grid: memory bandwidth, halo exchange and reductions.",
        description=_DESCRIPTION,
        parameters=(
            declare.whole("nx", 104, "points of each rank's grid in x: a multiple of 8", minimum=0),
            declare.whole("ny", 0, "the same in y; 0 means as many as nx", minimum=0),
            declare.whole("nz", 0, "the same in z; 0 means as many as nx", minimum=0),
            declare.seconds(
                "time_s", 60.0, "time of the timed iterations; official results need 1800", minimum=1
            ),
        ),
        foms=_FOMS,
        output="HPCG-Benchmark*",
    ),
)
