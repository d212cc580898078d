"""Turn estimates and ratios into panels with lines and points; `report.charts` draws them."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tare.analysis.answering_figures import shown_foms
from tare.analysis.bounds import bound
from tare.core.bounds import Bound
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Estimate
from tare.core.values import Settings
from tare.core.workload import Better, Fom
from tare.report.variants import Variant, Variants
from tare.report.words.assumed import assumed_brief
from tare.report.words.changes import change, figure
from tare.report.words.numbers import (
    bracket_values,
    coordinate,
    counts_bytes,
    quantity,
    ratio,
    unit_name,
    words,
)

MOST_POINTS = 36
"""The most points of a line: more would overlap."""

IN_TIME = "order of time"
"""The name of the x axis of panels that show runs by block; no setting can have this name."""

LEAST_SHARE_DRAWN = 0.25
"""A bound is drawn only if this share of it is reached: a much higher one would flatten the lines."""

ZERO_AT = 0.5
"""The position of a message of 0 bytes on a logarithmic axis: one step left of 1 byte."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One point with its interval, as numbers and as text.

    Lines join only points of one `segment`: there is a gap if a point between two is missing. `is_odd` marks
    an outlier.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    at: str
    value: str
    interval: str
    n_blocks: int
    segment: int = 0
    is_odd: bool = False


@dataclasses.dataclass(frozen=True)
class Guide:
    """A line for comparison that was not measured, such as ideal speedup, given by its two ends."""

    name: str
    ends: tuple[tuple[float, float], ...]


@dataclasses.dataclass(frozen=True)
class Line:
    """The points of one variant, from left to right."""

    variant: Variant
    points: tuple[Point, ...]


@dataclasses.dataclass(frozen=True)
class Panel:
    """The lines of one workload for one FOM.

    `x` is the name of the coordinate. Ratios have no `unit`. `is_size` is true if `x` counts bytes. If there
    are `ticks`, x is no number: the positions 1, 2, 3 etc. have these names.
    """

    title: str
    subtitle: str
    lines: tuple[Line, ...]
    x: str
    unit: str = ""
    guide: Guide | None = None
    is_size: bool = False
    ticks: tuple[str, ...] = ()


_Grouped = dict[tuple[str, str, str, str], dict[Variant, list[Point]]]
"""Points by title, subtitle, coordinate and unit of their panel, and by variant."""


def measured_panels(
    estimates: Sequence[Estimate], campaign: Campaign, variants: Variants, better: Better | None
) -> list[Panel]:
    """Return panels of the shown FOMs with direction `better`, against size, one per configuration and FOM.

    A FOM without numeric coordinates is drawn against the number that its problem varies, one panel per
    problem.
    """
    grouped: _Grouped = defaultdict(lambda: defaultdict(list))
    bounds: dict[tuple[str, str], set[Bound | None]] = {}
    for one in estimates:
        configuration = variants.configuration_of[one.case]
        if one.better is better and is_shown(campaign, one.case, one.fom):
            found = _axis(one.at)
            axis, x, rest = found or (configuration.along, configuration.at, _rest(one.at))
            title = configuration.label if found else configuration.problem
            point = Point(
                x=x,
                y=one.value,
                low=one.low,
                high=one.high,
                at=coordinate(axis, one.at[axis]) if found else configuration.step,
                value=quantity(one.value, one.unit),
                interval=bracket_values(one.low, one.high),
                n_blocks=one.n_blocks,
            )
            subtitle = f"{words(one.fom)}, {unit_name(one.unit)}{rest}"
            grouped[title, subtitle, axis, one.unit][variants.variant_of[one.case]].append(point)
            bounds.setdefault((title, subtitle), set()).add(_bound(campaign, one))
    panels = _panels(grouped, variants)
    return [_against(panel, bounds[panel.title, panel.subtitle]) for panel in panels]


def _bound(campaign: Campaign, one: Estimate) -> Bound | None:
    return (
        bound(campaign, campaign.cases[one.case], one.fom, one.unit) if one.better is Better.HIGHER else None
    )


def _against(panel: Panel, bounds: set[Bound | None]) -> Panel:
    """Return `panel` with the bound of its points as a guide, if all share it and are not far below it."""
    (known, *others) = bounds
    points = [point for line in panel.lines for point in line.points]
    if known is None or others or max(point.y for point in points) < known.value * LEAST_SHARE_DRAWN:
        return panel
    ends = [(x, known.value) for x in (min(one.x for one in points), max(one.x for one in points))]
    return dataclasses.replace(panel, guide=Guide(known.resource.value, tuple(ends)))


def ratio_panels(comparisons: Sequence[Comparison], campaign: Campaign, variants: Variants) -> list[Panel]:
    """Return panels of contender / reference against size, one per configuration and shown FOM."""
    grouped: _Grouped = defaultdict(lambda: defaultdict(list))
    for one in comparisons:
        coordinates = {name: value for name, value in one.at.items() if name not in _shared(campaign, one)}
        found = _axis(coordinates)
        if found and one.ratio is not None and is_shown(campaign, one.contender_case, one.fom):
            axis, x, rest = found
            key = (
                variants.configuration_of[one.contender_case].label,
                f"{words(one.fom)}{rest}{_direction(one.better)}",
                axis,
                "",
            )
            grouped[key][variants.variant_of[one.contender_case]].append(
                _ratio_point(one, x, coordinate(axis, one.at[axis]))
            )
    return _panels(grouped, variants)


def scale_panels(figures: Sequence[Comparison], variants: Variants) -> list[Panel]:
    """Return panels of overall ratios, one per problem and figure.

    The x axis is the number that the problem varies. If there are many panels, only those with the largest
    differences are returned.
    """
    grouped: dict[tuple[str, str], dict[Variant, list[Point]]] = defaultdict(lambda: defaultdict(list))
    firsts: dict[tuple[str, str], tuple[Comparison, str]] = {}
    gaps: dict[tuple[tuple[str, str], Variant], list[float]] = defaultdict(list)
    for one in figures:
        configuration, variant = (
            variants.configuration_of[one.contender_case],
            variants.variant_of[one.contender_case],
        )
        key = (configuration.problem, figure(one))
        if one.ratio is None:
            gaps[key, variant].append(configuration.at)
        else:
            firsts.setdefault(key, (one, configuration.along))
            grouped[key][variant].append(_ratio_point(one, configuration.at, configuration.step))
    for (key, variant), missing in gaps.items():
        if points := grouped.get(key, {}).get(variant):
            grouped[key][variant] = broken(points, missing)
    found: dict[tuple[str, str], Panel] = {}
    for key, lines in grouped.items():
        first, along = firsts[key]
        if len({point.x for points in lines.values() for point in points}) > 1:
            subtitle = f"{key[1]}{_direction(first.better)}"
            is_size = variants.counts_bytes(along, variants.configuration_of[first.contender_case].workload)
            found[key] = Panel(key[0], subtitle, lines_of(lines), along, is_size=is_size)
    farthest = sorted(found, key=lambda key: -_farness(found[key]))[:_MOST_SCALE_PANELS]
    return [panel for key, panel in found.items() if key in farthest]


_MOST_SCALE_PANELS = 12


def _farness(panel: Panel) -> float:
    points = (point for line in panel.lines for point in line.points if point.y > 0)
    return max((abs(math.log(point.y)) for point in points), default=0.0)


def broken(points: Iterable[Point], missing: Sequence[float]) -> list[Point]:
    """Return `points` in segments, with a gap at each x in `missing`."""
    return [dataclasses.replace(point, segment=sum(x < point.x for x in missing)) for point in points]


def is_shown(campaign: Campaign, case: str, fom: str) -> bool:
    """Return whether charts show a FOM of a case."""
    return fom in shown_by_case(campaign)[case]


def shown_by_case(campaign: Campaign) -> Mapping[str, frozenset[str]]:
    """Return the FOMs that charts show: the primary or answering ones, or the first if there are none.

    The result is cached, since a campaign does not change.
    """

    def find() -> Mapping[str, frozenset[str]]:
        plan = campaign.plan
        workloads = dict.fromkeys(case.workload for case in plan.cases)
        first = {name: frozenset(fom.name for fom in plan.foms.get(name, ())[:1]) for name in workloads}
        shown = {name: shown_foms(plan, name) or first[name] for name in workloads}
        return {case.id: shown[case.workload] for case in plan.cases}

    return campaign.memo.get(shown_by_case, find)


def first_fom(campaign: Campaign, case: str) -> str | None:
    """Return the figure of merit that represents a run of `case` as one number, or None."""
    foms: Iterable[Fom] = campaign.plan.foms.get(campaign.cases[case].workload, ())
    return next((one.name for one in foms if is_shown(campaign, case, one.name)), None)


def _shared(campaign: Campaign, one: Comparison) -> set[str]:
    return {"workload"} | (set(campaign.cases[one.contender_case].settings) & set(campaign.plan.varied))


def _axis(at: Settings) -> tuple[str, float, str] | None:
    """Return the coordinate for the x axis, the value on it, and the other coordinates in words."""
    numeric = [
        name for name, value in at.items() if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if not numeric:
        return None
    axis = "bytes" if "bytes" in numeric else numeric[0]
    x = float(at[axis])
    rest = _rest({name: value for name, value in at.items() if name != axis})
    return axis, ZERO_AT if axis == "bytes" and x == 0 else x, rest


def _rest(at: Settings) -> str:
    """Return coordinates as the end of a subtitle."""
    return "".join(f" · {coordinate(name, value)}" for name, value in at.items())


def _ratio_point(one: Comparison, x: float, at: str) -> Point:
    value = one.ratio or 0.0
    text = ", ".join(filter(None, (str(change(one) or "–"), str(one.verdict), assumed_brief(one))))
    return Point(x, value, one.low, one.high, at, ratio(value), text, one.n_blocks)


def _direction(better: Better | None) -> str:
    return f", {better} is better" if better else ""


def _panels(grouped: _Grouped, variants: Variants) -> list[Panel]:
    planned = _planned(variants)
    for (title, _, axis, _), lines in grouped.items():
        for variant, points in lines.items() if axis not in ("bytes", IN_TIME) else ():
            measured = {point.x for point in points}
            missing = [x for x in planned.get((title, variant), ()) if x not in measured]
            lines[variant] = broken(points, missing)
    titles = dict.fromkeys(
        title
        for configuration in variants.configurations
        for title in (configuration.label, configuration.problem)
    )
    order = {title: place for place, title in enumerate(titles)}
    ordered = sorted(grouped.items(), key=lambda item: order[item[0][0]])
    return [
        Panel(title, subtitle, lines_of(_thinned(lines)), axis, unit, is_size=counts_bytes(axis))
        for (title, subtitle, axis, unit), lines in ordered
        if len({point.x for points in lines.values() for point in points}) > 1
    ]


def _planned(variants: Variants) -> dict[tuple[str, Variant], list[float]]:
    """Return the steps of each problem at which a variant is planned."""
    found: dict[tuple[str, Variant], list[float]] = defaultdict(list)
    for case, configuration in variants.configuration_of.items():
        found[configuration.problem, variants.variant_of[case]].append(configuration.at)
    return found


def lines_of(by_variant: Mapping[Variant, list[Point]]) -> tuple[Line, ...]:
    """Return a line per variant, in their order, with its points from left to right."""
    return tuple(
        Line(variant, tuple(sorted(by_variant[variant], key=lambda point: point.x)))
        for variant in sorted(by_variant, key=lambda variant: variant.index)
    )


def _thinned(lines: dict[Variant, list[Point]]) -> dict[Variant, list[Point]]:
    """Return every n-th point and the last, so that a line has about MOST_POINTS points at most."""
    xs = sorted({point.x for points in lines.values() for point in points})
    step = math.ceil(len(xs) / MOST_POINTS)
    drawn = frozenset([*xs[::step], xs[-1]])
    return {variant: [point for point in points if point.x in drawn] for variant, points in lines.items()}
