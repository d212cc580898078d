"""Find what a call of a rule selects: comparisons or values, with their numbers."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from tare.analysis.aggregate import block_means
from tare.analysis.answering_figures import primary_foms, quoted_foms
from tare.analysis.checking.quantities import Bounds, Quantity, of_scales, of_sides, of_values
from tare.analysis.checking.row_verdicts import RowName
from tare.analysis.checking.rules import Call, Function, Rule, Selector
from tare.analysis.pairs import Pair, pairs, recorded_blocks
from tare.analysis.proofs import NOTHING_CROSSED, nothing_crosses
from tare.analysis.quoted_figures import Figure
from tare.analysis.scales.scaling import ScaledCase, scaled_cases
from tare.analysis.table import Cell, FigureName, Table, by_figure, tabulate
from tare.analysis.verdicts.families import row_coordinates
from tare.analysis.verdicts.interim_looks import session_ends
from tare.analysis.verdicts.missing import MissingValues
from tare.analysis.verdicts.questions import common_cells, half_steps_of, pair_sides, sides_of_figure
from tare.analysis.verdicts.row_notes import NOT_TOGETHER, UNPAIRED
from tare.analysis.verdicts.timed_out_runs import timed_out
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.errors import name_cure
from tare.core.telemetry import PREFIX
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.values import Scalar, Settings, is_written, with_coordinates
from tare.core.workload import Better, written
from tare.stats.intervals import Floats
from tare.stats.ratios import never_ran_together, paired_columns
from tare.stats.rounding import shift_of_mean


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to judge: a FOM of a case, or of a contender compared with its reference.

    `at` holds its workload, the settings that vary, and its coordinates if it is a single point. `reference`
    is empty for a value. `row` is the corresponding row of `tare compare`. `beside` is the case that it is
    compared with, None for a value. `lacks` says which side has no value, and why. `timed_out` counts the
    runs of the case beside it, and of its own, that were ended at their time-out.
    """

    case: str
    fom: str
    unit: str
    better: Better | None
    at: dict[str, Scalar]
    reference: dict[str, Scalar] = {}
    note: str = ""
    row: RowName | None = None
    beside: str | None = None
    lacks: str = ""
    timed_out: tuple[int, int] = (0, 0)


class Sample(NamedTuple):
    """The matches of a call, and their numbers."""

    matches: tuple[Match, ...]
    quantity: Quantity


class _Candidate(NamedTuple):
    match: Match
    below: Floats
    above: Floats
    rounding: float = 0.0
    half_steps: tuple[float, float] = (0.0, 0.0)


NOTHING = Sample((), Quantity((), lambda _confidence: Bounds(np.empty(0), np.empty(0), np.empty(0))))


class Selection:
    """Finds the matches of rules in one campaign. `reference` replaces that of the study.

    Telemetry is included if it is among the `foms` that the rules name. A call that names no figure and
    compares sides applies to the quoted figures and to those in `longer`.
    """

    def __init__(
        self,
        campaign: Campaign,
        reference: Settings | None = None,
        foms: Collection[str] = (),
        longer: Collection[Figure] = (),
    ) -> None:
        self._longer = longer
        self._plan = campaign.plan
        self._table: Table = tabulate(campaign, foms)
        self._campaign = campaign
        self._reference = reference
        self._missing = MissingValues(campaign)

    @functools.cached_property
    def _pairs(self) -> list[Pair]:
        return pairs(self._campaign, self._reference)

    def sample(self, rule: Rule, call: Call) -> Sample:
        """Return all matches of `call`. Raises UsageError, pointing into `rule`, if there are none."""
        self._require_known(rule, call)
        if call.function is Function.EFFICIENCY:
            found = self._efficiencies(call)
        else:
            found = self._sides(rule, call) if call.function.has_reference else self._values(call)
        if not found.matches:
            raise rule.fault(call.column, f"this matches nothing; {self._choice(call)}")
        return Sample(tuple(map(self._counted, found.matches)), found.quantity)

    def _counted(self, one: Match) -> Match:
        """Return a match with the number of runs that timed out."""
        n_runs = timed_out(self._campaign)
        return msgspec.structs.replace(
            one, timed_out=(n_runs.get(one.beside or "", 0), n_runs.get(one.case, 0))
        )

    def _sides(self, rule: Rule, call: Call) -> Sample:
        if not (self._plan.reference or self._reference):
            raise rule.fault(call.column, "the study names no reference; give one with --reference KEY=VALUE")
        every: list[_Candidate] = []
        is_paired: list[bool] = []
        recorded = recorded_blocks(self._campaign)
        for pair in self._pairs:
            found = list(self._of_pair(pair, call))
            every += found
            is_paired += [{pair.reference_case.id, pair.contender_case.id} <= recorded] * len(found)
        if not every:
            return NOTHING
        sides_of = (
            np.column_stack([one.below for one in every]),
            np.column_stack([one.above for one in every]),
        )
        matches, may_pair = self._with_notes([one.match for one in every], sides_of, np.array(is_paired))
        better = [match.better for match in matches]
        rounding = np.array([one.rounding for one in every])
        ends = session_ends(self._campaign, self._table.passes)
        below, above = np.array([one.half_steps for one in every]).T
        quantity = of_sides(
            *(call.function, *sides_of, may_pair, better),
            *(rounding, ends, self._campaign.mean, (below, above)),
        )
        return Sample(tuple(matches), quantity)

    def _with_notes(
        self, matches: list[Match], sides_of: tuple[Floats, Floats], may_pair: npt.NDArray[np.bool_]
    ) -> tuple[list[Match], npt.NDArray[np.bool_]]:
        """Return the matches with a note on those that did not run together, and which are paired."""
        is_unpaired = self._campaign.compares_unpaired
        is_paired = paired_columns(*sides_of, may_pair, is_unpaired=is_unpaired)
        if is_unpaired:
            notes = np.where(may_pair & ~is_paired, UNPAIRED, "").tolist()
        else:
            notes = np.where(never_ran_together(*sides_of, may_pair), NOT_TOGETHER, "").tolist()
        return [
            msgspec.structs.replace(one, note="; ".join(filter(None, (note, one.note)))) if note else one
            for one, note in zip(matches, notes, strict=True)
        ], is_paired

    def _of_pair(self, pair: Pair, call: Call) -> Iterator[_Candidate]:
        """Yield the matches of `call` in a pair, with the numbers of both sides, by block."""
        case, reference = pair.contender_case, dict(pair.reference)
        beside = pair.reference_case.id
        quoted = quoted_foms(self._plan, pair)
        at = {**pair.contender, **pair.shared}
        longer = self._longer_of(pair) if call.function in (Function.OVERHEAD, Function.RATIO) else ()
        for cells in self._chosen(case, call, common_cells(self._table, pair), quoted, longer):
            sides = pair_sides if _is_pointwise(call, case) else sides_of_figure
            below, above, note, rounding = sides(self._table, pair, cells)
            coordinates = with_coordinates(at, _coordinates(cells[0], call, case))
            match = _match(case, cells[0], coordinates)
            if nothing_crosses(self._plan, pair):
                below, above, note = np.full_like(below, np.nan), np.full_like(above, np.nan), NOTHING_CROSSED
            row = _row(pair, cells[0], is_point=_is_pointwise(call, case))
            lacks = self._missing.words(pair, below, above, cells)
            found = {"note": note, "row": row, "beside": beside, "lacks": lacks}
            match = msgspec.structs.replace(match, reference=reference, **found)
            yield _Candidate(match, below, above, rounding, half_steps_of(self._table, pair, cells))
        if self._has_numbers(call, pair.reference_case.id, case.id):
            return
        nothing = np.full(len(self._table.values), np.nan)
        for absent in self._unmeasured(case, at, call, quoted):
            lacks = self._missing.words(pair, nothing, nothing)
            absent = msgspec.structs.replace(absent, reference=reference, beside=beside, lacks=lacks)
            yield _Candidate(absent, nothing, nothing)

    def _longer_of(self, pair: Pair) -> frozenset[FigureName]:
        """Return the elapsed times of the pair's workload that got worse for any contender."""
        workload = pair.shared.get("workload")
        return frozenset(
            FigureName(one.fom, one.unit, one.labels) for one in self._longer if one.workload == workload
        )

    def _chosen(
        self,
        case: Case,
        call: Call,
        groups: Iterable[list[Cell]],
        quoted: frozenset[str],
        longer: Collection[FigureName] = (),
    ) -> Iterator[list[Cell]]:
        """Yield the cells that form one number each: a FOM as a whole, or point by point."""
        if not _suits(case.settings, call.selectors, is_complete=False):
            return
        for cells in groups:
            is_longer = not call.fom and cells[0].figure in longer
            if not is_longer and not self._is_wanted(cells[0].fom, call, quoted):
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
        shifts: list[float] = []
        for case in self._plan.cases:
            varied = {name: value for name, value in case.settings.items() if name in self._plan.varied}
            at: dict[str, Scalar] = {"workload": case.workload, **varied}
            groups = by_figure(self._table.cells(case.id)).values()
            quoted = primary_foms(self._plan, case.workload)
            for cells in self._chosen(case, call, groups, quoted):
                own = self._table.find(case.id, cells)
                (means,), _ = block_means(self._table.values[:, own])
                coordinates = with_coordinates(at, _coordinates(cells[0], call, case))
                matches.append(_match(case, cells[0], coordinates))
                columns.append(means)
                shifts.append(shift_of_mean(self._table.shifts[own]))
            for absent in self._unmeasured(case, at, call, quoted):
                matches.append(absent)
                columns.append(np.full(len(self._table.values), np.nan))
                shifts.append(0.0)
        if not matches:
            return NOTHING
        ends = session_ends(self._campaign, self._table.passes)
        return Sample(
            tuple(matches), of_values(call.function, np.column_stack(columns), ends, np.array(shifts))
        )

    def _efficiencies(self, call: Call) -> Sample:
        """Return each case beyond the reference scale of its line, compared with that scale."""
        found = [
            one
            for one in scaled_cases(self._campaign, () if call.fom is None else (call.fom,))
            if _suits({**dict(one.cell.at), **one.case.settings}, call.selectors)
        ]
        if not found:
            return NOTHING
        quantity = of_scales(
            np.column_stack([one.base for one in found]),
            np.column_stack([one.work for one in found]),
            np.array([one.share for one in found]),
            np.array([one.rounding for one in found]),
            np.array([one.is_paired for one in found], np.bool_),
            is_unpaired=self._campaign.compares_unpaired,
            ends=session_ends(self._campaign, self._table.passes),
        )
        return Sample(tuple(self._scaled(one) for one in found), quantity)

    def _scaled(self, one: ScaledCase) -> Match:
        """Return the match for a case at its scale, with a note on its reference scale."""
        varied = {name: value for name, value in one.case.settings.items() if name in self._plan.varied}
        at = with_coordinates({"workload": one.case.workload, **varied}, dict(one.cell.at))
        note = "" if one.p_ref is None else f"next to {one.along}={one.p_ref:g}"
        return msgspec.structs.replace(_match(one.case, one.cell, at), note=note, beside=one.base_case)

    def _unmeasured(
        self, case: Case, at: dict[str, Scalar], call: Call, quoted: frozenset[str]
    ) -> list[Match]:
        """Return the matches that an unmeasured `case` would have, so that it never passes silently."""
        if not _suits(case.settings, call.selectors, is_complete=False):
            return []
        if call.fom and call.fom.startswith(PREFIX):
            return self._unwatched(case, at, call)
        if case.id in self._table.columns:
            return []
        coordinates: dict[str, Scalar] = {
            one.name: "|".join(one.values) for one in call.selectors if one.name not in case.settings
        }
        return [
            Match(case=case.id, fom=fom.name, unit=fom.unit, better=fom.better, at=at | coordinates)
            for fom in self._plan.foms.get(case.workload, ())
            if self._is_wanted(fom.name, call, quoted) and coordinates.keys() <= set(fom.by)
        ]

    def _unwatched(self, case: Case, at: dict[str, Scalar], call: Call) -> list[Match]:
        """Return the telemetry figure that no run of `case` has, though others may."""
        figure = telemetry_figures().get((call.fom or "").removeprefix(PREFIX))
        has_points = any(one.name not in case.settings for one in call.selectors)
        if figure is None or has_points or self._has_numbers(call, case.id):
            return []
        return [Match(case=case.id, fom=call.fom or "", unit=figure.unit, better=figure.better, at=at)]

    def _has_numbers(self, call: Call, *cases: str) -> bool:
        """Return whether any of `cases` has data for `call`: a measured run, or its telemetry."""
        if call.fom and call.fom.startswith(PREFIX):
            return any(cell.fom == call.fom for cell in self._table.cells(*cases))
        return any(case in self._table.columns for case in cases)

    def _is_wanted(self, fom: str, call: Call, quoted: frozenset[str]) -> bool:
        if call.fom:
            return fom == call.fom
        return fom in quoted if quoted else not fom.startswith(PREFIX)

    def _require_known(self, rule: Rule, call: Call) -> None:
        foms = self._foms()
        if (
            call.fom is not None
            and call.fom.removeprefix(PREFIX) in telemetry_figures()
            and call.fom not in foms
        ):
            message = (
                f"no run has {call.fom}: its nodes were not watched, or have nothing of the kind; see "
                "docs/telemetry.md"
            )
            raise rule.fault(call.fom_column, message)
        if call.fom is not None and call.fom not in foms:
            message = f"unknown figure of merit {call.fom!r}; {name_cure(call.fom, foms)}"
            raise rule.fault(call.fom_column, message)
        levels = self._levels()
        for selector in call.selectors:
            if selector.name not in levels:
                message = f"unknown setting {selector.name!r}; {name_cure(selector.name, levels)}"
                raise rule.fault(selector.column, message)
            known = levels[selector.name]
            for text in selector.values:
                if known and not any(is_written(value, text) for value in known):
                    few = ", ".join(written(one, None) for one in known[:12]) + (
                        ", …" if len(known) > 12 else ""
                    )
                    message = f"nothing has {selector.name}={text}; {selector.name} is one of {few}"
                    raise rule.fault(selector.column, message)

    def _levels(self) -> dict[str, list[Scalar]]:
        """Return every setting and coordinate with its values; coordinates never measured have none."""
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
        """Return a hint on what a call may select instead."""
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


def _coordinates(cell: Cell, call: Call, case: Case) -> dict[str, Scalar]:
    return dict(cell.at if _is_pointwise(call, case) else cell.labels)


def _match(case: Case, cell: Cell, at: dict[str, Scalar]) -> Match:
    return Match(case=case.id, fom=cell.fom, unit=cell.unit, better=cell.better, at=at)


def _row(pair: Pair, cell: Cell, *, is_point: bool) -> RowName:
    at = row_coordinates(pair, cell.at if is_point else cell.labels)
    cases = pair.reference_case.id, pair.contender_case.id
    return RowName(*cases, cell.fom, cell.unit, frozenset(at.items()), is_point)


def _is_pointwise(call: Call, case: Case) -> bool:
    """Return whether each point is judged by itself: a mean over many sizes is a value of none of them."""
    return call.function.is_figure or any(one.name not in case.settings for one in call.selectors)


def _suits(settings: Settings, selectors: Iterable[Selector], *, is_complete: bool = True) -> bool:
    """Return whether `settings` have a value of each selector.

    With `is_complete` False, coordinates are still to come, so a name that is missing in `settings` is
    accepted.
    """
    for selector in selectors:
        if selector.name not in settings:
            if is_complete:
                return False
        elif not any(is_written(settings[selector.name], text) for text in selector.values):
            return False
    return True
