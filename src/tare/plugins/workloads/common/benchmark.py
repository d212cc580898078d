"""What workloads have in common: their constant parts, and the collecting of findings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.values import Scalar, Settings
from tare.core.workload import Fom, Measurement, Parameter, Parsed
from tare.plugins.workloads.common.output_limit import MOST_FIGURES, OutputLimit
from tare.plugins.workloads.common.text import Sieve, colourless, plain

_FRAME = 4
"""How many figures a run or a table weighs by itself."""
_MOST_PROBLEMS = 20
"""Enough to see what is wrong; a broken log of any length stays small in memory."""
_MOST_VALUES = 100
"""Of one fact in one output; what varies more is no setting of it."""


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


def coordinates(facts: Sequence[Mapping[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Return what tells the runs of one output apart, of which each printed its `facts`.

    These are the facts in which they differ, and `run` only where facts repeat: a number says nothing of what
    was measured.
    """
    names = dict.fromkeys(name for one in facts for name in one)
    varied = [name for name in names if len({one.get(name) for one in facts}) > 1]
    places = [tuple((name, one[name]) for name in varied if name in one) for one in facts]
    n_repeats = max(Counter(places).values(), default=0)
    seen = Counter[tuple[tuple[str, Scalar], ...]]()
    found = []
    for place in places:
        seen[place] += 1
        found.append(dict(place) | tell_apart(seen[place], n_repeats))
    return found


def tell_apart(number: int, count: int) -> dict[str, Scalar]:
    """Return the coordinate of run `number` of the `count` runs in one output: none where it is alone."""
    return {"run": number} if count > 1 else {}


class Banner:
    """How a program prints its own version: group 1 of `pattern`, in lines that hold `word`."""

    def __init__(self, word: str, pattern: str) -> None:
        self._word = word
        self._search = re.compile(pattern).findall

    def versions(self, text: str) -> list[str]:
        """Return the versions in `text`."""
        return self._search(colourless(text)) if self._word in text else []


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
        self._printed: dict[str, dict[Scalar, None]] = {}
        self._room = OutputLimit(MOST_FIGURES)

    def lines(
        self,
        output: Iterable[str],
        on_torn: Callable[[str], None] | None = None,
        *,
        keeps_blanks: bool = False,
        watch: Callable[[list[str], str], None] | None = None,
        sieve: Sieve | None = None,
        banner: Banner | None = None,
    ) -> Iterator[str]:
        """Yield the lines of `output` (see text.plain) until more is kept than there is room for.

        The versions that the program's `banner` tells are recorded as printed.
        """
        look = watch

        def look_twice(batch: list[str], text: str) -> None:
            for version in banner.versions(text) if banner else ():
                self.say(program_version=version)
            if watch is not None:
                watch(batch, text)

        if banner is not None:
            look = look_twice
        return plain(output, on_torn, keeps_blanks=keeps_blanks, watch=look, sieve=sieve, room=self._room)

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
            unit = self._units.get(fom)
            if unit is None:
                self.problem(f"the output holds {fom}, which is a figure of another program")
                return
            self._measurements.append(Measurement(fom=fom, value=value, unit=unit, at=self._last_at))
        else:
            place = "".join(f" at {name} {coordinate}" for name, coordinate in at.items())
            self.problem(f"{fom}{place} is {value}, which is no measurement")

    def say(self, **facts: Scalar) -> None:
        """Record what the program printed of itself, such as ``ranks=4``; a value is kept once."""
        for name, value in facts.items():
            values = self._printed.setdefault(name, {})
            if len(values) < _MOST_VALUES:
                values.setdefault(value)

    def mixed(self, what: str) -> None:
        """Record that the output cannot be read as one run after the other, because of `what`."""
        self.problem(f"lines of several runs are mixed, doubled or out of order: {what}")

    def problem(self, sentence: str) -> None:
        """Record why the run must not count; the same sentence is kept once."""
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.setdefault(sentence)

    def parsed(
        self,
        *,
        is_complete: bool,
        payload_bytes: int | None = None,
        n_messages: int = 0,
        is_end_told: bool = True,
    ) -> Parsed:
        """Return everything found.

        Where several versions of the program wrote the output, each figure must say which one it is of.
        """
        fault = self._room.fault
        versions = self._printed.get("program_version", {})
        if len(versions) > 1 and any("program_version" not in one.at for one in self._measurements):
            self.problem(
                f"the output is of several versions ({', '.join(map(str, versions))}), and does not tell "
                "which figures are of which; give each version a file of its own"
            )
        return Parsed(
            measurements=tuple(self._measurements),
            is_complete=is_complete and fault is None,
            problems=(*([fault] if fault else []), *self._problems),
            payload_bytes=payload_bytes,
            n_messages=n_messages,
            is_end_told=is_end_told,
            printed={name: tuple(values) for name, values in self._printed.items()},
        )
