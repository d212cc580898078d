"""Speedup and parallel efficiency of each side over its own smallest scale."""

from __future__ import annotations

from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.scaling import scaling_panels


def _speedup(facts: ChartFacts) -> ChartPart:
    return ChartPart(
        "Speedup",
        "The dashed line is ideal: twice the scale, twice the throughput. Bands are the intervals.",
        scaling_panels(facts.scaling, facts.variants),
    )


def _efficiency(facts: ChartFacts) -> ChartPart:
    return ChartPart(
        "Parallel efficiency",
        "Speedup over what the scale could ideally give.",
        scaling_panels(facts.scaling, facts.variants, is_efficiency=True),
    )


CHARTS = (
    ChartKind("speedup", Style("speedup"), _speedup, 70),
    ChartKind("efficiency", Style("efficiency", is_log=False, is_share=True), _efficiency, 80),
)
