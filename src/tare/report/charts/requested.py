"""Charts on demand: any figure of merit against any factor."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tare.analysis.estimate import estimates
from tare.analysis.known_figures import figure_choices
from tare.core.campaign import Campaign
from tare.core.comparison import Estimate
from tare.core.errors import UsageError
from tare.core.values import Scalar, Settings
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart, chart_kinds
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import DERIVED, Variant, Variants, follows_nodes
from tare.report.words.numbers import (
    bracket_values,
    coordinate,
    is_number,
    measured,
    unit_name,
    visible,
    words,
)


class ChartRequest(NamedTuple):
    """A chart that a user asks for: the figure `fom` against `factor`, a setting or a coordinate.

    Without a `factor` it is a registered kind of chart, by its name.
    """

    fom: str
    factor: str = ""


class Selection(NamedTuple):
    """What a user asks a report to show.

    Charts, scaling and the tables of values show the figures of merit `foms`. If there are none, charts show
    those that are primary or answer the question, and the tables have all. Charts over one common base refer
    to the side with the settings `base`, by default to the reference. `requests` are further charts.
    """

    foms: tuple[str, ...] = ()
    base: Settings | None = None
    requests: tuple[ChartRequest, ...] = ()


NO_SELECTION = Selection()
_ORDER = 600
"""After all kinds of chart but the telemetry over time."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def read_request(text: str, campaign: Campaign, option: str = "--chart") -> ChartRequest:
    """Return the chart that `text` asks for: ``FOM:FACTOR``, or the name of a kind of chart.

    `option` is how it was given, for the message.

    Raises UsageError, with what there is to choose from, if the campaign has no such figure or factor.
    """
    fom, colon, factor = text.rpartition(":")
    if not colon:
        kinds = [kind.name for kind in chart_kinds()]
        if text not in kinds:
            raise UsageError(f"{option} {text}: write FOM:FACTOR, or one of {', '.join(kinds)}")
        return ChartRequest(text)
    series = [one for attempt in campaign.attempts for one in (*attempt.series, *attempt.telemetry_series)]
    foms = {one.name for declared in campaign.plan.foms.values() for one in declared}
    known = sorted(foms | {one.fom for one in series})
    if fom not in known:
        raise UsageError(f"{option} {text}: no figure of merit {fom!r}; {figure_choices(fom, known)}")
    factors = {name for name in campaign.plan.varied if name != "workload"}
    factors |= {name for one in series if one.fom == fom for name in one.at}
    if factor not in factors:
        choice = ", ".join(sorted(factors)) or "nothing: no setting varies"
        raise UsageError(f"{option} {text}: {fom} does not vary with {factor!r}; choose from {choice}")
    return ChartRequest(fom, factor)


def requested_kind(request: ChartRequest) -> ChartKind:
    """Return the kind of chart that a request for a figure and a factor asks for."""
    name = _NOT_IN_NAMES.sub("-", f"{request.fom}-by-{request.factor}").lstrip("-.")
    return ChartKind(name, Style("value"), functools.partial(_made, request=request), _ORDER)


def _made(facts: ChartFacts, *, request: ChartRequest) -> ChartPart | None:
    rows = [
        (one, _settings(one, facts.campaign))
        for one in estimates(facts.campaign, (request.fom,))
        if one.fom == request.fom and request.factor in _settings(one, facts.campaign)
    ]
    levels = list(dict.fromkeys(row[request.factor] for _, row in rows))
    has_numbers = all(is_number(level) for level in levels)
    panels = _panels(rows, request, levels, facts.variants, has_numbers=has_numbers)
    if not panels:
        return None
    return ChartPart(
        f"{words(request.fom).capitalize()} against {words(request.factor)}",
        f"{'Bands' if has_numbers else 'Lines'} are the intervals.",
        panels,
        Style(words(request.fom), is_log=False, has_lines=has_numbers),
    )


def _settings(one: Estimate, campaign: Campaign) -> Mapping[str, Scalar]:
    return {**campaign.cases[one.case].settings, **one.at}


_Rows = Sequence[tuple[Estimate, Mapping[str, Scalar]]]


def _panels(
    rows: _Rows, request: ChartRequest, levels: Sequence[Scalar], variants: Variants, *, has_numbers: bool
) -> list[Panel]:
    """Return a panel for each combination of the other settings and coordinates that vary."""
    varied = [name for name in variants.plan.varied if name not in {*variants.keys, request.factor}]
    following = _following(rows, request.factor, varied)
    grouped: dict[tuple[str, str], dict[Variant, dict[float, Point]]] = {}
    for one, row in rows:
        kinds = variants.kinds_of(str(row["workload"]))
        names = [name for name in (*varied, *one.at) if name in row and name not in following]
        title = " · ".join(
            visible(str(row[name])) if name == "workload" else coordinate(name, row[name], kinds)
            for name in dict.fromkeys(["workload", *names])
            if name != request.factor
        )
        level = row[request.factor]
        x = float(level) if has_numbers and is_number(level) else levels.index(level) + 1.0
        point = _point(one, x, coordinate(request.factor, level, kinds))
        lines = grouped.setdefault((title, one.unit), {})
        lines.setdefault(variants.variant_of[one.case], {})[x] = point
    ticks = () if has_numbers else tuple(visible(str(level)) for level in levels)
    return [
        Panel(
            title=title,
            subtitle=", ".join(filter(None, (words(request.fom), unit_name(unit)))),
            lines=tuple(
                Line(variant, tuple(point for _, point in sorted(lines[variant].items())))
                for variant in variants.all
                if variant in lines
            ),
            x=request.factor,
            unit=unit,
            ticks=ticks,
        )
        for (title, unit), lines in grouped.items()
        if len({x for points in lines.values() for x in points}) > 1
    ]


def _following(rows: _Rows, factor: str, varied: Sequence[str]) -> frozenset[str]:
    """Return the settings that the factor or the number of nodes determines, such as the ranks."""
    found = set()
    for name in varied:
        by_level: dict[Scalar, set[Scalar | None]] = {}
        for _, row in rows:
            by_level.setdefault(row[factor], set()).add(row.get(name))
        is_determined = name != "workload" and all(len(values) == 1 for values in by_level.values())
        if is_determined or (name in DERIVED and follows_nodes(name, [row for _, row in rows])):
            found.add(name)
    return frozenset(found)


def _point(one: Estimate, x: float, at: str) -> Point:
    text = measured(one.value, one.low, one.high, one.unit)
    return Point(x, one.value, one.low, one.high, at, text, bracket_values(one.low, one.high), one.n_blocks)
