"""The table at the top: what each contender costs, for each workload and scale."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from tare.model.comparison import Comparison, Verdict
from tare.report.sides import Place, Side, Sides
from tare.report.wording import bracket, cost_interval, count, percent, ratio, ratio_bounds, words

SIGNS = {verdict: verdict.sign for verdict in Verdict}
"""A shape for each verdict, the same as on the command line."""

_MOST_COLUMNS = 9
_STEPS = (0.05, 0.15, 0.4, 1.0)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One contender at one place: the number, how it is painted, and all of it in words."""

    sign: str
    number: str
    interval: str
    paint: str
    label: str
    details: tuple[tuple[str, str], ...]
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """One contender; a cell is None where the plan has no such case."""

    side: Side
    cells: tuple[Cell | None, ...]


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """Contenders × places. `groups` are the workloads with how many places each has."""

    groups: tuple[tuple[str, int], ...]
    places: tuple[Place, ...]
    rows: tuple[Row, ...]


def heat_maps(overview: Sequence[Comparison], sides: Sides) -> list[HeatMap]:
    """Return the overview as tables, their columns in the order of the plan.

    Workloads stay whole and share a table until it would be wider than a page.
    """
    by_cell = {
        (sides.side_of[one.contender_case], sides.place_of[one.contender_case]): one for one in overview
    }
    used = {place for _, place in by_cell}
    tables: list[list[Place]] = []
    for _, group in itertools.groupby((p for p in sides.places if p in used), key=lambda place: place.title):
        places = list(group)
        for start in range(0, len(places), _MOST_COLUMNS):
            part = places[start : start + _MOST_COLUMNS]
            if tables and len(tables[-1]) + len(part) <= _MOST_COLUMNS:
                tables[-1] += part
            else:
                tables.append(part)
    return [_heat_map(places, by_cell, sides) for places in tables]


def _heat_map(
    places: Sequence[Place], by_cell: Mapping[tuple[Side, Place], Comparison], sides: Sides
) -> HeatMap:
    grouped = itertools.groupby(places, key=lambda place: place.title)
    return HeatMap(
        groups=tuple((title, len(list(found))) for title, found in grouped),
        places=tuple(places),
        rows=tuple(
            Row(side, tuple(_cell(by_cell.get((side, place)), sides) for place in places))
            for side in sides.contenders
        ),
    )


def _cell(one: Comparison | None, sides: Sides) -> Cell | None:
    if one is None:
        return None
    label = f"{sides.side_of[one.contender_case].name}, {sides.place_of[one.contender_case].label}"
    if one.ratio is None or one.cost is None:
        reason = one.note or "no direction"
        details = (("Result", reason),)
        return Cell("–", "none", "", "missing", f"{label}: {reason}", details, _cases(one))
    bounds = cost_interval(one.low, one.high, one.better)
    decimals = 0 if abs(one.cost) >= 0.0995 else 1
    number = percent(one.cost, decimals=decimals)
    interval = bracket(bounds, decimals) or "no interval"
    confidence = percent(one.confidence, is_signed=False, decimals=0)
    details = (
        ("Figure of merit", f"{words(one.fom)}, {one.better} is better"),
        ("Ratio", f"{ratio(one.ratio)} {ratio_bounds(one.ratio, one.low, one.high)}".rstrip()),
        ("Cost", f"{number} {interval}"),
        ("Evidence", f"{count(one.n_blocks, 'block')}, {confidence} interval"),
        ("Verdict", one.verdict.value),
        *((("Note", one.note),) if one.note else ()),
    )
    return Cell(
        SIGNS[one.verdict],
        number,
        interval,
        paint(one),
        f"{label}: {one.verdict.value}, cost {number} {interval}, {count(one.n_blocks, 'block')}",
        details,
        _cases(one),
    )


def paint(one: Comparison) -> str:
    """Return the class that paints a comparison: its verdict and, where it is decided, how much."""
    if one.ratio is None:
        return "missing"
    if one.verdict not in (Verdict.WORSE, Verdict.BETTER):
        return one.verdict.value
    farness = max(one.ratio, 1 / one.ratio) - 1
    return f"{one.verdict.value}-{1 + sum(farness >= step for step in _STEPS)}"


def _cases(one: Comparison) -> tuple[str, ...]:
    return (one.reference_case, one.contender_case)
