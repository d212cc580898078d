"""The ratios to the reference against message size, and against the number that the problem varies."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.quoted_figures import quoted
from tare.core.comparison import Comparison
from tare.report.charts.axes import axis_words
from tare.report.charts.drawing import Style
from tare.report.charts.forest import describe_forest, forest_charts, forest_panels
from tare.report.charts.kind import MOST_PANELS, ChartFacts, ChartKind, ChartPart, Drawing
from tare.report.charts.panels import Panel, ratio_panels, scale_panels
from tare.report.words.numbers import NARROW, exact_percent

_STYLE = Style("ratio", is_ratio=True)


def _by_size(facts: ChartFacts) -> ChartPart | None:
    compared = facts.statistics.comparisons.of_contenders(facts.cases)
    return _against_reference(facts, ratio_panels(compared, facts.shown_campaign, facts.variants))


def _by_scale(facts: ChartFacts) -> ChartPart | None:
    return _against_reference(facts, scale_panels(_main_figures(facts), facts.variants))


def _against_reference(facts: ChartFacts, panels: Sequence[Panel]) -> ChartPart | None:
    if not panels:
        return None
    within = f"±{NARROW}{exact_percent(facts.margin)}"
    return ChartPart(
        f"Next to {facts.reference}, against {axis_words(panels)}",
        f"1 is {facts.reference}; the grey band is the margin ({within}) in which a difference counts as "
        "none; coloured bands are the intervals.",
        panels,
        Style(f"ratio to {facts.reference}", is_ratio=True, margin=facts.margin),
    )


def _forest(facts: ChartFacts) -> ChartPart | None:
    main = [one for one in _main_figures(facts) if one.contender_case in facts.cases]
    panels = forest_panels(main, facts.statistics.comparisons.n_points(), facts.variants)
    shown = panels[:MOST_PANELS]
    return ChartPart(
        f"Next to {facts.reference}, figure by figure",
        f"1 is {facts.reference}; right of it the figure is higher, and each name says whether that is "
        "better. The grey band is the margin; lines are the intervals.",
        panels,
        drawing=Drawing(forest_charts(shown, facts.margin), [describe_forest(panel) for panel in shown]),
    )


def _main_figures(facts: ChartFacts) -> Sequence[Comparison]:
    """Return the aggregates that people quote, or those of the figures that a user chose."""
    if facts.foms:
        return [one for one in facts.statistics.aggregates if one.fom in facts.foms]
    return quoted(facts.statistics.aggregates)


CHARTS = (
    ChartKind("figures", _STYLE, _forest, 10),
    ChartKind("ratio", _STYLE, _by_size, 50),
    ChartKind("nodes", _STYLE, _by_scale, 90),
)
