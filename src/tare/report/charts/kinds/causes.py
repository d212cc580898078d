"""Where a difference comes from, and how programs slow with more latency."""

from __future__ import annotations

from tare.analysis.predictions.tolerance import EAGER_BYTES, narrowing, slowdown
from tare.core.prediction import Tolerance
from tare.core.units import format_bytes
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart, Drawing
from tare.report.charts.panels import Line, Panel, Point
from tare.report.charts.waterfall import describe_waterfall, waterfall_chart, waterfall_panel
from tare.report.variants import Variants
from tare.report.words.causes import is_told
from tare.report.words.numbers import bracket_values, quantity, ratio, scaled, visible

_LATENCIES_US = (1, 3, 10, 30, 100, 300)
_LESS = (1.0, 0.5, 0.25, 0.1, 0.05, 0.025)
"""Bandwidths, as shares of that of the program's own network."""


def _waterfalls(facts: ChartFacts) -> ChartPart | None:
    told = [
        one for one in facts.statistics.attributions if is_told(one) and one.contender_case in facts.cases
    ]
    if not told:
        return None
    panels = [waterfall_panel(one, facts.variants) for one in told]
    return ChartPart(
        "Where the time goes",
        "The parts of the difference in wall time between a contender and the reference, of profiled runs: "
        "each bar begins where the one before ends. Thin lines are the intervals.",
        panels,
        drawing=Drawing(
            [waterfall_chart(panel, f"waterfall{at}") for at, panel in enumerate(panels)],
            [describe_waterfall(panel) for panel in panels],
        ),
    )


def _tolerances(facts: ChartFacts) -> ChartPart | None:
    found = [one for one in facts.statistics.tolerances if one.limits and one.case in facts.cases]
    if not found:
        return None
    return ChartPart(
        "How programs slow with more latency",
        "Wall time with an added latency of each message between nodes over that without, from the messages "
        "of the busiest rank. The band goes down to where computation hides all non-blocking messages, and "
        f"up to where those of more than {format_bytes(EAGER_BYTES)} take three latencies.",
        [_panel(one, facts.variants) for one in found],
    )


def _panel(one: Tolerance, variants: Variants) -> Panel:
    points = []
    for added in _LATENCIES_US:
        slower = slowdown(one, added * 1e-6)
        points.append(
            Point(
                x=added,
                y=1 + slower.value,
                low=1 + slower.least,
                high=1 + slower.most,
                at=quantity(added, "us"),
                value=ratio(1 + slower.value),
                interval=bracket_values(1 + slower.least, 1 + slower.most),
                n_blocks=one.n_runs,
            )
        )
    return Panel(
        title=variants.configuration_of[one.case].label,
        subtitle=f"slowdown on {visible(one.network or one.platform)}",
        lines=(Line(variants.variant_of[one.case], tuple(points)),),
        x="added_latency_in_µs",
    )


def _bandwidths(facts: ChartFacts) -> ChartPart | None:
    found = [
        one
        for one in facts.statistics.tolerances
        if one.limits and one.link_bytes_per_s and one.n_bytes and one.case in facts.cases
    ]
    if not found:
        return None
    return ChartPart(
        "How programs slow with less bandwidth",
        "Wall time with less bandwidth of each node over that with its own, from the bytes that the busiest "
        "node receives. The latency stays the same. The band goes down to where all bytes pass while ranks "
        "compute, so that the link is busy all the time.",
        [_bandwidth_panel(one, one.link_bytes_per_s or 0.0, facts.variants) for one in found],
    )


def _bandwidth_panel(one: Tolerance, own: float, variants: Variants) -> Panel:
    points = []
    for share in reversed(_LESS):
        bandwidth = float(f"{own * share:.3g}")
        most, least = (1 + slower for slower in narrowing(one, own, bandwidth))
        points.append(
            Point(
                x=bandwidth / 1e6,
                y=most,
                low=least,
                high=most,
                at=scaled(bandwidth, "B/s"),
                value=ratio(most),
                interval=bracket_values(least, most),
                n_blocks=one.n_runs,
            )
        )
    return Panel(
        title=variants.configuration_of[one.case].label,
        subtitle=f"slowdown on {visible(one.network or one.platform)}",
        lines=(Line(variants.variant_of[one.case], tuple(points)),),
        x="bandwidth_of_a_node_in_MB/s",
    )


CHARTS = (
    ChartKind("why", Style("difference", is_log=False, has_lines=False, columns=2), _waterfalls, 40),
    ChartKind("tolerance", Style("slowdown", is_ratio=True), _tolerances, 60),
    ChartKind("tolerance-bandwidth", Style("slowdown", is_ratio=True), _bandwidths, 61),
)
