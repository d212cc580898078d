"""What workloads have in common: their constant parts, and the collecting of findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Self

import msgspec

from tare.model.case import Case
from tare.model.values import Scalar, Settings
from tare.model.workload import Fom, Measurement, Parameter, Parsed
from tare.workloads.common.room import MOST_FIGURES, Room
from tare.workloads.common.text import Sieve, plain

_FRAME = 4
"""How many figures a run or a table weighs by itself."""
_MOST_PROBLEMS = 20
"""Enough to see what is wrong; a broken log of any length stays small in memory."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a workload that is plain data (see model.Workload); a family adds `stages` and `parse`."""

    name: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    foms: tuple[Fom, ...] = ()
    output: str = "stdout"
    digest: str | None = None
    needs_transport: bool = True

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        """Return no further names."""
        return {}

    def faults(self, case: Case) -> Iterable[str]:
        """Find nothing that keeps `case` from running."""
        return ()

    def expecting(self, case: Case) -> Self:
        """Return the workload as it is: its output tells by itself whether it is complete."""
        return self


def tell_apart(number: int, count: int) -> dict[str, Scalar]:
    """Return the coordinate of run `number` of the `count` runs in one output: none where it is alone."""
    return {"run": number} if count > 1 else {}


class Findings:
    """What a parser has found so far; `foms` give the units, and nothing else may be measured.

    A parser reads the output through `lines`, and tells by `keep` and `begin` what it holds on to until the
    end: then an output of any length takes no more memory than one of `room.MOST_FIGURES` figures.
    """

    def __init__(self, foms: Iterable[Fom]) -> None:
        self._units = {fom.name: fom.unit for fom in foms}
        self._measurements: list[Measurement] = []
        self._last_at: Mapping[str, Scalar] = {}
        self._problems: dict[str, None] = {}
        self._room = Room(MOST_FIGURES)

    def lines(
        self,
        output: Iterable[str],
        on_torn: Callable[[str], None] | None = None,
        *,
        keeps_blanks: bool = False,
        watch: Callable[[list[str], str], None] | None = None,
        sieve: Sieve | None = None,
    ) -> Iterator[str]:
        """Yield the lines of `output` (see text.plain) until more is kept than there is room for."""
        return plain(output, on_torn, keeps_blanks=keeps_blanks, watch=watch, sieve=sieve, room=self._room)

    def keep(self, n_figures: int = 1) -> None:
        """Take room for figures, which are kept until `parsed`."""
        self._room.take(n_figures)

    def begin(self) -> None:
        """Take room for a run or a table, which is kept even where it never gets a figure."""
        self._room.take(_FRAME)

    def measure(self, fom: str, value: float, **at: Scalar) -> None:
        """Record one value with its coordinates; one that is not finite is a problem instead."""
        if math.isfinite(value):
            if at != self._last_at:  # the figures of one row share their coordinates
                self._last_at = at
            unit = self._units[fom]
            self._measurements.append(Measurement(fom=fom, value=value, unit=unit, at=self._last_at))
        else:
            place = "".join(f" at {name} {coordinate}" for name, coordinate in at.items())
            self.problem(f"{fom}{place} is {value}, which is no measurement")

    def problem(self, sentence: str) -> None:
        """Record why the run must not count; the same sentence is kept once."""
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.setdefault(sentence)

    def parsed(
        self, *, is_complete: bool, payload_bytes: int | None = None, is_end_told: bool = True
    ) -> Parsed:
        """Return everything found."""
        fault = self._room.fault
        return Parsed(
            measurements=tuple(self._measurements),
            is_complete=is_complete and fault is None,
            problems=(*([fault] if fault else []), *self._problems),
            payload_bytes=payload_bytes,
            is_end_told=is_end_told,
        )
