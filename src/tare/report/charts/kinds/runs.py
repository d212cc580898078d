"""Each run next to the average of its case, in the order of time."""

from __future__ import annotations

from tare.report.charts.blocks import block_panels
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart


def _made(facts: ChartFacts) -> ChartPart:
    return ChartPart(
        "Run by run",
        "Each run next to the average of its own case, block by block. Drift and single outliers, in a ring, "
        "show here; both sides of a block are compared with each other only.",
        block_panels(facts.shown_campaign, facts.variants, facts.cases, facts.odd_runs),
    )


CHARTS = (
    ChartKind("blocks", Style("run / average of its case", is_ratio=True, has_lines=False), _made, 100),
)
