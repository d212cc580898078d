"""One figure of merit that a study declares: its values as text, and what is wrong with them."""

from __future__ import annotations

import math
import re

from tare.core.units import Dimension, seconds_in, unit_factor
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
        """The numbers in the output of which the regex took a part."""
        self._units: dict[tuple[Scalar, ...], str] = {}
        """The units in the output that are not that of the figure."""
        self._before: dict[tuple[Scalar, ...], str] = {}
        """What stands in the line before a value that a regex found."""
        self._elsewhere: dict[tuple[Scalar, ...], str] = {}
        """The same of a second value, where it is other text: the regex matches two kinds of lines."""

    def add(self, text: str, at: tuple[Scalar, ...] = (), *, match: Match | None = None) -> None:
        """Add a value; if a regex found it, what stands around it in its line is compared with it."""
        before = before_value(*match) if match is not None else ""
        if at in self.values:
            self.values[at] = None
            if not _is_alike(self._before.get(at, ""), before):
                self._elsewhere.setdefault(at, before)
            return
        self.values[at] = text
        if match is not None and text:
            self._before[at] = before
            if number := number_around(*match):
                self._cut[at] = number
            elif unit := other_unit(*match, self.fom.unit):
                self._units[at] = unit
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
                findings.measure_at(self.fom.name, value, at)

    def _fault(self, text: str | None, at: tuple[Scalar, ...]) -> str:
        """Return why a value is no measurement; empty if it is one."""
        if text is None:
            return self._twice(at)
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
        if unit := self._units.get(at):
            return (
                f"{shown(text)!r}, and {shown(unit)!r} follows, but the figure is declared in "
                f"{self.fom.unit}; declare the unit that is printed, or let the regex match it if it is right"
            )
        is_lost = value == 0 and re.match(r"[^eEdD]*[1-9]", text)  # too small for a computer's numbers
        return f"{shown(text)!r}, which is no measurement" if is_lost or not math.isfinite(value) else ""

    def _twice(self, at: tuple[Scalar, ...]) -> str:
        """Return the fault of several values, with the kinds of lines that have them, and the cure.

        The values themselves are left out, so that runs with the same fault have the same text.
        """
        cure = "" if at else "list what distinguishes them in 'by', and name it as a regex group"
        if at in self._elsewhere:
            first, second = (f"{shown(text)}…" for text in (self._before[at], self._elsewhere[at]))
            more = f", or {cure}" if cure else ""
            return (
                f"in the output more than once, as {first!r} and as {second!r}; let the regex match one of "
                f"them only (^ is the start of a line){more}"
            )
        return f"in the output more than once; {cure}" if cure else "in the output more than once"


def shown(text: str) -> str:
    """Return `text` as a problem quotes it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


Match = tuple[re.Match[str], int]
"""The match of a regex, and the number of the group with the value."""
_GROUPED = "_'\u2019\u00a0\u2009\u202f"
"""What parts groups of three digits besides the comma: of programmers, in Switzerland, and narrow blanks."""
_AFTER = re.compile(
    r"[0-9]|\.[0-9]|[eE][+-]?[0-9]|[dD][+-][0-9]|[+-][0-9]{3}(?![0-9.])"
    rf"|,[0-9]+|[{_GROUPED}][0-9]{{3}}(?![0-9])|:[0-5][0-9](?![0-9])"
)
"""How a number goes on: digits, a decimal point or comma, an exponent (Fortran's, too), groups, minutes."""
_BEFORE = re.compile(r"[0-9][.,]?\Z")
_REST = re.compile(rf"[0-9.,eEdD+:{_GROUPED}-]*")


def before_value(match: re.Match[str], group: int) -> str:
    """Return what stands in the line before the value, without blanks at its start."""
    return match.string[: match.start(group)].lstrip()


def _is_alike(first: str, second: str) -> bool:
    """Return whether two values stand behind the same text, or one behind the other in a line."""
    return first == second or (bool(first) and second.startswith(first))


def number_around(match: re.Match[str], group: int) -> str:
    """Return the number in the line of which `group` has only a part; empty if it has the whole.

    A regex such as ``([0-9.]+)`` reads 1.5 out of 1.5e-05 and 1 out of 1,234.5, and ``.*([0-9]+)`` 5 out of
    12345. What the regex itself matches after the group, it leaves out on purpose.
    """
    line, (begin, end) = match.string, match.span(group)
    before = line[max(begin - 2, 0) : begin]
    after = _AFTER.match(line, end) if end == match.end() else None
    if after and after[0][0] == "," and (before.endswith(",") or _is_list(match[group], line[end:])):
        after = None
    if after and after[0][0] in "+-" and not _LETTERLESS.fullmatch(match[group] + after[0]):
        after = None  # a range, a date, a sum
    if not after and (not _BEFORE.search(before) or before.endswith(",")):
        return ""
    rest = _REST.match(line, end)
    head = re.search(r"[0-9.,]*\Z", line[:begin])
    return (head[0] if head else "") + match[group] + (rest[0].rstrip(f".,eEdD+:{_GROUPED}-") if rest else "")


def _is_list(first: str, rest: str) -> bool:
    """Return whether `first` and the comma and digits after it are two numbers: 5,6,700 or 1024,5.3."""
    is_grouped = re.match(r",[0-9]{3}(?![0-9])", rest) is not None and re.fullmatch("[0-9]{1,3}", first)
    return not is_grouped and re.match(r",[0-9]+[.,][0-9]", rest) is not None


_FOLLOWING = re.compile(r"([ \t]?)([A-Za-zµμ][A-Za-zµμ/]*)")
_MULTIPLES = frozenset("kKMGT")
_TIME = re.compile(r"[munµμ]?s(?:ec)?|secs|(?:milli|micro|nano)?seconds?")
"""Units of time up to a second: min may be a minimum, and letters such as h and d anything."""


def other_unit(match: re.Match[str], group: int, unit: str) -> str:
    """Return the unit that follows the value if it is another one of the same kind; empty if it is not.

    Programs choose units by the size of a number: 900 MB/s, then 1.2 GB/s, or 1.2k. What the regex itself
    matches after the group is not looked at.
    """
    following = _FOLLOWING.match(match.string, match.end(group)) if match.end(group) == match.end() else None
    if following is None:
        return ""
    blank, word = following.groups()
    if word in _MULTIPLES:
        return "" if blank or unit[:1].lower() == word.lower() else word
    ours, theirs = _factor(unit), _factor(word)
    is_other = ours is not None and theirs is not None and ours[0] == theirs[0] and ours[1] != theirs[1]
    return word if is_other else ""


def _factor(unit: str) -> tuple[Dimension, float] | None:
    """Return the kind of a unit, and how many of that kind's own units it is; None if it is not known."""
    if _TIME.fullmatch(unit):
        seconds = seconds_in(unit)
        return None if seconds is None else (Dimension.SECONDS, seconds)
    unit = re.sub(r"bits?/s(?:ec)?$", "bit/s", unit).replace("Bytes", "B").replace("bytes", "B")
    unit = unit.removesuffix("ec") if unit.endswith("/sec") else unit
    for dimension in (Dimension.BYTES_PER_SECOND, Dimension.BYTES, Dimension.FLOPS):
        if (factor := unit_factor(unit, dimension)) is not None:
            return dimension, factor
    return None
