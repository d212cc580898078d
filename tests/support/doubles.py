"""Doubles of parts that stand at the outermost seam; each name says what it stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tare.core.attempt import Attempt
from tare.core.case import Case
from tare.core.values import Scalar, Settings
from tare.core.workload import Better, Fom, Measurement, Parameter, ParameterKind, Parsed, Stage


class DoubleWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with two parameters; its output is one line ``value: NUMBER``."""

    name: str = "double"
    summary: str = "stands for a benchmark"
    description: str = ""
    parameters: tuple[Parameter, ...] = (
        Parameter(name="size", kind=ParameterKind.WHOLE, default=1, summary="problem size"),
        Parameter(name="mode", kind=ParameterKind.TEXT, default="fast", summary="how"),
    )
    foms: tuple[Fom, ...] = (Fom(name="value", unit="s", better=Better.LOWER, is_primary=True),)
    output: str = "stdout"
    digest: str | None = None
    needs_transport: bool = False
    refusal: str = ""
    argv: tuple[str, ...] = ("sh", "-c", "echo value: 1.0")
    stage_list: tuple[Stage, ...] = ()

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        return {"twice": int(settings["size"]) * 2}

    def faults(self, case: Case) -> Iterable[str]:
        if self.refusal:
            yield self.refusal

    def stages(self, case: Case) -> tuple[Stage, ...]:
        return self.stage_list or (Stage(argv=self.argv, is_mpi=False, layout=case.layout),)

    def expecting(self, case: Case) -> DoubleWorkload:
        return self

    def parse(self, lines: Iterable[str]) -> Parsed:
        for line in lines:
            name, _, value = line.partition(":")
            if name == "value":
                found = Measurement(fom="value", value=float(value.split()[0]), unit="s")
                return Parsed(measurements=(found,), is_complete=True)
        return Parsed(problems=("no line 'value:'",))


class MemoryLog:
    """Stands for the journal: keeps in memory what the loop records."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, list[str]]] = []
        self.again: list[tuple[int, list[str]]] = []
        self.began: list[tuple[int, str, int]] = []
        self.ended: list[Attempt] = []

    def block_began(self, block: int, order: list[str], again: list[str]) -> None:
        self.blocks.append((block, order))
        self.again.append((block, again))

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        self.began.append((block, case, attempt))

    def attempt_ended(self, attempt: Attempt) -> None:
        self.ended.append(attempt)
