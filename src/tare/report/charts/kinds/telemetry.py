"""What the nodes did during the runs, over time."""

from __future__ import annotations

from tare.core.errors import CampaignError
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart, Drawing
from tare.report.charts.node_timelines import node_timeline_charts
from tare.report.charts.telemetry import describe_node_timeline, node_timelines


def _made(facts: ChartFacts) -> ChartPart | None:
    found = node_timelines(facts.campaign, facts.variants, facts.cases, facts.read_timeline)
    if not found.shown:
        if found.unreadable:
            raise CampaignError(found.unreadable)
        return None
    text = (
        "Runs one after another, each in a shaded epoch with the number of its block; what was not measured "
        "of it, such as a stage that prepares, is shaded less. Nodes are stacked, the first one darkest and "
        f"lowest; 100 % are all cores of one. {found.left_out}"
    ).rstrip()
    if found.unreadable:
        text += f" Left out, because {found.unreadable}."
    drawing = Drawing(node_timeline_charts(found.shown), [*map(describe_node_timeline, found.shown)])
    panels = [one.panel for one in found.shown]
    return ChartPart("What the nodes did meanwhile", text, panels, drawing=drawing, is_continued=True)


CHARTS = (ChartKind("telemetry", Style("activity", has_lines=False), _made, 900),)
