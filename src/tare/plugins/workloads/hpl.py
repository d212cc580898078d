"""HPL, the High-Performance Linpack: `hpl` (https://www.netlib.org/benchmark/hpl/).

Each test of a sweep prints a row (HPL_pdtest.c: ``W`` and the encoded variant, N, NB, P, Q, time, Gflops) and
then the verdicts on its residuals: three in HPL 1.x, one in later versions. A footer counts the tests. The
builds of Intel, NVIDIA and AMD add columns and progress lines; the rates in progress lines are not results.

A row of a test and its verdict::

    WR11C2R4      231168   192     4     8            9235.92             9.3295e+02
    ||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   1.23100920e-03 ...... PASSED
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.left_out import too_small
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.text import aborts, figure
from tare.plugins.workloads.hpl_input import SIZE_PARAMETERS, hpl_dat, is_rate_of, size_faults

_NUMBER = r"([-+*.0-9a-zA-Z()]+)"
_ROW = re.compile(
    r"\s*(W[RC]\w+)(?:\s+[0-9]+(?=(?:\s+[0-9]+){4}\s+[0-9]))?"  # AMD's build has a column SWP before N
    rf"\s+([0-9]{{1,15}})\s+([0-9]{{1,15}})\s+([0-9]{{1,15}})\s+([0-9]{{1,15}})\s+{_NUMBER}\s+{_NUMBER}"
    rf"(?:\s+\(\s*{_NUMBER}\s*\))?"
)
_TORN_ROW = re.compile(r"\s*W[RC]C?[0-9]\w*\s+[0-9]+\s")
_MANTISSA = re.compile(r"[0-9]\.[0-9]+e[+-][0-9]{2,3}")
"""The format of HPL's rates; a rate that was cut short does not match."""
_RESIDUAL = re.compile(r"\s*\|\|Ax-b\|\|.*=\s*(\S+)\s+\.\.\.\.\.\. (\w+)")
_LAST_DIGIT = 0.006
"""How much a time with two decimals may differ from the measured one, in seconds."""
_IS_MIXED = "the output is HPL-MxP's, in mixed precision; read it as hpl_mxp"
_IS_DOUBLE = "the output is HPL's, in double precision; read it as hpl"
_COUNT = re.compile(r"\s*([0-9]+) tests (completed|skipped)(?: and (passed|failed)| without)?")

_DESCRIPTION = """\
Solves one dense system of order N by LU factorisation with row pivoting, and reports the rate in Gflop/s. N
comes from `memory`, a share of all nodes' memory, or is given as `n`; the grid of ranks is the most square
one with P ≤ Q. The rate rises with N, so compare only runs of the same N.

Build `xhpl` from https://www.netlib.org/benchmark/hpl/ against a tuned BLAS. A run counts only when every
residual check has PASSED: a wrong result can be fast. `tare parse hpl` reads sweeps of any size, and the
builds of Intel, NVIDIA and AMD."""


class HplBenchmark(Benchmark, frozen=True, kw_only=True):
    """The Linpack benchmark."""

    def faults(self, case: Case) -> Iterable[str]:
        """Return the reasons why the size of the matrix is unknown or invalid."""
        return size_faults(case)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of xhpl, with its input file."""
        return (Stage(argv=("xhpl",), files={"HPL.dat": hpl_dat(case)}),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the row of every test, its verdicts, and the footer."""
        return HplLog(self.foms).parse(lines)


@dataclasses.dataclass
class _Test:
    """One row, with the verdicts after it."""

    variant: str
    n: int
    nb: int
    p: int
    q: int
    time: float
    gflops: float
    verdicts: list[str] = dataclasses.field(default_factory=list)
    is_mixed: bool = False

    @property
    def name(self) -> str:
        return f"the test {self.variant} with N {self.n}"


@dataclasses.dataclass
class _Run:
    """One run of HPL: its tests, and the counts in its footer."""

    tests: list[_Test] = dataclasses.field(default_factory=list)
    completed: int = 0
    failed: int = 0
    skipped: int = 0
    is_unchecked: bool = False
    is_finished: bool = False

    def faults(self) -> Iterator[str]:
        if not self.is_finished:
            yield "the output lacks HPL's closing line; the run did not come to its end"
        elif self.completed != len(self.tests):
            yield f"HPL counts {self.completed} completed tests, and the output holds {len(self.tests)}"
        for test in self.tests:
            if not test.verdicts and not self.is_unchecked:
                yield f"{test.name} has no residual check"


class HplLog(LogParser):
    """Collects the tests of a log, and the verdicts on their residuals."""

    banner = Banner("HPLinpack ", r"HPLinpack (\S+)  --")
    is_mixed: ClassVar[bool] = False
    """Whether the rates are those of HPL-MxP, which factorises the matrix in low precision."""

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[_Run] = []

    def read(self, line: str) -> None:
        """Read one line."""
        # Rows start with W; every other line that is needed contains one of these words.
        if line.startswith("W") or " W" in line[:40]:
            self._read_row(line)
        elif "||Ax-b||" in line or " tests " in line or line.startswith(("HPLinpack ", "End of T")):
            self._read_status(line)
        elif line.startswith("HPLMXP_pdgesv()"):  # rocHPL-MxP; nothing else tells it from HPL
            if self._run().tests:
                self._run().tests[-1].is_mixed = True
        elif line.startswith(("HPL-MxP", "HPL-AI")):
            self._findings.problem(_IS_MIXED)
        elif line.startswith("HPL ERROR"):
            self._findings.problem(f"HPL printed: {line[:200]}")
        elif "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")

    def _run(self) -> _Run:
        if not self._runs:
            self._runs.append(_Run())
        return self._runs[-1]

    def _read_row(self, line: str) -> None:
        """Read a line that may be the row of a test."""
        match = _ROW.fullmatch(line)
        time, gflops = (figure(match[6]), figure(match[7])) if match else (None, None)
        if match is None or time is None or gflops is None:
            if _TORN_ROW.match(line):
                self._findings.problem(f"HPL's table has a broken row: {' '.join(line.split())}")
            return
        if not math.isnan(gflops) and not _MANTISSA.fullmatch(match[7]):
            self._findings.problem(f"HPL's table has a broken row: {' '.join(line.split())}")
            return
        n, nb, p, q = (int(word) for word in match.group(2, 3, 4, 5))
        self._run().tests.append(_Test(match[1], n, nb, p, q, time, gflops))
        self._findings.begin()

    def _read_status(self, line: str) -> None:
        """Read a banner, a verdict, or a line of the footer."""
        if line.startswith("HPLinpack"):
            self._runs.append(_Run())
            self._findings.begin()
        elif line.startswith("End of Tests."):
            self._run().is_finished = True
        elif "||Ax-b||" in line:
            self._read_verdict(line)
        elif count := _COUNT.match(line):
            self._read_count(int(count[1]), count[2], count[3])

    def _read_verdict(self, line: str) -> None:
        match = _RESIDUAL.match(line)
        if match is None or not self._run().tests:
            return
        test = self._run().tests[-1]
        residual, verdict = match.groups()
        test.verdicts.append(verdict)
        self._findings.keep()
        value = figure(residual)
        if verdict != "PASSED" or value is None or math.isnan(value):
            self._findings.problem(f"the residual of {test.name} is {residual}: {verdict}")

    def _read_count(self, number: int, what: str, verdict: str | None) -> None:
        run = self._run()
        if what == "skipped":
            run.skipped = number
        else:
            run.completed += number
            run.failed += number if verdict == "failed" else 0
            run.is_unchecked |= verdict is None

    def parsed(self) -> Parsed:
        """Return the tests as measurements; they are complete if every footer counts as many tests."""
        # A failed start without tests that was repeated in the same log is ignored.
        runs = [run for run in self._runs if run.tests or run.is_finished] or self._runs
        found = [test for run in runs for test in run.tests]
        tests = [test for test in found if test.is_mixed == self.is_mixed]
        if len(tests) < len(found):
            self._findings.problem(_IS_DOUBLE if self.is_mixed else _IS_MIXED)
        if not found:
            self._findings.problem("the output holds no result of HPL")
        faults = [fault for run in runs for fault in run.faults()]
        for run in runs:
            if run.failed:
                failed = count(run.failed, "test")
                self._findings.problem(f"HPL counts {failed} whose residual check failed")
            if run.skipped:
                self._findings.problem(
                    f"HPL skipped {count(run.skipped, 'test')} because of illegal input values"
                )
        self._findings.problems(faults)
        for test in tests:
            if not is_rate_of(test.n, test.time, test.gflops, _LAST_DIGIT):
                words = f"{test.variant} {test.n} {test.time:.2f} {test.gflops:.4e}"
                self._findings.problem(f"the rate of a row of HPL is not that of its size and time: {words}")
        for test, at in zip(tests, coordinates([_facts(test) for test in tests]), strict=True):
            self._findings.record_facts(n=test.n, nb=test.nb, ranks=test.p * test.q)
            self._findings.measure("gflops", test.gflops, **at)
            if test.time != 0:
                self._findings.measure("time", test.time, **at)
            else:  # it is less than 5 ms
                self._findings.leave_out("time", too_small("0.00"), at)
        return self._findings.parsed(is_complete=bool(tests) and not faults)


def _facts(test: _Test) -> dict[str, Scalar]:
    return {"n": test.n, "nb": test.nb, "p": test.p, "q": test.q, "variant": test.variant}


WORKLOADS = (
    HplBenchmark(
        name="hpl",
        summary="LU factorisation of one dense matrix: floating-point rate, and broadcasts along it.",
        description=_DESCRIPTION,
        parameters=SIZE_PARAMETERS,
        foms=(
            declare.higher(
                "gflops",
                "Gflop/s",
                "10⁹ floating-point operations per second",
                is_primary=True,
                limit=Resource.FLOPS,
            ),
            declare.lower("time", "s", "time to solve the system"),
        ),
    ),
)
