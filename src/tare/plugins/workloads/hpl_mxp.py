"""HPL-MxP, Linpack in mixed precision: `hpl_mxp` (https://hpl-mxp.org).

It factorises the matrix in low precision and refines the solution to double precision; the rate counts the
operations of HPL. AMD's build prints the tables of HPL, with short variants such as ``WR0``. NVIDIA's prints
one block for each test and loop::

    ****** test 1 of 1 starts ******
    ****** test loop 1 of 1 starts ******
    ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) =    1.717556E-05 ...... PASSED

      N = 353280, NB = 3072, NPROW = 4, NPCOL = 4, SLOPPY-TYPE = FP16
         GFLOPS = 4.5777e+06, per GPU =  286105.60 ------ The HPL-MxP performance to report
      LU GFLOPS = 6.0980e+06, per GPU =  381127.94 ------ The performance excluding the iterative solver part
    ****** test loop 1 of 1 done   ******
    ****** test 1 of 1 done   ******
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.counting import count
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, coordinates
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.text import figure
from tare.plugins.workloads.hpl import HplLog
from tare.plugins.workloads.hpl_input import grid

_BANNER = "HPL-MxP-NVIDIA "
_PART = re.compile(r"\*{6} test (loop )?([0-9]{1,6}) of ([0-9]{1,6}) (starts|done) +\*{6}")
_VERDICT = re.compile(r"\|\|Ax-b\|\|_oo / \(EPS .*= +(\S+) \.{6} (\w+)")
_SIZE = re.compile(
    r"N = ([0-9]{1,12}), NB = ([0-9]{1,9}), NPROW = ([0-9]{1,9}), NPCOL = ([0-9]{1,9})"
    r"(?:, SLOPPY-TYPE = (\w+))?"
)
_RATE = re.compile(r"(LU )?GFLOPS = ([0-9]\.[0-9]{4}e[+-][0-9]{2,3}), per GPU = +([0-9]+\.[0-9]{2}) -.*")
_DIGITS = 0.001
"""Relative difference allowed between a rate and its part per GPU, which have five digits or more."""

_DESCRIPTION = """\
Solves one dense system of order `n` by LU factorisation in low precision (FP16, FP8), with the diagonal made
dominant, and refines the solution to double precision. Reports the rate in Gflop/s of HPL's operations, with
the refinement (gflops) and without (lu_gflops). It must not be compared with HPL's rate.

`program` is NVIDIA's hpl-mxp.sh (https://docs.nvidia.com/nvidia-hpc-benchmarks/), one rank a GPU; `tare parse
hpl_mxp` also reads AMD's rocHPL-MxP. A run counts only when every residual check has PASSED."""


_OPTIONS = {"--n": "set n", "--nb": "set nb", "--nprow": "set ranks", "--npcol": "set ranks"}
"""The program's options for which the workload has a setting, and what to do instead."""


class HplMxp(Benchmark, frozen=True, kw_only=True):
    """The Linpack benchmark in mixed precision."""

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of NVIDIA's program, on the most square grid of ranks."""
        asked, (rows, columns) = case.parameters, grid(case.layout.ranks)
        argv = [str(asked["program"]), "--n", str(asked["n"]), "--nb", str(asked["nb"])]
        argv += ["--nprow", str(rows), "--npcol", str(columns), "--nporder", "row"]
        return (Stage(argv=tuple(argv)),)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault if the matrix is less than one block."""
        n, nb = int(case.parameters["n"]), int(case.parameters["nb"])
        if n < nb:
            yield f"the order of the matrix, {n}, is less than one block, nb {nb}; set n: {nb}"
        yield from option_faults(case, self.name, _OPTIONS)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the result of every test (see core.workload.Workload.parse)."""
        return _Log(self.foms).parse(lines)


@dataclasses.dataclass
class _Result:
    """The result of one loop of a test, as far as it was printed."""

    verdict: tuple[str, str]
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    figures: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return int(self.facts.get("p", 0)) * int(self.facts.get("q", 0))


@dataclasses.dataclass
class _Run:
    """One start of the program: its results, and the tests and loops that it announced."""

    results: list[_Result] = dataclasses.field(default_factory=list)
    n_announced: int = 0
    n_tests: int = 0
    is_finished: bool = False

    def faults(self) -> Iterator[str]:
        """Yield what is missing."""
        if not self.is_finished:
            yield "the output lacks the line 'test … done' of the last test; the run did not come to its end"
        n_whole = sum(one.figures.keys() == {"gflops", "lu_gflops"} for one in self.results)
        if not 0 < n_whole == len(self.results) == self.n_announced:
            yield f"HPL-MxP announces {count(self.n_announced, 'result')}, and the output holds {n_whole}"


class _Log(HplLog):
    """Collects the blocks of NVIDIA's program; anything else is read as AMD's."""

    banner = Banner(_BANNER, rf"{_BANNER}(\S+)")
    is_mixed = True

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._blocks: list[_Run] = []

    def read(self, line: str) -> None:
        """Read one line."""
        if line.startswith(_BANNER):
            self._blocks.append(_Run())
            self._findings.begin()
        elif not self._blocks:
            super().read(line)
        elif "****** test " in line:
            self._read_part(self._blocks[-1], line.strip())
        elif "||Ax-b||_oo / (" in line:
            self._read_verdict_of_block(line.strip())
        elif "NPROW = " in line or "GFLOPS = " in line:
            self._read_result(line.strip())

    def _read_part(self, run: _Run, line: str) -> None:
        """Read where a test or one of its loops starts or ends."""
        if (part := _PART.fullmatch(line)) is None:
            return
        is_loop, number, count = part[1] is not None, int(part[2]), int(part[3])
        if part[4] == "done":
            run.is_finished |= not is_loop and number == count == run.n_tests
        elif not is_loop:
            run.n_tests += 1
        elif number == 1:
            run.n_announced += count

    def _read_verdict_of_block(self, line: str) -> None:
        if (match := _VERDICT.fullmatch(line)) is None:
            return
        self._blocks[-1].results.append(_Result((match[1], match[2])))
        self._findings.begin()

    def _read_result(self, line: str) -> None:
        """Read the size of a test, or one of its rates; they follow the verdict on its residual."""
        result = self._blocks[-1].results[-1] if self._blocks[-1].results else None
        if size := _SIZE.fullmatch(line):
            if result is None or result.facts:
                self._findings.mixed("a result without its residual check")
                return
            result.facts = dict(zip(("n", "nb", "p", "q"), map(int, size.groups()[:4]), strict=True))
            result.facts |= {"precision": size[5]} if size[5] else {}
        elif rate := _RATE.fullmatch(line):
            name = "lu_gflops" if rate[1] else "gflops"
            if result is None or not result.facts or name in result.figures:
                self._findings.mixed("a rate without its size")
                return
            result.figures[name] = float(rate[2])
            if not math.isclose(float(rate[3]) * result.ranks, float(rate[2]), rel_tol=_DIGITS):
                self._findings.mixed("a rate that is not the sum of its GPUs'")

    def parsed(self) -> Parsed:
        """Return the results; they are complete if there are as many as the program announced."""
        if not self._blocks:
            return super().parsed()
        findings, runs = self._findings, [run for run in self._blocks if run.n_tests] or self._blocks
        faults = [fault for run in runs for fault in run.faults()]
        findings.problems(faults)
        results = [result for run in runs for result in run.results if result.figures]
        for result, at in zip(results, coordinates([one.facts for one in results]), strict=True):
            residual, verdict = result.verdict
            value = figure(residual)
            if verdict != "PASSED" or value is None or math.isnan(value):
                findings.problem(
                    f"the residual of the test with N {result.facts['n']} is {residual}: {verdict}"
                )
            findings.record_facts(n=result.facts["n"], nb=result.facts["nb"], ranks=result.ranks)
            for fom, rate in result.figures.items():
                findings.measure(fom, rate, **at)
        return findings.parsed(is_complete=bool(results) and not faults)


WORKLOADS = (
    HplMxp(
        name="hpl_mxp",
        summary="LU factorisation in mixed precision on GPUs, refined to double precision.",
        description=_DESCRIPTION,
        parameters=(
            declare.text("program", "hpl-mxp.sh", "the program"),
            declare.whole("n", 92160, "order of the matrix (--n)", minimum=1),
            declare.whole("nb", 1024, "block size (--nb)", minimum=1),
        ),
        foms=(
            declare.higher("gflops", "Gflop/s", "HPL's operations per second, in 10⁹", is_primary=True),
            declare.higher("lu_gflops", "Gflop/s", "the same without the refinement"),
            declare.lower("time", "s", "AMD's build: time to solve the system"),
        ),
    ),
)
