"""The base class of workloads, and the collection of a parser's findings.

A parser reads an output as follows::

    findings = Findings(self.foms)
    for line in findings.lines(lines):
        findings.measure("bandwidth", 12.5, bytes=1024)
    return findings.parsed(is_complete=True)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.values import MOST_FIGURE, Scalar, Settings
from tare.core.workload import Fom, Measurement, Parameter, Parsed
from tare.plugins.workloads.common.abort_messages import AbortMessage
from tare.plugins.workloads.common.left_out import ZERO, LeftOut, where
from tare.plugins.workloads.common.output_limit import MOST_FIGURES, OutputLimit
from tare.plugins.workloads.common.text import Sieve, colourless, plain

_UNITS_OF_ZERO = frozenset({"%", "1"})
"""Units of shares and counts, of which there may be none; times and rates of 0 are too small for decimals."""
_MAY_BE_ZERO = ("jitter", "latency_stddev", "throughput", "allreduce_")
"""Beginnings of figures that are differences of times, or rates of tests that may move nothing."""
_FRAME = 4
"""How many figures a run or a table counts for by itself in the limit on memory (see output_limit)."""
_HUGE = 1e30
"""More than any figure of merit can be in its unit; a program that prints such a number failed."""
_MOST_PROBLEMS = 20
"""How many problems are kept; the limit keeps memory small when a long log is broken."""
_MOST_VALUES = 100
"""How many values of one fact are kept per output; a fact with more values is not a setting."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """The plain data of a workload (see core.workload.Workload); subclasses add `stages` and `parse`."""

    name: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    foms: tuple[Fom, ...] = ()
    output: str = "stdout"
    digest: str | None = None
    needs_transport: bool = True

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        """Return no derived settings; a subclass may add some."""
        return {}

    def faults(self, case: Case) -> Iterable[str]:
        """Return no faults; a subclass reports here what prevents `case` from running."""
        return ()

    def expecting(self, case: Case) -> Self:
        """Return the workload unchanged: its output alone shows whether it is complete."""
        return self


def coordinates(facts: Sequence[Mapping[str, Scalar]]) -> list[dict[str, Scalar]]:
    """Return coordinates that distinguish the runs of one output, given the `facts` that each run printed.

    The coordinates are the facts whose values differ between runs. A number `run` is added only if several
    runs have the same facts, because a number does not describe what was measured.
    """
    names = dict.fromkeys(name for one in facts for name in one)
    varied = [name for name in names if len({one.get(name) for one in facts}) > 1]
    points = [tuple((name, one[name]) for name in varied if name in one) for one in facts]
    n_repeats = max(Counter(points).values(), default=0)
    seen = Counter[tuple[tuple[str, Scalar], ...]]()
    found = []
    for point in points:
        seen[point] += 1
        found.append(dict(point) | run_number(seen[point], n_repeats))
    return found


def run_number(number: int, count: int) -> dict[str, Scalar]:
    """Return the coordinate `run` of run `number` out of `count`; no coordinate if there is only one run."""
    return {"run": number} if count > 1 else {}


class Banner:
    """How a program prints its version: group 1 of `pattern` matches it, in lines that contain `word`."""

    def __init__(self, word: str, pattern: str) -> None:
        self._word = word
        self._search = re.compile(pattern).findall

    def versions(self, text: str) -> Iterator[str]:
        """Yield all versions that `text` contains; only its lines with the word are searched."""
        if self._word not in text:
            return
        text = colourless(text)
        end = 0
        while (at := text.find(self._word, end)) >= 0:
            start = text.rfind("\n", end, at) + 1 or end
            end = text.find("\n", at) + 1 or len(text)
            yield from self._search(text[start:end])


class Findings:
    """What a parser has found so far: measurements, printed facts and problems.

    `foms` are the figures of merit that may be measured, with their units. A parser reads the output through
    `lines`, and calls `keep` and `begin` for everything that it keeps until the end. This limits memory: an
    output of any length takes no more than one with `output_limit.MOST_FIGURES` figures.
    """

    def __init__(self, foms: Iterable[Fom], *, is_any_number_possible: bool = False) -> None:
        """Create empty findings.

        With `is_any_number_possible`, negative and huge values are measurements, up to MOST_FIGURE.
        """
        self._is_any_number_possible = is_any_number_possible
        self._most = MOST_FIGURE if is_any_number_possible else _HUGE
        self._units = {fom.name: fom.unit for fom in foms}
        self._measurements: list[Measurement] = []
        self._last_at: Mapping[str, Scalar] = {}
        self._problems: dict[str, None] = {}
        self._left_out = LeftOut()
        self._printed: dict[str, dict[Scalar, None]] = {}
        self._limit = OutputLimit(MOST_FIGURES)
        self._abort: AbortMessage | None = None

    def lines(
        self,
        output: Iterable[str],
        on_torn: Callable[[str], None] | None = None,
        *,
        keeps_blanks: bool = False,
        sieve: Sieve | None = None,
        banner: Banner | None = None,
        finds_aborts: bool = False,
    ) -> Iterator[str]:
        """Yield the lines of `output` (see text.plain), until the limit on kept figures is reached.

        Program versions that match `banner` are recorded as the fact `program_version`. With `finds_aborts`,
        messages of MPI libraries and schedulers about an aborted run become problems.
        """
        watch = partial(self._watch, banner) if banner or finds_aborts else None
        self._abort = AbortMessage() if finds_aborts else None
        return plain(output, on_torn, keeps_blanks=keeps_blanks, watch=watch, sieve=sieve, limit=self._limit)

    def _watch(self, banner: Banner | None, batch: list[str], text: str) -> None:
        for version in banner.versions(text) if banner else ():
            self.record_facts(program_version=version)
        if self._abort is not None:
            self._abort.watch(batch, text)

    def keep(self, n_figures: int = 1) -> None:
        """Count figures that are kept until `parsed`, for the limit on memory."""
        self._limit.take(n_figures)

    def begin(self) -> None:
        """Count a run or a table for the limit on memory; it is kept even if it never gets a figure."""
        self._limit.take(_FRAME)

    def measure(self, fom: str, value: float, /, **at: Scalar) -> None:
        """Record one value with its coordinates (see `measure_at`)."""
        self.measure_at(fom, value, at)

    def measure_at(self, fom: str, value: float, at: Mapping[str, Scalar]) -> None:
        """Record one value with its coordinates; record a value that cannot be as a problem instead.

        Such values are not finite, negative where they are no shares of something, or larger than any time,
        rate or amount.
        """
        unit = self._units.get(fom)
        if not (0 <= value < self._most or self._may_be_negative(value, unit)):
            self.problem(f"{fom}{where(at)} is {value}, which is no measurement")
        elif unit is None:
            self.problem(f"the output holds {fom}, which is a figure of another program")
        elif value == 0 and unit not in _UNITS_OF_ZERO and not self._may_be_zero(fom):
            self.leave_out(fom, ZERO, at)
        else:
            # The figures of one row share their coordinates; to compare them takes longer than to look.
            if at is not self._last_at and at != self._last_at:
                self._last_at = at
            self._measurements.append(Measurement(fom=fom, value=value, unit=unit, at=self._last_at))

    def leave_out(self, fom: str, why: str, at: Mapping[str, Scalar]) -> None:
        """Record that a figure has no value where the program printed one; `why` ends the sentence."""
        self._left_out.add(fom, why, at)

    def _may_be_negative(self, value: float, unit: str | None) -> bool:
        return -self._most < value < 0 and (self._is_any_number_possible or unit == "%")

    def _may_be_zero(self, fom: str) -> bool:
        return self._is_any_number_possible or fom.startswith(_MAY_BE_ZERO)

    def record_facts(self, **facts: Scalar) -> None:
        """Record facts that the program printed about itself, such as ``ranks=4``; keep equal values once."""
        for name, value in facts.items():
            values = self._printed.setdefault(name, {})
            if len(values) < _MOST_VALUES:
                values.setdefault(value)

    def mixed(self, what: str) -> None:
        """Record the problem that the output is not one run after the other; `what` is the evidence."""
        self.problem(f"lines of several runs are mixed, doubled or out of order: {what}")

    def problem(self, sentence: str) -> None:
        """Record a reason why the run must not count; equal sentences are kept once."""
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.setdefault(sentence)

    def problems(self, sentences: Iterable[str]) -> None:
        """Record each of these reasons why the run must not count."""
        for sentence in sentences:
            self.problem(sentence)

    def parsed(
        self,
        *,
        is_complete: bool,
        payload_bytes: int | None = None,
        n_messages: int = 0,
        is_end_known: bool = True,
    ) -> Parsed:
        """Return everything that was found.

        If several versions of the program wrote the output, each figure must have the coordinate
        `program_version`; otherwise a problem is added.
        """
        if self._abort is not None:
            self.problems(self._abort.problems(is_complete=is_complete))
        fault = self._limit.fault
        if is_complete and self._units and not self._measurements and not self._problems:
            fault = fault or "the output holds no figure that can be read"
        versions = self._printed.get("program_version", {})
        if len(versions) > 1 and any("program_version" not in one.at for one in self._measurements):
            self.problem(
                f"the output is of several versions ({', '.join(map(str, versions))}), and does not show "
                "which figures are of which; give each version a file of its own"
            )
        return Parsed(
            measurements=tuple(self._measurements),
            is_complete=is_complete and fault is None,
            problems=(*([fault] if fault else []), *self._problems),
            payload_bytes=payload_bytes,
            n_messages=n_messages,
            is_end_known=is_end_known,
            printed={name: tuple(values) for name, values in self._printed.items()},
            left_out=tuple(self._left_out.sentences()),
        )
