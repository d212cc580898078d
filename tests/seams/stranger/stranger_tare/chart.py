"""A chart of a stranger's: how long the runs of each variant took, against the number of nodes."""

from __future__ import annotations

from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Variant


def _made(facts: ChartFacts) -> ChartPart | None:
    taken: dict[Variant, dict[int, float]] = {}
    for attempt in facts.campaign.measured():
        nodes = facts.campaign.cases[attempt.case].layout.nodes
        by_nodes = taken.setdefault(facts.variants.variant_of[attempt.case], {})
        by_nodes[nodes] = by_nodes.get(nodes, 0.0) + (attempt.elapsed_s or 0.0)
    lines = tuple(
        Line(
            variant,
            tuple(
                Point(nodes, seconds, None, None, f"{nodes} nodes", f"{seconds:.1f} s", "", 1)
                for nodes, seconds in sorted(by_nodes.items())
            ),
        )
        for variant, by_nodes in taken.items()
    )
    return ChartPart(
        "Time taken", "All runs together.", [Panel("all", "time, s", lines, "nodes", "s")] if lines else []
    )


CHARTS = (ChartKind("stranger-time", Style("time"), _made),)
