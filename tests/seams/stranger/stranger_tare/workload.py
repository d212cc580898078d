"""A workload of a stranger's: each rank says its number, after a while."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tare.core.case import Case
from tare.core.workload import Better, Fom, Parameter, ParameterKind, Parsed, Stage
from tare.plugins.workloads.common.benchmark import Benchmark, Findings

_LINE = re.compile(r"rank \d+ took ([\d.]+) s")
_PROGRAM = 'sleep "0.0$1"; echo "rank ${STRANGER_RANK:-?} took 0.0$1 s"'


class Hello(Benchmark, frozen=True, kw_only=True):
    """Says hello from every rank."""

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the one call."""
        argv = ("/bin/sh", "-c", _PROGRAM, "hello", str(case.parameters["hundredths"]))
        return (Stage(argv=argv, is_mpi=True),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read what each rank says."""
        findings = Findings(self.foms)
        is_complete = False
        for line in findings.lines(lines):
            if said := _LINE.fullmatch(line):
                if not is_complete:
                    findings.measure("time", float(said[1]))
                is_complete = True
        return findings.parsed(is_complete=is_complete)


WORKLOADS = (
    Hello(
        name="stranger.hello",
        summary="Each rank says hello.",
        parameters=(
            Parameter(
                name="hundredths", kind=ParameterKind.WHOLE, default=1, summary="Hundredths of a second."
            ),
        ),
        foms=(Fom(name="time", unit="s", better=Better.LOWER, is_primary=True),),
    ),
)
