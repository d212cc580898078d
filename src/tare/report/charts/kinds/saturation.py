"""Where a figure stops improving: along threads, block sizes and other numbers, with its plateau."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from tare.analysis.estimate import EstimateRows
from tare.core.comparison import Estimate
from tare.core.curves import Saturation
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.panels import Guide, Line, Panel, Point
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import (
    bracket_values,
    coordinate,
    exact_percent,
    is_number,
    measured,
    unit_name,
    visible,
    words,
)

_STYLE = Style("value", is_log=False)
_REACHED = "the plateau is reached"
_Key = tuple[str, str, str, str]
"""The problem, the figure, its unit, and the setting along which it is drawn."""


def _made(facts: ChartFacts, *, is_size: bool) -> ChartPart | None:
    grouped: dict[_Key, dict[Variant, Saturation]] = {}
    for one in facts.statistics.curves.saturations:
        variants = {facts.variants.variant_of[case] for case in one.cases}
        is_chosen = one.fom in facts.foms or not facts.foms
        is_alike = facts.variants.counts_bytes(one.along, one.workload) is is_size
        if is_chosen and is_alike and one.along != "bytes" and len(variants) == 1:
            grouped.setdefault(_key(one, facts.variants), {})[variants.pop()] = one
    estimates = _by_case(facts.statistics.estimates, grouped)
    panels = [_panel(key, alike, estimates, facts.variants) for key, alike in grouped.items()]
    margin = next((one.margin for one in facts.statistics.curves.saturations), 0.0)
    share = exact_percent(margin)
    return ChartPart(
        f"Where {'larger' if is_size else 'more'} stops paying",
        f"A ring marks the smallest number at which the figure is within {share} of that at the best one, "
        "the plateau; both are compared block by block, so means that scatter much may have another order. "
        "There is none where only the last number reaches it, since what lies beyond is not known. The "
        "dashed line is the plateau of the side that it names. Bands are the intervals.",
        panels,
    )


def _key(one: Saturation, variants: Variants) -> _Key:
    kinds = variants.kinds_of(one.workload)
    fixed = [
        coordinate(name, value, kinds) for name, value in one.settings.items() if name not in variants.keys
    ]
    problem = " · ".join([visible(one.workload), *fixed])
    figure = " · ".join([words(one.fom), *(coordinate(name, value) for name, value in one.at.items())])
    return problem, figure, one.unit, one.along


_Values = dict[tuple[str, str, object], Estimate]
"""Estimates by case, figure of merit and coordinates."""


def _by_case(estimates: EstimateRows, drawn: Mapping[_Key, Mapping[Variant, Saturation]]) -> _Values:
    """Return the estimates of the cases that are drawn."""
    cases = {case for alike in drawn.values() for one in alike.values() for case in one.cases}
    return {(one.case, one.fom, tuple(one.at.items())): one for one in estimates.of_cases(cases)}


def _panel(key: _Key, alike: dict[Variant, Saturation], values: _Values, variants: Variants) -> Panel:
    problem, figure, unit, along = key
    lines = tuple(
        Line(variant, tuple(_points(alike[variant], values, variants)))
        for variant in variants.all
        if variant in alike
    )
    first = lines[0].variant
    xs = [point.x for line in lines for point in line.points]
    plateau = alike[first].plateau.value
    return Panel(
        title=problem,
        subtitle=f"{figure}, {unit_name(unit)}",
        lines=lines,
        x=along,
        unit=unit,
        guide=Guide(f"plateau of {first.name}", ((min(xs), plateau), (max(xs), plateau))),
        is_size=variants.counts_bytes(along, alike[first].workload),
    )


def _points(one: Saturation, values: _Values, variants: Variants) -> Iterator[Point]:
    kinds = variants.kinds_of(one.workload)
    for case in one.cases:
        found = values.get((case, one.fom, tuple(one.at.items())))
        level = variants.plan.cases_by_id[case].settings[one.along]
        if found is None or not is_number(level):
            continue
        is_reached = float(level) == one.x and not one.is_open
        texts = (bracket_values(found.low, found.high), _REACHED if is_reached else "")
        yield Point(
            x=float(level),
            y=found.value,
            low=found.low,
            high=found.high,
            at=coordinate(one.along, level, kinds),
            value=measured(found.value, found.low, found.high, found.unit),
            interval=", ".join(filter(None, texts)),
            n_blocks=found.n_blocks,
            is_odd=is_reached,
        )


CHARTS = (
    ChartKind("saturation", _STYLE, functools.partial(_made, is_size=False), 45),
    ChartKind("saturation-sizes", _STYLE, functools.partial(_made, is_size=True), 46),
)
