"""One figure of merit that a study declares: its values as text, and what is wrong with them."""

from __future__ import annotations

import math
import re

from tare.core.values import Scalar
from tare.core.workload import Fom
from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.common.text import figure

_LETTERLESS = re.compile(r"[+-]?[0-9]*\.[0-9]*[+-][0-9]{3}")
"""A number as Fortran prints it with an exponent beyond 99, such as 0.1234-100 (Fortran 2018, 13.7.2.3.3)."""

_SHOWN = 120  # characters of an output line that a problem quotes


class DeclaredFigure:
    """The values of one figure of merit, as text, by coordinates; None if there are several values.

    `sought` says what was looked for in vain, where the output has no value.
    """

    def __init__(self, fom: Fom, findings: Findings, sought: str) -> None:
        self.fom = fom
        self._sought = sought
        self.values: dict[tuple[Scalar, ...], str | None] = {}
        self._findings = findings
        self._cut: dict[tuple[Scalar, ...], str] = {}

    def add(self, text: str, at: tuple[Scalar, ...] = (), *, number: str = "") -> None:
        """Add a value; `number` is the one in the output that it is only a part of, if it is."""
        if at in self.values:
            self.values[at] = None
            return
        self.values[at] = text
        if number:
            self._cut[at] = number
        self._findings.keep()

    def report(self, *, is_torn: bool) -> None:
        """Add the values that are single numbers to the findings, and a problem for each other value."""
        findings = self._findings
        if not self.values:
            torn = ", whose last line has no end and was left out: it may be cut short" if is_torn else ""
            findings.problem(f"{self.fom.name} is not in the output{torn}; {self._sought}")
        for coordinates, text in self.values.items():
            at = dict(zip(self.fom.by, coordinates, strict=True))
            where = "".join(f" at {name} {value}" for name, value in at.items())
            if fault := self._fault(text, coordinates):
                findings.problem(f"{self.fom.name}{where} is {fault}")
            elif text is not None and (value := figure(text)) is not None:
                findings.measure(self.fom.name, value, **at)

    def _fault(self, text: str | None, at: tuple[Scalar, ...]) -> str:
        """Return why a value is no measurement; empty if it is one."""
        if text is None:
            cure = "" if at else "; list what distinguishes them in 'by', and name it as a regex group"
            return f"in the output more than once{cure}"
        value = figure(text)
        if value is None and _LETTERLESS.fullmatch(text):
            return (
                f"{shown(text)!r}, which may be a range: Fortran leaves out the letter of exponents beyond "
                "99; print it with a format such as ES12.4E3"
            )
        if value is None:
            return f"{shown(text)!r}, which is not a number"
        if set(text) == {"*"}:
            return f"{shown(text)!r}, which is no measurement: the number was wider than its field"
        if number := self._cut.get(at):
            return (
                f"{shown(text)!r}, which the regex cut out of {shown(number)!r}; let its group take the "
                "whole number, as (\\S+) does"
            )
        is_lost = value == 0 and re.match(r"[^eEdD]*[1-9]", text)  # too small for a computer's numbers
        return f"{shown(text)!r}, which is no measurement" if is_lost or not math.isfinite(value) else ""


def shown(text: str) -> str:
    """Return `text` as a problem quotes it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_AFTER = re.compile(r"[0-9]|\.[0-9]|[eE][+-]?[0-9]|[dD][+-][0-9]|,[0-9]{3}(?![0-9])|[+-][0-9]{3}(?![0-9.])")
"""How a number goes on: digits, a decimal point, an exponent, Fortran's too, or digits in groups of three."""
_BEFORE = re.compile(r"[0-9][.,]?\Z")
_REST = re.compile(r"[0-9.,eEdD+-]*")
_GROUP = re.compile(r"[0-9]{1,3}")


def number_around(match: re.Match[str], group: int) -> str:
    """Return the number in the line of which `group` has only a part; empty if it has the whole.

    A regex such as ``([0-9.]+)`` reads 1.5 out of 1.5e-05 and 1 out of 1,234.5, and ``.*([0-9]+)`` 5 out of
    12345. What the regex itself matches after the group, it leaves out on purpose.
    """
    line, (begin, end) = match.string, match.span(group)
    before = line[max(begin - 2, 0) : begin]
    after = _AFTER.match(line, end) if end == match.end() else None
    if after and after[0][0] == "," and (before.endswith(",") or not _GROUP.fullmatch(match[group])):
        after = None  # a list of numbers
    if after and after[0][0] in "+-" and not _LETTERLESS.fullmatch(match[group] + after[0]):
        after = None  # a range, a date, a sum
    if not after and (not _BEFORE.search(before) or before.endswith(",")):
        return ""
    rest = _REST.match(line, end)
    head = re.search(r"[0-9.,]*\Z", line[:begin])
    return (head[0] if head else "") + match[group] + (rest[0].rstrip(".,eEdD+-") if rest else "")
