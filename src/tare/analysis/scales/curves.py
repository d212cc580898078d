"""Describe how figures change along message sizes, threads and other numeric settings.

`curves` takes a campaign and returns Hockney fits (latency and bandwidth), crossovers of two curves, and
saturation points.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tare.analysis.answering_figures import primary_foms
from tare.analysis.lines import cases_by_workload, fixed_settings, is_number, lines
from tare.analysis.scales.scaling import VARIANT_SETTINGS
from tare.analysis.table import Cell, Columns, Table, tabulate
from tare.analysis.verdicts.timed_out_runs import timed_out
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.interval import Bounded
from tare.core.plan import Plan
from tare.core.scaling import ScalingKind
from tare.core.units import seconds_in
from tare.core.values import Scalar, Settings
from tare.core.workload import Better
from tare.stats.crossings import Crossing, Plateau, Sides, crossings, plateaus
from tare.stats.estimates import estimate
from tare.stats.hockney import Hockney, Times, fit_hockney
from tare.stats.intervals import Floats
from tare.stats.scaling import bounded

SATURATION_MARGIN = 0.05
"""A figure counts as saturated once it is within this share of its best value."""

_MIN_POINTS = 3
_MOST_SIDES = 20
"""Of more sides, crossings with the reference are looked for, and not those of all pairs."""

_SCALES = ("nodes", "ranks")
"""Saturation along these settings is scaling, which `tare.analysis.scales.scaling` covers."""


class Curves(msgspec.Struct, frozen=True):
    """The results for all curves of a campaign; `n_lines` counts Hockney's lines, fitted or not."""

    hockney: tuple[HockneyFit, ...] = ()
    n_lines: int = 0
    crossovers: tuple[Crossover, ...] = ()
    saturations: tuple[Saturation, ...] = ()

    @property
    def numbers_of_blocks(self) -> list[int]:
        """Return how many blocks are behind each line, crossover and saturation."""
        return [
            *(one.n_blocks for one in self.hockney),
            *(one.n_blocks for one in self.crossovers),
            *(one.n_blocks for one in self.saturations),
        ]


class _Curve(NamedTuple):
    """A primary figure of merit of one side along a numeric coordinate or setting.

    `along` is the name of that coordinate or setting. `at` holds the other coordinates.
    """

    along: str
    cell: Cell
    at: dict[str, Scalar]
    settings: dict[str, Scalar]
    cases: tuple[Case, ...]
    xs: tuple[float, ...]
    columns: Columns

    @property
    def workload(self) -> str:
        return self.cases[0].workload

    def n_of(self, n_runs: Mapping[str, int]) -> int:
        """Return how many of these runs are of its cases."""
        return sum(n_runs.get(case.id, 0) for case in self.cases)

    @property
    def case_ids(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases)


def curves(campaign: Campaign, *, margin: float = SATURATION_MARGIN, most_lines: int | None = None) -> Curves:
    """Return a Hockney fit of each time against message size, and where curves cross and saturate.

    Primary figures of merit are considered along ``bytes`` and along each numeric setting that varies in the
    study; for saturation, nodes and ranks are left out. `margin` is the margin of saturation.
    Of Hockney's lines, only the first `most_lines` are fitted; all by default.
    """
    table, n_timed_out = tabulate(campaign), timed_out(campaign)
    found = [*_along_coordinates(campaign.plan, table), *_along_settings(campaign.plan, table)]
    of_times = [
        curve
        for curve in found
        if curve.along == "bytes" and curve.cell.better is Better.LOWER and seconds_in(curve.cell.unit)
    ]
    fits = fit_hockney(
        [
            Times(curve.xs, table.values[:, curve.columns], table.shifts[curve.columns])
            for curve in of_times[:most_lines]
        ]
    )
    return Curves(
        hockney=tuple(_hockney(*one, n_timed_out) for one in zip(of_times, fits, strict=False)),
        n_lines=len(of_times),
        crossovers=tuple(_crossovers(found, table, campaign.plan, n_timed_out)),
        saturations=tuple(_saturations(filter(_may_saturate, found), table, margin, n_timed_out)),
    )


def _along_coordinates(plan: Plan, table: Table) -> Iterator[_Curve]:
    for case in plan.cases:
        primary = primary_foms(plan, case.workload)
        of_sizes = table.once(_of_sizes, table.cells(case.id))
        drawn = [one for one in of_sizes if not primary or one.cell.fom in primary]
        settings = fixed_settings((case,), plan) if drawn else {}
        for one in drawn:
            yield _Curve(
                along="bytes",
                cell=one.cell,
                at=one.at,
                settings=settings,
                cases=(case,),
                xs=one.xs,
                columns=table.find(case.id, one.cells),
            )


class _OfSizes(NamedTuple):
    """A figure at several message sizes `xs`, with the cell of each; `cell` is the first one measured."""

    cell: Cell
    at: dict[str, Scalar]
    xs: tuple[float, ...]
    cells: list[Cell]


def _of_sizes(cells: Sequence[Cell]) -> list[_OfSizes]:
    groups: dict[tuple[object, ...], dict[float, Cell]] = {}
    for cell in cells:
        at = dict(cell.at)
        size = at.pop("bytes", None)
        if is_number(size):
            key = (cell.fom, cell.unit, cell.better, tuple(at.items()))
            groups.setdefault(key, {})[float(size)] = cell
    found = []
    for points in groups.values():
        first, xs = next(iter(points.values())), sorted(points)
        at = {name: value for name, value in first.at if name != "bytes"}
        found.append(_OfSizes(first, at, tuple(xs), [points[x] for x in xs]))
    return found


def _along_settings(plan: Plan, table: Table) -> Iterator[_Curve]:
    numeric = [name for name in plan.varied if any(is_number(case.settings.get(name)) for case in plan.cases)]
    for workload, alike in cases_by_workload(plan).items():
        primary = primary_foms(plan, workload)
        for name in numeric:
            for line in lines(alike, ScalingKind.STRONG, (name,)):
                cases = tuple(case for _, case in line.cases)
                settings = fixed_settings(cases, plan)
                for cell in table.cells(*(case.id for case in cases)):
                    is_shown = not primary or cell.fom in primary
                    if not is_shown or any(key == "bytes" for key, _ in cell.at):
                        continue
                    yield _Curve(
                        along=name,
                        cell=cell,
                        at=dict(cell.at),
                        settings=settings,
                        cases=cases,
                        xs=tuple(scale for scale, _ in line.cases),
                        columns=np.array([table.find(case.id, [cell])[0] for case in cases], np.intp),
                    )


def _hockney(curve: _Curve, found: Hockney | str, n_timed_out: Mapping[str, int]) -> HockneyFit:
    empty = HockneyFit(
        workload=curve.workload,
        case=curve.cases[0].id,
        fom=curve.cell.fom,
        unit=curve.cell.unit,
        settings=curve.settings,
        at=curve.at,
        n_blocks=0,
        n_sizes=0,
    )
    if not isinstance(found, Hockney):
        return msgspec.structs.replace(empty, refusal=found)
    return msgspec.structs.replace(
        empty,
        n_blocks=found.n_blocks,
        n_sizes=found.n_sizes,
        latency=found.latency,
        bandwidth=found.bandwidth.times(1e-6 / (seconds_in(curve.cell.unit) or 1.0)),
        half_size=found.half_size,
        misfit=found.misfit,
        timed_out=curve.n_of(n_timed_out),
    )


def _crossovers(
    found: Sequence[_Curve], table: Table, plan: Plan, n_timed_out: Mapping[str, int]
) -> Iterator[Crossover]:
    groups: dict[tuple[object, ...], list[_Curve]] = {}
    compared: list[tuple[_Curve, _Curve]] = []
    of_sides = {*VARIANT_SETTINGS, *plan.reference}
    for curve in found:
        if curve.cell.better is not None:
            fixed = frozenset(item for item in curve.settings.items() if item[0] not in of_sides)
            kind = (curve.workload, curve.along, curve.cell.fom, curve.cell.unit, curve.cell.better)
            groups.setdefault((*kind, tuple(curve.at.items()), fixed), []).append(curve)
    for alike in groups.values():
        alike.sort(key=lambda curve: not plan.is_reference(curve.cases[0]))
        firsts = alike if len(alike) <= _MOST_SIDES else alike[:1]
        compared += [(one, other) for at, one in enumerate(firsts) for other in alike[at + 1 :]]
    found_of_all = crossings(_common_points(*both, table) for both in compared)
    for (one, other), crossed in zip(compared, found_of_all, strict=True):
        n_runs = one.n_of(n_timed_out) + other.n_of(n_timed_out)
        yield from (_of_survivors(_crossover(one, other, table, at), n_runs) for at in crossed)


def _of_survivors(found: Crossover, n_timed_out: int) -> Crossover:
    """Return a crossover that is certain of nothing if runs timed out: each side is better somewhere."""
    if not n_timed_out:
        return found
    return msgspec.structs.replace(found, x=Bounded(found.x.value), is_certain=False, timed_out=n_timed_out)


def _common_points(one: _Curve, other: _Curve, table: Table) -> Sides:
    """Return two curves at the points that both have."""
    places = _common_places(one.xs, other.xs)
    below, above = one.columns[places[0]], other.columns[places[1]]
    xs = [one.xs[place] for place in places[0].tolist()]
    return Sides(
        xs, table.values[:, below], table.values[:, above], table.shifts[below] + table.shifts[above]
    )


@functools.lru_cache(maxsize=256)
def _common_places(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[Columns, Columns]:
    """Return the places of the positive numbers that both have, in each; most curves have the same."""
    places = {x: place for place, x in enumerate(other)}
    both = [(place, places[x]) for place, x in enumerate(one) if x in places and x > 0]
    return np.array([at for at, _ in both], np.intp), np.array([at for _, at in both], np.intp)


def _crossover(one: _Curve, other: _Curve, table: Table, crossing: Crossing) -> Crossover:
    sides = _common_points(one, other, table)
    is_lower = one.cell.better is Better.LOWER
    differing = [name for name in one.settings if one.settings[name] != other.settings.get(name)]
    # The ratio other / one rises through 1: below the crossing, `other` has the smaller numbers.
    is_other_first = crossing.is_rising == is_lower
    first, second = (other, one) if is_other_first else (one, other)
    return Crossover(
        workload=one.workload,
        fom=one.cell.fom,
        unit=one.cell.unit,
        along=one.along,
        settings={name: value for name, value in one.settings.items() if name not in differing},
        at=one.at,
        first=_only(first.settings, differing),
        second=_only(second.settings, differing),
        first_cases=first.case_ids,
        second_cases=second.case_ids,
        n_blocks=int(np.isfinite(sides.one * sides.other).sum(axis=0).max()),
        x=crossing.x,
        between=crossing.between,
        is_certain=crossing.is_certain,
    )


def _only(settings: Settings, names: Sequence[str]) -> dict[str, Scalar]:
    return {name: settings[name] for name in names if name in settings}


def _may_saturate(curve: _Curve) -> bool:
    """Return whether the figure can improve along the coordinate.

    Larger messages, for example, never take less time, so times do not saturate along message sizes.
    """
    if len(curve.xs) < _MIN_POINTS:
        return False
    if curve.along == "bytes":
        return curve.cell.better is Better.HIGHER
    return curve.cell.better is not None and curve.along not in _SCALES


def _saturations(
    found: Iterable[_Curve], table: Table, margin: float, n_timed_out: Mapping[str, int]
) -> Iterator[Saturation]:
    drawn: list[tuple[_Curve, Floats]] = []
    for curve in found:
        values = table.values[:, curve.columns]
        is_time = curve.cell.better is Better.LOWER
        if is_time and (values == 0).any():
            continue  # the performance of a zero time has no mean
        drawn.append((curve, 1 / values if is_time else values))
    roundings = [table.shifts[curve.columns] for curve, _ in drawn]
    reached = plateaus([performance for _, performance in drawn], margin, roundings)
    kept = [(curve, one) for (curve, _), one in zip(drawn, reached, strict=True) if one is not None]
    if not kept:
        return
    bests = [curve.columns[one.best] for curve, one in kept]
    best = estimate(table.values[:, bests], rounding=table.shifts[bests])
    for row, (curve, one) in enumerate(kept):
        yield Saturation(
            workload=curve.workload,
            fom=curve.cell.fom,
            unit=curve.cell.unit,
            better=curve.cell.better or Better.HIGHER,
            along=curve.along,
            settings=curve.settings,
            at=curve.at,
            cases=curve.case_ids,
            n_points=int(np.isfinite(one.shares.ratio).sum()),
            n_blocks=int(best.n_blocks[row]),
            margin=margin,
            x=curve.xs[one.first],
            certain_x=_certain_x(curve, one, n_timed_out),
            possible_x=curve.xs[one.first_possible],
            best_x=curve.xs[one.best],
            plateau=Bounded.of(float(best.value[row]), float(best.low[row]), float(best.high[row])),
            share=bounded(one.shares, one.first) or Bounded(1.0),
            is_open=one.first == len(curve.xs) - 1,
            timed_out=curve.n_of(n_timed_out),
        )


def _certain_x(curve: _Curve, found: Plateau, n_timed_out: Mapping[str, int]) -> float | None:
    """Return the smallest point that surely is near the best, and of which no run timed out."""
    is_of_survivors = [n_timed_out.get(case.id, 0) > 0 for case in curve.cases]
    of_points = is_of_survivors if len(is_of_survivors) == len(curve.xs) else is_of_survivors * len(curve.xs)
    certain = (curve.xs[point] for point in found.certain if not of_points[point])
    return next(certain, None)
