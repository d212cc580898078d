"""What a call of a rule selects: comparisons and values, and the numbers beneath them."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.answers.compare import common_cells, primary_foms, sides
from tare.answers.pairs import Pair, pairs
from tare.answers.rules import Call, Function, Rule, Selector
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.case import Case
from tare.model.values import Scalar, Settings
from tare.model.workload import Better
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios
from tare.units import parse_bytes


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is judged: a FOM of a case, or of a contender against its reference.

    `at` holds its workload, the settings that vary, and its coordinates where it is one point.
    `reference` is empty for a value.
    """

    case: str
    fom: str
    unit: str
    better: Better | None
    at: dict[str, Scalar]
    reference: dict[str, Scalar] = {}
    note: str = ""


class Bounds(NamedTuple):
    """One number and its interval for each match, NaN where absent."""

    value: Floats
    low: Floats
    high: Floats


class Sample(NamedTuple):
    """What a call selected. `bounds` gives the intervals at a confidence; `n_blocks` is what they rest on."""

    matches: tuple[Match, ...]
    n_blocks: tuple[int, ...]
    bounds: Callable[[float], Bounds]


class Selection:
    """Finds what rules speak of in one campaign. `reference` takes the place of the study's own."""

    def __init__(self, campaign: Campaign, reference: Settings | None = None) -> None:
        self._plan = campaign.plan
        self._table: Table = tabulate(campaign)
        self._campaign = campaign
        self._reference = reference

    @functools.cached_property
    def _pairs(self) -> list[Pair]:
        return pairs(self._campaign, self._reference)

    def sample(self, rule: Rule, call: Call) -> Sample:
        """Return all that `call` matches. Raises UsageError, pointing into `rule`, where it is nothing."""
        self._require_known(rule, call)
        found = self._ratios(rule, call) if call.function.has_reference else self._values(call)
        if not found.matches:
            raise rule.fault(call.column, f"this matches nothing; {self._choice(call)}")
        return found

    def _ratios(self, rule: Rule, call: Call) -> Sample:
        if not (self._plan.reference or self._reference):
            raise rule.fault(call.column, "the study names no reference; give one with --reference KEY=VALUE")
        matches: list[Match] = []
        below: list[Floats] = []
        above: list[Floats] = []
        for pair in self._pairs:
            for cells in self._chosen(pair, call):
                one, other, note = sides(self._table, pair, cells)
                at = {**pair.contender, **pair.shared}
                if _names_a_coordinate(call, pair.contender_case):
                    at |= dict(cells[0].at)
                matches.append(
                    _match(pair.contender_case, cells[0], at, reference=dict(pair.reference), note=note)
                )
                below.append(one)
                above.append(other)
        for pair in self._pairs:
            if not any(one.case == pair.contender_case.id for one in matches):
                for absent in self._unmeasured(pair.contender_case, {**pair.contender, **pair.shared}, call):
                    matches.append(msgspec.structs.replace(absent, reference=dict(pair.reference)))
                    below.append(np.full(len(self._table.values), np.nan))
                    above.append(below[-1])
        if not matches:
            return Sample((), (), _no_bounds)
        reference, contender = np.column_stack(below), np.column_stack(above)
        n_blocks = ratios(reference, contender).n_blocks.tolist()
        directions = [match.better for match in matches]

        def bounds(confidence: float) -> Bounds:
            found = ratios(reference, contender, confidence)
            plain = Bounds(found.ratio, found.low, found.high)
            return _costs(plain, directions) if call.function is Function.OVERHEAD else plain

        return Sample(tuple(matches), tuple(n_blocks), bounds)

    def _chosen(self, pair: Pair, call: Call) -> Iterator[list[Cell]]:
        """Yield the groups of cells that make one number each: a FOM as a whole, or its points."""
        if not _suits(pair.contender_case.settings, call.selectors, is_complete=False):
            return
        is_pointwise = _names_a_coordinate(call, pair.contender_case)
        for cells in common_cells(self._table, pair):
            if not self._is_wanted(cells[0].fom, call, pair.workload):
                continue
            if not is_pointwise:
                yield cells
                continue
            for cell in cells:
                if _suits({**dict(cell.at), **pair.contender_case.settings}, call.selectors):
                    yield [cell]

    def _values(self, call: Call) -> Sample:
        matches: list[Match] = []
        columns: list[int] = []
        for case in self._plan.cases:
            varied = {name: value for name, value in case.settings.items() if name in self._plan.varied}
            for cell, column in self._table.columns.get(case.id, {}).items():
                place = {**dict(cell.at), **case.settings}
                if self._is_wanted(cell.fom, call, case.workload) and _suits(place, call.selectors):
                    at = {"workload": case.workload, **varied, **dict(cell.at)}
                    matches.append(_match(case, cell, at))
                    columns.append(column)
            if not any(one.case == case.id for one in matches):
                absent = self._unmeasured(case, {"workload": case.workload, **varied}, call)
                matches += absent
                columns += [self._table.values.shape[1] - 1] * len(absent)
        values = self._table.values[:, columns]

        def bounds(confidence: float) -> Bounds:
            found = estimate(values, confidence)
            return Bounds(found.value, found.low, found.high)

        return Sample(tuple(matches), tuple(np.isfinite(values).sum(axis=0).tolist()), bounds)

    def _unmeasured(self, case: Case, at: dict[str, Scalar], call: Call) -> list[Match]:
        """Return what `case` would be judged by, had any run of it been measured; never a silent pass."""
        if case.id in self._table.columns or not _suits(case.settings, call.selectors, is_complete=False):
            return []
        coordinates: dict[str, Scalar] = {
            one.name: "|".join(one.values) for one in call.selectors if one.name not in case.settings
        }
        return [
            Match(case=case.id, fom=fom.name, unit=fom.unit, better=fom.better, at=at | coordinates)
            for fom in self._plan.foms.get(case.workload, ())
            if self._is_wanted(fom.name, call, case.workload) and coordinates.keys() <= set(fom.by)
        ]

    def _is_wanted(self, fom: str, call: Call, workload: str) -> bool:
        primary = primary_foms(self._plan, workload)
        return fom == call.fom if call.fom else not primary or fom in primary

    def _require_known(self, rule: Rule, call: Call) -> None:
        foms = self._foms()
        if call.fom is not None and call.fom not in foms:
            message = f"unknown figure of merit {call.fom!r}; {_cure(call.fom, foms)}"
            raise rule.fault(call.fom_column, message)
        levels = self._levels()
        for selector in call.selectors:
            if selector.name not in levels:
                message = f"unknown setting {selector.name!r}; {_cure(selector.name, levels)}"
                raise rule.fault(selector.column, message)
            known = levels[selector.name]
            for text in selector.values:
                if known and not any(_is(value, text) for value in known):
                    few = ", ".join(map(str, known[:12])) + (", …" if len(known) > 12 else "")
                    message = f"nothing has {selector.name}={text}; {selector.name} is one of {few}"
                    raise rule.fault(selector.column, message)

    def _levels(self) -> dict[str, list[Scalar]]:
        """Return every setting and coordinate with its values; those never measured have none."""
        found: dict[str, dict[Scalar, None]] = {}
        for case in self._plan.cases:
            for name, value in case.settings.items():
                found.setdefault(name, {})[value] = None
        for foms in self._plan.foms.values():
            for coordinate in (name for fom in foms for name in fom.by):
                found.setdefault(coordinate, {})
        for cell in {cell: None for cells in self._table.columns.values() for cell in cells}:
            for name, value in cell.at:
                found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items()}

    def _foms(self) -> list[str]:
        declared = (fom.name for foms in self._plan.foms.values() for fom in foms)
        measured = (cell.fom for cells in self._table.columns.values() for cell in cells)
        return list(dict.fromkeys((*declared, *measured)))

    def _choice(self, call: Call) -> str:
        """Return what a call may select instead."""
        if not call.function.has_reference:
            return "no case has all of this at once; see 'tare plan'"
        if not self._pairs:
            return "no contender has a reference; see 'tare plan'"
        contenders = dict.fromkeys(
            " ".join(f"{name}={value}" for name, value in pair.contender.items()) for pair in self._pairs
        )
        return f"contenders are those with {'; '.join(list(contenders)[:12])}"


def _match(
    case: Case,
    cell: Cell,
    at: dict[str, Scalar],
    reference: dict[str, Scalar] | None = None,
    note: str = "",
) -> Match:
    return Match(
        case=case.id,
        fom=cell.fom,
        unit=cell.unit,
        better=cell.better,
        at=at,
        reference=reference or {},
        note=note,
    )


def _costs(found: Bounds, directions: Sequence[Better | None]) -> Bounds:
    """Return ratios as what the contender costs: ratio − 1 of a time, 1 − ratio of a rate."""
    is_rate = np.array([one is Better.HIGHER for one in directions])
    has_none = np.array([one is None for one in directions])
    value, low, high = (
        np.where(has_none, np.nan, np.where(is_rate, 1 - one, other - 1))
        for one, other in ((found.value, found.value), (found.high, found.low), (found.low, found.high))
    )
    return Bounds(value, low, high)


def _no_bounds(_confidence: float) -> Bounds:
    return Bounds(np.empty(0), np.empty(0), np.empty(0))


def _names_a_coordinate(call: Call, case: Case) -> bool:
    return any(selector.name not in case.settings for selector in call.selectors)


def _suits(settings: Settings, selectors: Iterable[Selector], *, is_complete: bool = True) -> bool:
    """Return whether `settings` have a value of each selector.

    Where they are not complete, since coordinates are still to come, a name that they lack says nothing.
    """
    for selector in selectors:
        if selector.name not in settings:
            if is_complete:
                return False
        elif not any(_is(settings[selector.name], text) for text in selector.values):
            return False
    return True


def _is(value: Scalar, text: str) -> bool:
    """Return whether `text` writes `value`: as it is printed, or as another spelling of the same number."""
    if str(value) == text:
        return True
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return False
    try:
        return parse_bytes(text) == value
    except ValueError:
        return _is_number(text, value)


def _is_number(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False


def _cure(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
