"""What a call of a rule selects: comparisons and values, and the numbers beneath them."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tare.answers.aggregate import block_means
from tare.answers.compare import common_cells, primary_foms, sides
from tare.answers.pairs import Pair, pairs, told_blocks
from tare.answers.quantities import Bounds, Quantity, of_scales, of_sides, of_values
from tare.answers.rules import Call, Function, Rule, Selector
from tare.answers.scaling import Grown, grown_cases
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.case import Case
from tare.model.telemetry import FIGURES, PREFIX
from tare.model.values import Scalar, Settings, is_written
from tare.model.workload import Better
from tare.stats.intervals import Floats


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


class Sample(NamedTuple):
    """What a call selected, and the numbers of it."""

    matches: tuple[Match, ...]
    quantity: Quantity


class _Side(NamedTuple):
    match: Match
    below: Floats
    above: Floats


NOTHING = Sample((), Quantity((), lambda _confidence: Bounds(np.empty(0), np.empty(0), np.empty(0))))


class Selection:
    """Finds what rules speak of in one campaign. `reference` takes the place of the study's own.

    Telemetry is looked at where it is among the `foms` that the rules name.
    """

    def __init__(
        self, campaign: Campaign, reference: Settings | None = None, foms: Collection[str] = ()
    ) -> None:
        self._plan = campaign.plan
        self._table: Table = tabulate(campaign, foms)
        self._campaign = campaign
        self._reference = reference

    @functools.cached_property
    def _pairs(self) -> list[Pair]:
        return pairs(self._campaign, self._reference)

    def sample(self, rule: Rule, call: Call) -> Sample:
        """Return all that `call` matches. Raises UsageError, pointing into `rule`, where it is nothing."""
        self._require_known(rule, call)
        if call.function is Function.EFFICIENCY:
            found = self._efficiencies(call)
        else:
            found = self._sides(rule, call) if call.function.has_reference else self._values(call)
        if not found.matches:
            raise rule.fault(call.column, f"this matches nothing; {self._choice(call)}")
        return found

    def _sides(self, rule: Rule, call: Call) -> Sample:
        if not (self._plan.reference or self._reference):
            raise rule.fault(call.column, "the study names no reference; give one with --reference KEY=VALUE")
        matches: list[Match] = []
        below: list[Floats] = []
        above: list[Floats] = []
        is_paired: list[bool] = []
        told = told_blocks(self._campaign)
        for pair in self._pairs:
            found = list(self._of_pair(pair, call))
            matches += [one.match for one in found]
            below += [one.below for one in found]
            above += [one.above for one in found]
            is_paired += [{pair.reference_case.id, pair.contender_case.id} <= told] * len(found)
        if not matches:
            return NOTHING
        quantity = of_sides(
            call.function,
            np.column_stack(below),
            np.column_stack(above),
            np.array(is_paired),
            [match.better for match in matches],
        )
        return Sample(tuple(matches), quantity)

    def _of_pair(self, pair: Pair, call: Call) -> Iterator[_Side]:
        """Yield what `call` matches of a pair, with the numbers of both sides, block by block."""
        case, reference = pair.contender_case, dict(pair.reference)
        at = {**pair.contender, **pair.shared}
        for cells in self._chosen(case, call, common_cells(self._table, pair)):
            below, above, note = sides(self._table, pair, cells)
            place = at | dict(cells[0].at) if _is_pointwise(call, case) else at
            match = _match(case, cells[0], place)
            yield _Side(msgspec.structs.replace(match, reference=reference, note=note), below, above)
        if self._has_numbers(call, pair.reference_case.id, case.id):
            return
        nothing = np.full(len(self._table.values), np.nan)
        for absent in self._unmeasured(case, at, call):
            yield _Side(msgspec.structs.replace(absent, reference=reference), nothing, nothing)

    def _chosen(self, case: Case, call: Call, groups: Iterable[list[Cell]]) -> Iterator[list[Cell]]:
        """Yield the cells that make one number each: a FOM as a whole, or point by point."""
        if not _suits(case.settings, call.selectors, is_complete=False):
            return
        for cells in groups:
            if not self._is_wanted(cells[0].fom, call, case.workload):
                continue
            if not _is_pointwise(call, case):
                yield cells
                continue
            for cell in cells:
                if _suits({**dict(cell.at), **case.settings}, call.selectors):
                    yield [cell]

    def _values(self, call: Call) -> Sample:
        matches: list[Match] = []
        columns: list[Floats] = []
        for case in self._plan.cases:
            varied = {name: value for name, value in case.settings.items() if name in self._plan.varied}
            at: dict[str, Scalar] = {"workload": case.workload, **varied}
            groups = _by_fom(self._table.cells(case.id))
            for cells in self._chosen(case, call, groups):
                (means,), _ = block_means(self._table.values[:, self._table.find(case.id, cells)])
                place = at | dict(cells[0].at) if _is_pointwise(call, case) else at
                matches.append(_match(case, cells[0], place))
                columns.append(means)
            for absent in self._unmeasured(case, at, call):
                matches.append(absent)
                columns.append(np.full(len(self._table.values), np.nan))
        if not matches:
            return NOTHING
        return Sample(tuple(matches), of_values(call.function, np.column_stack(columns)))

    def _efficiencies(self, call: Call) -> Sample:
        """Return each case beyond the reference scale of its line, next to that scale."""
        found = [
            one
            for one in grown_cases(self._campaign, () if call.fom is None else (call.fom,))
            if _suits({**dict(one.cell.at), **one.case.settings}, call.selectors)
        ]
        if not found:
            return NOTHING
        quantity = of_scales(
            np.column_stack([one.base for one in found]),
            np.column_stack([one.work for one in found]),
            np.array([one.share for one in found]),
        )
        return Sample(tuple(self._scaled(one) for one in found), quantity)

    def _scaled(self, one: Grown) -> Match:
        """Return a case at its scale as what is judged, and which scale its efficiency refers to."""
        varied = {name: value for name, value in one.case.settings.items() if name in self._plan.varied}
        at: dict[str, Scalar] = {"workload": one.case.workload, **varied, **dict(one.cell.at)}
        note = "" if one.p_ref is None else f"next to {one.along}={one.p_ref:g}"
        return msgspec.structs.replace(_match(one.case, one.cell, at), note=note)

    def _unmeasured(self, case: Case, at: dict[str, Scalar], call: Call) -> list[Match]:
        """Return what `case` would be judged by, had any run of it been measured; never a silent pass."""
        if not _suits(case.settings, call.selectors, is_complete=False):
            return []
        if call.fom and call.fom.startswith(PREFIX):
            return self._untold(case, at, call)
        if case.id in self._table.columns:
            return []
        coordinates: dict[str, Scalar] = {
            one.name: "|".join(one.values) for one in call.selectors if one.name not in case.settings
        }
        return [
            Match(case=case.id, fom=fom.name, unit=fom.unit, better=fom.better, at=at | coordinates)
            for fom in self._plan.foms.get(case.workload, ())
            if self._is_wanted(fom.name, call, case.workload) and coordinates.keys() <= set(fom.by)
        ]

    def _untold(self, case: Case, at: dict[str, Scalar], call: Call) -> list[Match]:
        """Return the figure of telemetry that no run of `case` has, though others may."""
        figure = FIGURES.get((call.fom or "").removeprefix(PREFIX))
        has_points = any(one.name not in case.settings for one in call.selectors)
        if figure is None or has_points or self._has_numbers(call, case.id):
            return []
        return [Match(case=case.id, fom=call.fom or "", unit=figure.unit, better=figure.better, at=at)]

    def _has_numbers(self, call: Call, *cases: str) -> bool:
        """Return whether any of `cases` has what `call` speaks of: a measured run, or its telemetry."""
        if call.fom and call.fom.startswith(PREFIX):
            return any(cell.fom == call.fom for cell in self._table.cells(*cases))
        return any(case in self._table.columns for case in cases)

    def _is_wanted(self, fom: str, call: Call, workload: str) -> bool:
        primary = primary_foms(self._plan, workload)
        if call.fom:
            return fom == call.fom
        return fom in primary if primary else not fom.startswith(PREFIX)

    def _require_known(self, rule: Rule, call: Call) -> None:
        foms = self._foms()
        if call.fom is not None and call.fom.removeprefix(PREFIX) in FIGURES and call.fom not in foms:
            message = (
                f"no run has {call.fom}: its nodes were not watched, or have nothing of the kind; see "
                "docs/telemetry.md"
            )
            raise rule.fault(call.fom_column, message)
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
                if known and not any(is_written(value, text) for value in known):
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
        if call.function is Function.EFFICIENCY:
            return "it takes a time or a rate of work at several scales, and is that beyond the smallest"
        if not call.function.has_reference:
            return "no case has all of this at once; see 'tare plan'"
        if not self._pairs:
            return "no contender has a reference; see 'tare plan'"
        contenders = dict.fromkeys(
            " ".join(f"{name}={value}" for name, value in pair.contender.items()) for pair in self._pairs
        )
        return f"contenders are those with {'; '.join(list(contenders)[:12])}"


def _match(case: Case, cell: Cell, at: dict[str, Scalar]) -> Match:
    return Match(case=case.id, fom=cell.fom, unit=cell.unit, better=cell.better, at=at)


def _by_fom(cells: Iterable[Cell]) -> list[list[Cell]]:
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        grouped.setdefault((cell.fom, cell.unit), []).append(cell)
    return list(grouped.values())


def _is_pointwise(call: Call, case: Case) -> bool:
    """Return whether each point is judged by itself: a mean of values at many sizes is no value of any."""
    return call.function.is_figure or any(one.name not in case.settings for one in call.selectors)


def _suits(settings: Settings, selectors: Iterable[Selector], *, is_complete: bool = True) -> bool:
    """Return whether `settings` have a value of each selector.

    Where they are not complete, since coordinates are still to come, a name that they lack says nothing.
    """
    for selector in selectors:
        if selector.name not in settings:
            if is_complete:
                return False
        elif not any(is_written(settings[selector.name], text) for text in selector.values):
            return False
    return True


def _cure(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
