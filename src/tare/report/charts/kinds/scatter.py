"""The mean and the scatter of each side, side by side: what isolation costs, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator

from tare.analysis.answering_figures import shown_foms
from tare.analysis.trust.case_scatter import CaseScatter, case_scatters
from tare.core.interval import Bounded
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Configuration, Variant
from tare.report.words.numbers import bracket_values, measured, unit_name, visible, words

_NAME = "scatter"
_SIDE = "side"
_Alike = dict[Variant, CaseScatter]


def _made(facts: ChartFacts) -> ChartPart | None:
    differing = {one.contender_case for one in facts.statistics.variabilities if one.is_different}
    is_asked = _NAME in facts.requested
    if not (is_asked or differing):
        return None
    workloads = {case.workload for case in facts.campaign.plan.cases}
    foms = {*facts.foms} or {name for one in workloads for name in shown_foms(facts.campaign.plan, one)}
    grouped: dict[tuple[Configuration, object], _Alike] = {}
    for one in case_scatters(facts.campaign, foms):
        if one.case in facts.cases:
            key = (facts.variants.configuration_of[one.case], one.figure)
            grouped.setdefault(key, {})[facts.variants.variant_of[one.case]] = one
    panels = [
        panel
        for (configuration, _), alike in grouped.items()
        if len(alike) > 1 and (is_asked or any(one.case in differing for one in alike.values()))
        for panel in _pair(configuration, alike)
    ]
    return ChartPart(
        "Mean and scatter, side by side",
        "Left the mean over the blocks, right the scatter between them: the coefficient of variation, in "
        "percent of the mean. Lines are the intervals.",
        panels,
    )


def _pair(configuration: Configuration, alike: _Alike) -> Iterator[Panel]:
    """Yield the panel of the means and that of the scatters of one figure."""
    figure = next(iter(alike.values())).figure
    name = " · ".join([words(figure.fom), *(visible(str(value)) for _, value in figure.labels)])
    means = {variant: one.mean for variant, one in alike.items()}
    shares = {variant: one.cv.times(100) for variant, one in alike.items()}
    for what, unit, values in (("mean", figure.unit, means), ("scatter", "%", shares)):
        yield Panel(
            title=configuration.label,
            subtitle=f"{what} of {name}, {unit_name(unit)}",
            lines=tuple(_line(at, variant, values[variant], unit, alike) for at, variant in _placed(alike)),
            x=_SIDE,
            unit=unit,
            ticks=tuple(variant.name for _, variant in _placed(alike)),
        )


def _placed(alike: _Alike) -> list[tuple[int, Variant]]:
    return [*enumerate(sorted(alike, key=lambda variant: variant.index), 1)]


def _line(at: int, variant: Variant, value: Bounded, unit: str, alike: _Alike) -> Line:
    text, interval = measured(value.value, value.low, value.high, unit), bracket_values(value.low, value.high)
    n_blocks = alike[variant].n_blocks
    return Line(
        variant, (Point(at, value.value, value.low, value.high, variant.name, text, interval, n_blocks),)
    )


CHARTS = (ChartKind(_NAME, Style("value", is_log=False, has_lines=False, columns=2), _made),)
