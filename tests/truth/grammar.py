"""The grammar of an answer: what its text says, read from the words alone.

The subject is left out: ``makes wrf.x’s step time 3.1 % longer [1.2, 5.0] at 4 nodes; is equivalent …``.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator, Sequence


class Says(enum.StrEnum):
    """What a clause claims of its figures."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    OPEN = "undecided"


@dataclasses.dataclass(frozen=True)
class Clause:
    """What is said of some figures: of `kind` of one of `workloads`, or of so many workloads, at some places.

    `where` holds nodes and further settings as printed, such as (4, "io heavy"); empty for so many `cases`,
    or where only so many `figures` are counted. `change` is the ratio, `low` and `high` its interval; None
    where there is none. `is_more` is whether the words say that the figure itself grew.
    """

    says: Says
    is_more: bool | None = None
    workload: str = ""
    kind: str = ""
    n_workloads: int = 1
    where: tuple[tuple[int, str], ...] = ()
    cases: int = 0
    figures: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None


class UnknownSentenceError(Exception):
    """A text that no rule of the grammar reads."""


_PLACE = r"\d+(?:, \d+)*(?: and \d+)? nodes?(?: \([^)]*\))?"
_WHERE = re.compile(rf" (?:at (?P<at>{_PLACE}(?:(?:, | and ){_PLACE})*)|in (?P<cases>\d+) cases?)")
_NUMBER = r"[+−]?(?:1/)?\d[\d. ]*(?: [%×])?"
_BRACKET = r"\[[^\]]*\]"
_ENDS = rf"{_NUMBER}(?: to {_NUMBER})?"
_PAID = (
    r"in the (?:mean of times|arithmetic mean|harmonic mean) (?:(?:multiplied|divided) by )?"
    rf"{_NUMBER}(?: {_BRACKET})?"
)
_BESIDE = rf"(?: on average(?:, {_ENDS})?)?(?:, {_PAID}(?: in one case)?)?"
_CHANGE = (
    rf"(?:(?P<change>[\d.]+) % (?P<way>longer|higher|shorter|lower)|(?P<verb>multiplied|divided) by "
    rf"(?P<fold>\d[\d. ]*)|(?P<signed>{_NUMBER}))(?: (?P<ends>{_BRACKET}))?{_BESIDE}"
)
_LACKS = r"[^():;]+ has none, since (?:it has not been run|no run has it|no run counts \([^()]*\))"
_UNMEASURED = rf"not measured on both sides(?:: {_LACKS}(?: and {_LACKS})?)?"
_NO_CHANGE = (
    rf"(?:{_NUMBER} in \d+ blocks?, no interval|not measured together|{_UNMEASURED}|"
    r"no ratio(?:: the mean of the (?:reference is zero or less|contender is below zero))?|"
    r"\d+ of \d+ (?:cases|points) left out: too few blocks, or zero or less)"
)
_SEPARATOR = re.compile(r", (?!in |and in )| and ")
_NEXT_PLACE = re.compile(r", (?:and )?in ")


class Grammar:
    """Reads answers that name given workloads, kinds of figures and a reference."""

    def __init__(self, workloads: Sequence[str], foms: Sequence[str], reference: str) -> None:
        names = "|".join(sorted(map(re.escape, workloads), key=len, reverse=True))
        told = "|".join(sorted(map(re.escape, foms), key=len, reverse=True))
        sizes = r"(?: (?P<sizes>up to 1 KiB|from 64 KiB))?"
        self._items = [
            re.compile(
                rf"(?P<workload>{names})’s (?P<fom>{told}){sizes} \((?:(?P<label>[a-z]+ [a-z]+): )?"
                rf"(?:{_NO_CHANGE}|{_CHANGE})\)"
            ),
            re.compile(
                rf"(?P<fom>{told})(?: \((?P<label>[a-z]+ [a-z]+)\))?{sizes} of "
                rf"(?:(?P<workload>{names})|(?P<n>\d+) "
                rf"workloads) \((?:{_ENDS}|{_UNMEASURED})(?:, once {_PAID}(?: in one case)?)?\)"
            ),
            re.compile(rf"(?P<figures>\d+) more (?:figures?|elapsed times?)(?: \({_ENDS}\))?"),
        ]
        to, within = re.escape(reference), r"± [\d.]+ %"
        self._leads = {
            re.compile(rf"is worse than {to} in "): Says.WORSE,
            re.compile(rf"better in |is better than {to} in "): Says.BETTER,
            re.compile(
                rf"is equivalent to {to}, within {within}, in |is within {within} of {to} in "
            ): Says.SAME,
            re.compile(r"is undecided in "): Says.OPEN,
        }
        self._nothing = re.compile(
            rf"has no figure that says which way is better, so nothing is claimed of it|"
            rf"is not compared with {to}: all ranks were on one node, and nothing that "
            rf"they send each other crosses a network|was not measured together with {to}: no "
            rf"block of any session has runs of both, so nothing is said of what tells them apart|"
            rf"has no average beside {to}: (?:\d+ of \d+ (?:cases|points) left out: too few blocks, or zero "
            rf"or less|the tables have each case)|"
            rf"has not been measured beside {to}(?: yet|: {_LACKS}(?: and {_LACKS})?)"
        )

    def clauses(self, text: str) -> list[Clause]:
        """Return what an answer says. Raises UnknownSentenceError where no rule reads it."""
        if not text.endswith("."):
            raise UnknownSentenceError(text)
        found: list[Clause] = []
        for part in re.split(r"; (?![^()]*\))", text[:-1]):
            if self._nothing.fullmatch(part):
                continue
            shared = re.fullmatch(r"all" + _WHERE.pattern, part)
            if shared is not None:
                found = [_at(one, shared) for one in found]
                continue
            lead = next((lead for lead in self._leads if lead.match(part)), None)
            if lead is None:
                raise UnknownSentenceError(part)
            found += self._list(lead.sub("", part, count=1), self._leads[lead])
        return found

    def _list(self, text: str, says: Says) -> list[Clause]:
        """Return the clauses of one verdict: figures, the place of several of them, more figures …"""
        position, done, pending = 0, list[Clause](), list[Clause]()
        while position < len(text):
            found = next((match for rule in self._items if (match := rule.match(text, position))), None)
            if found is None:
                raise UnknownSentenceError(text[position:])
            pending.append(_clause(found.groupdict(), says))
            position = found.end()
            place = _WHERE.match(text, position)
            if place is not None:
                done += [_at(one, place) for one in pending]
                pending, position = [], place.end()
            separator = (_NEXT_PLACE if place else _SEPARATOR).match(text, position)
            if separator is None and position < len(text):
                raise UnknownSentenceError(text[position:])
            position = separator.end() if separator else position
        return done + pending


def _at(clause: Clause, place: re.Match[str]) -> Clause:
    cases = 0 if clause.figures else int(place["cases"] or 0)
    return dataclasses.replace(clause, where=tuple(_places(place["at"] or "")), cases=cases)


def _clause(groups: dict[str, str | None], says: Says) -> Clause:
    way = groups.get("way") or groups.get("verb")
    is_more = None if way is None else way in ("longer", "higher", "multiplied")
    change, ends = _change(groups, is_more=is_more)
    label = groups.get("label")
    parts = (groups.get("fom"), f"({label})" if label else "", groups.get("sizes"))
    return Clause(
        says=says,
        is_more=is_more,
        workload=groups.get("workload") or "",
        kind=" ".join(filter(None, parts)),
        n_workloads=int(groups.get("n") or 1),
        figures=int(groups.get("figures") or 0),
        change=change,
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
    )


def _places(text: str) -> Iterator[tuple[int, str]]:
    for one in re.finditer(_PLACE, text):
        numbers, _, settings = one[0].partition(" node")
        settings = settings.removeprefix("s").strip(" ()")
        for number in re.findall(r"\d+", numbers):
            yield int(number), settings


def _change(
    groups: dict[str, str | None], *, is_more: bool | None
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the ratio that a clause tells and the ends of its interval, widened by how they are rounded."""
    fold, change, ends = groups.get("fold"), groups.get("change"), groups.get("ends")
    signed = groups.get("signed")
    numbers = re.findall(r"[+−]?(?:1/)?\d[\d.]*", ends.replace(" ", "").replace(",", ", ")) if ends else []
    told = [_value(one) for one in numbers]
    half = [_half(one) for one in numbers]
    bounds = (told[0] - half[0], told[1] + half[1]) if len(told) == 2 else None
    if fold:
        value = _value(fold)
        if is_more:
            return value, bounds
        return 1 / value, (1 / bounds[1], 1 / bounds[0]) if bounds else None
    if signed and "×" in signed:
        return _value(signed), bounds
    number = change or signed
    if not number:
        return None, None
    sign = -1 if is_more is False else 1
    value = 1 + sign * _value(number) / 100
    if bounds is None:
        return value, None
    first, second = sorted(1 + sign * end / 100 for end in bounds)
    return value, (first, second)


def _value(text: str) -> float:
    number = text.replace(" ", "").replace("−", "-").strip("%×+")
    return 1 / float(number[2:]) if number.startswith("1/") else float(number)


def _half(text: str) -> float:
    """Return half of the last digit that was printed, and a little more for an inverse."""
    number = text.replace("−", "").replace("+", "")
    if number.startswith("1/"):
        value = float(number[2:])
        return 0.5 / value**2 + 1e-9
    return float(0.5 * 10.0 ** -len(number.partition(".")[2])) + 1e-9
