"""The figures of the page: their titles and texts, their live charts, and their pictures for paper."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from tare.report.charts.drawing import (
    HEIGHT,
    WIDTH,
    Style,
    chart_spec,
    describe,
    joint_spec,
    label_width,
    panel_charts,
)
from tare.report.charts.forest import describe_forest, forest_charts
from tare.report.charts.grammar import Chart
from tare.report.charts.kind import ChartKind, ChartPart
from tare.report.charts.node_timelines import node_timeline_charts
from tare.report.charts.painting import Painter, Picture
from tare.report.charts.panels import Line, Panel, Point
from tare.report.charts.telemetry import NodeTimelines, describe_node_timeline
from tare.report.words.numbers import NARROW, listed, percent, words

_OF_SCALE = ("speedup", "efficiency", "nodes")
MOST_PANELS = 12
"""The most panels of one figure: readers do not look at more."""

_MOST_PIXELS = 1_200_000
"""The most pixels of all panels of a PNG: drawing them is the slowest part of a report."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """One kind of chart, with one panel per configuration; `specs` has the panels as Vega-Lite in JSON."""

    name: str
    title: str
    text: str
    specs: tuple[str, ...]
    descriptions: tuple[str, ...]
    picture: Picture
    panels: tuple[Panel, ...]
    columns: int = 3

    @property
    def points(self) -> list[tuple[Panel, Line, Point]]:
        """Return every point that is drawn, with its line and its panel."""
        return [(panel, line, one) for panel in self.panels for line in panel.lines for one in line.points]

    @property
    def is_of_scale(self) -> bool:
        """Return whether the figure shows scaling, with the number of nodes or another number."""
        return self.name.split("-")[0] in _OF_SCALE or all(panel.x == "nodes" for panel in self.panels)

    @property
    def is_of_activity(self) -> bool:
        """Return whether the figure shows the activity of nodes and networks during the runs."""
        return self.name.startswith(("telemetry", "packets"))


def figures(
    groups: Mapping[str, Sequence[Panel]],
    reference: str,
    margin: float,
    painter: Painter,
    registered: Sequence[tuple[ChartKind, ChartPart]] = (),
) -> list[Figure]:
    """Return a figure for each group with panels.

    Groups are ``figures``, ``time``, ``rate``, ``value``, ``ratio``, ``nodes``, ``speedup``,
    ``efficiency``, ``packets`` and ``blocks``. The charts that are `registered` follow them.
    """
    within = f"±{NARROW}{percent(margin, is_signed=False, decimals=0)}"
    ratio_text = (
        f"1 is {reference}; the grey band is the margin ({within}) in which a difference counts as none; "
        "coloured bands are the intervals."
    )
    kinds = {
        "time": (Style("time"), _title(groups.get("time", ())), "Lower is better."),
        "rate": (
            Style("rate", is_log=False),
            _title(groups.get("rate", ())),
            "Higher is better.",
        ),
        "value": (
            Style("value", is_log=False),
            _title(groups.get("value", ())),
            "Neither higher nor lower is better.",
        ),
        "ratio": (
            _ratio_style(reference, margin),
            f"Next to {reference}, against {_axes(groups.get('ratio', ()))}",
            ratio_text,
        ),
        "speedup": (
            Style("speedup"),
            "Speedup",
            "The dashed line is ideal: twice the scale, twice the throughput. Bands are the intervals.",
        ),
        "efficiency": (
            Style("efficiency", is_log=False, is_share=True),
            "Parallel efficiency",
            "Speedup over what the scale could ideally give.",
        ),
        "nodes": (
            _ratio_style(reference, margin),
            f"Next to {reference}, against {_axes(groups.get('nodes', ()))}",
            ratio_text,
        ),
        "packets": (
            Style("share of packets", is_log=False, is_share=True),
            "Packets by size",
            "Shares of the packets that hosts sent through the network’s interface, by the power of two that "
            "they do not exceed, with their Ethernet header. The table below has exact sizes.",
        ),
        "blocks": (
            Style("run / average of its case", is_ratio=True, has_lines=False),
            "Run by run",
            "Each run next to the average of its own case, block by block. "
            "Drift and single outliers, in a ring, show here; both sides of a block are compared with each "
            "other only.",
        ),
    }
    drawn = [
        _figure(
            painter,
            name,
            title,
            f"{text} {_left_out(groups[name])}".rstrip(),
            groups[name][:MOST_PANELS],
            style,
        )
        for name, (style, title, text) in kinds.items()
        if groups.get(name)
    ]
    for kind, part in registered:
        text = f"{part.text} {_left_out(part.panels)}".rstrip()
        drawn.append(_figure(painter, kind.name, part.title, text, part.panels[:MOST_PANELS], kind.style))
    if groups.get("figures"):
        drawn.insert(0, _forest(painter, groups["figures"][:MOST_PANELS], reference, margin))
    return drawn


def watched_figure(found: NodeTimelines, painter: Painter) -> list[Figure]:
    """Return the figure of the nodes' telemetry over time, in several parts if it is large; may be empty."""
    if not found.shown:
        return []
    text = (
        "Runs one after another, each in a shaded epoch with the number of its block; what was not measured "
        "of it, such as a stage that prepares, is shaded less. Nodes are stacked, the first one darkest and "
        f"lowest; 100 % are all cores of one. {found.left_out}"
    ).rstrip()
    title = "What the nodes did meanwhile"
    charts = node_timeline_charts(found.shown)
    drawn = []
    for first in range(0, len(charts), MOST_PANELS):  # this number fits on a printed page
        part = slice(first, first + MOST_PANELS)
        descriptions = tuple(describe_node_timeline(one) for one in found.shown[part])
        panels = [one.panel for one in found.shown[part]]
        name = f"telemetry-{first // MOST_PANELS + 1}" if first else "telemetry"
        drawn.append(_drawn(painter, name, title, text, panels, charts[part], descriptions, 8))
        title, text = "What the nodes did meanwhile, continued", ""
    return drawn


def _left_out(panels: Sequence[Panel]) -> str:
    n = len(panels)
    return f"The first {MOST_PANELS} of {n} panels; the tables have the others." if n > MOST_PANELS else ""


def _title(panels: Sequence[Panel]) -> str:
    """Return the title of panels: ``Against message size: latency and time avg``."""
    foms = dict.fromkeys(panel.subtitle.split(",")[0] for panel in panels)
    return f"Against {_axes(panels)}: {listed([*foms])}"


def _axes(panels: Sequence[Panel]) -> str:
    names = {"bytes": "message size", "nodes": "the number of nodes"}
    return listed([*dict.fromkeys(names.get(panel.x, words(panel.x)) for panel in panels)])


def _ratio_style(reference: str, margin: float) -> Style:
    return Style(f"ratio to {reference}", is_ratio=True, margin=margin)


def _figure(
    painter: Painter, name: str, title: str, text: str, panels: Sequence[Panel], style: Style
) -> Figure:
    return _drawn(
        painter,
        name,
        title,
        text,
        panels,
        panel_charts(panels, style),
        tuple(describe(panel, style) for panel in panels),
        label_width(panels) if style.has_lines else 8,
        style.columns,
    )


def _forest(painter: Painter, panels: Sequence[Panel], reference: str, margin: float) -> Figure:
    text = (
        f"1 is {reference}; right of it the figure is higher, and each name says whether that is better. "
        "The grey band is the margin; lines are the intervals."
    )
    charts = forest_charts(panels, margin)
    descriptions = tuple(describe_forest(panel) for panel in panels)
    return _drawn(
        painter, "figures", f"Next to {reference}, figure by figure", text, panels, charts, descriptions, 8
    )


def _drawn(
    painter: Painter,
    name: str,
    title: str,
    text: str,
    panels: Sequence[Panel],
    charts: Sequence[Chart],
    descriptions: tuple[str, ...],
    right: int,
    columns: int = 3,
) -> Figure:
    """Return a figure with its specs, picture and texts; `right` is the space for names, in pixels."""
    return Figure(
        name=name,
        title=title,
        text=text,
        specs=tuple(chart_spec(chart) for chart in charts),
        descriptions=descriptions,
        picture=painter.paint(joint_spec(charts, right, columns), _scale(len(charts))),
        panels=tuple(panels),
        columns=columns,
    )


def _scale(n_panels: int) -> float:
    """Return the pixels per unit of a picture: two, or fewer if there are many panels."""
    return min(2.0, math.sqrt(_MOST_PIXELS / (n_panels * WIDTH * HEIGHT)))
