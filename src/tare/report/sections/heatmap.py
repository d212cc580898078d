"""The table at the top: what each contender costs, for each workload and scale."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from tare.model.comparison import Comparison, Verdict
from tare.report.sections.settling import more
from tare.report.sides import Place, Side, Sides
from tare.report.telling import MOST_COLUMNS, left_out
from tare.report.words.costs import cost
from tare.report.words.numbers import (
    count,
    percent,
    probability,
    ratio,
    ratio_bounds,
    visible,
    words,
)
from tare.stats.intervals import MIN_BLOCKS

_MOST_COLUMNS = 9
_STEPS = (0.05, 0.15, 0.4, 1.0)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One contender at one place: the number, what would settle it, its paint, and all of it in words."""

    sign: str
    number: str
    interval: str
    settling: str
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
class Column:
    """One figure of merit at one place."""

    place: Place
    fom: str

    @property
    def title(self) -> str:
        """Return what the columns of all scales have in common: ``imb.pingpong, latency``."""
        return f"{self.place.problem}, {self.fom}"


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """Contenders × columns. `groups` are workload and figure of merit, with how many scales each has."""

    groups: tuple[tuple[str, int], ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


_Cells = Mapping[tuple[Side, Column], Comparison]


def quoted(aggregates: Sequence[Comparison]) -> list[Comparison]:
    """Return the primary figures of merit of each contender, or its first where it has none."""
    found: dict[str, list[Comparison]] = {}
    for one in aggregates:
        found.setdefault(one.contender_case, []).append(one)
    return [one for rows in found.values() for one in ([row for row in rows if row.is_primary] or rows[:1])]


def heat_maps(aggregates: Sequence[Comparison], sides: Sides) -> tuple[list[HeatMap], str]:
    """Return what people quote as tables, their columns in the order of the plan, and what is left out.

    Workloads stay whole and share a table until it would be wider than a page.
    """
    cells = {
        (sides.side_of[one.contender_case], Column(sides.place_of[one.contender_case], words(one.fom))): one
        for one in quoted(aggregates)
    }
    every = list(dict.fromkeys(column for _, column in cells))
    shown = _most_telling(cells, every)
    order = {place: index for index, place in enumerate(sides.places)}
    titles = {
        title: index for index, title in enumerate(dict.fromkeys(place.problem for place in sides.places))
    }
    foms = list(dict.fromkeys(column.fom for column in every))
    shown.sort(key=lambda one: (titles[one.place.problem], foms.index(one.fom), order[one.place]))
    tables: list[list[Column]] = []
    for _, group in itertools.groupby(shown, key=lambda column: column.place.workload):
        columns = list(group)
        for start in range(0, len(columns), _MOST_COLUMNS):
            part = columns[start : start + _MOST_COLUMNS]
            if tables and len(tables[-1]) + len(part) <= _MOST_COLUMNS:
                tables[-1] += part
            else:
                tables.append(part)
    return [_heat_map(columns, cells, sides) for columns in tables], left_out(
        len(shown), len(every), "columns"
    )


def _most_telling(cells: _Cells, every: Sequence[Column]) -> list[Column]:
    farness = dict.fromkeys(every, 0.0)
    for (_, column), one in cells.items():
        farness[column] = max(farness[column], abs(math.log(one.ratio)) if one.ratio else 0.0)
    return sorted(every, key=lambda column: -farness[column])[:MOST_COLUMNS]


def _heat_map(columns: Sequence[Column], cells: _Cells, sides: Sides) -> HeatMap:
    grouped = itertools.groupby(columns, key=lambda column: column.title)
    return HeatMap(
        groups=tuple((title, len(list(found))) for title, found in grouped),
        columns=tuple(columns),
        rows=tuple(
            Row(side, tuple(_cell(cells.get((side, column)), sides) for column in columns))
            for side in sides.contenders
        ),
    )


def _cell(one: Comparison | None, sides: Sides) -> Cell | None:
    if one is None:
        return None
    place = f"{sides.place_of[one.contender_case].label}, {words(one.fom)}"
    label = f"{sides.side_of[one.contender_case].name}, {place}"
    told = cost(one, one.better)
    if told is None:
        reason = visible(one.note) or "no direction"
        said = f"{label}: {reason}"
        return Cell("–", "none", "", "", "missing", said, (("Result", reason),), _cases(one))
    number, interval = told.number, told.interval or "no interval"
    confidence = percent(one.confidence, is_signed=False, decimals=0)
    details = (
        ("Figure of merit", f"{words(one.fom)}, {one.better} is better"),
        ("Ratio", f"{ratio(one.ratio)} {ratio_bounds(one.ratio, one.low, one.high)}".rstrip()),
        ("Cost", f"{number} {interval}"),
        ("Evidence", f"{count(one.n_blocks, 'block')}, {confidence} interval"),
        ("Verdict", one.verdict.value),
        *((name, text) for name, text in _further(one) if text),
    )
    return Cell(
        one.verdict.sign,
        number,
        interval,
        _settling(one),
        paint(one),
        ", ".join(
            filter(
                None,
                (
                    f"{label}: {one.verdict.value}",
                    f"cost {number} {interval}",
                    count(one.n_blocks, "block"),
                    more(one),
                ),
            )
        ),
        details,
        _cases(one),
    )


def _settling(one: Comparison) -> str:
    """Return what would settle an undecided cell, in the few letters that it has room for."""
    if one.verdict is not Verdict.UNDECIDED:
        return ""
    if one.low is None:
        return f"needs {MIN_BLOCKS} blocks"
    return f"+{count(one.more_blocks, 'block')}" if one.more_blocks is not None else "needs another design"


def _further(one: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what a sceptic asks next."""
    robust = one.hodges_lehmann
    yield (
        "Robust",
        (
            f"{ratio(robust.ratio)} {ratio_bounds(robust.ratio, robust.low, robust.high)} (Hodges–Lehmann)"
            if robust
            else ""
        ),
    )
    yield "p", f"{probability(one.p_adjusted)}, corrected among {one.family}" if one.p_adjusted else ""
    yield "Finds", f"{percent(one.detectable)} or more" if one.detectable is not None else ""
    yield "To settle", _settling(one)
    yield "Note", visible(one.note)


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
