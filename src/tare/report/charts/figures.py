"""The figures of the page: their titles and texts, their live charts, and their pictures for paper."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tare.core import log
from tare.core.log import fields
from tare.report.charts.drawing import (
    HEIGHT,
    WIDTH,
    Style,
    chart_spec,
    describe,
    joint_spec,
    panel_charts,
)
from tare.report.charts.kind import MOST_PANELS, ChartFacts, ChartKind, ChartPart, Drawing, chart_kinds
from tare.report.charts.painting import Painter, Picture
from tare.report.charts.panels import Line, Panel, Point
from tare.report.charts.requested import ChartRequest, requested_kind
from tare.report.words.failures import failure_words
from tare.report.words.numbers import visible

_LOG = log.of("report")
_OF_SCALE = ("speedup", "efficiency", "nodes")
_MOST_PIXELS = 1_200_000
"""The most pixels of all panels of a PNG: drawing them is the slowest part of a report."""

_NAMES, _NO_NAMES = 32, 8
"""The space right of a picture, in pixels; with names at the ends of lines, which a viewer may set wider."""


@dataclasses.dataclass(frozen=True)
class Figure:
    """One kind of chart, with one panel per configuration.

    `specs` has the panels as Vega-Lite in JSON, and `joint` all of them as one picture. A figure that
    `is_continued` has further panels of the figure before it; a page folds it.
    """

    name: str
    title: str
    text: str
    specs: tuple[str, ...]
    descriptions: tuple[str, ...]
    picture: Picture
    panels: tuple[Panel, ...]
    columns: int = 3
    joint: str = ""
    is_continued: bool = False

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


class DrawnFigures(NamedTuple):
    """The figures of a report, and a sentence on each chart that is missing though it was to be drawn."""

    figures: tuple[Figure, ...] = ()
    faults: tuple[str, ...] = ()


def drawn_figures(facts: ChartFacts, requests: Sequence[ChartRequest], painter: Painter) -> DrawnFigures:
    """Return the figures of all kinds of chart, and of those that a user asks for.

    A chart that fails leaves a sentence and no figure: it may be another package's, and the other charts of
    the report do not depend on it.
    """
    asked = [requested_kind(one) for one in dict.fromkeys(requests) if one.factor]
    figures: list[Figure] = []
    faults: list[str] = []
    for kind in sorted([*chart_kinds(), *asked], key=lambda kind: kind.order):
        try:
            found = list(_figures(kind, facts, painter))
        except Exception as error:  # a plug-in may raise anything
            why = failure_words(error)
            _LOG.warning("a chart could not be made", extra=fields(chart=kind.name, why=why), exc_info=True)
            faults.append(f"The chart “{visible(kind.name)}” could not be made: {why}.")
            continue
        figures += found
        if not found and (kind in asked or kind.name in facts.requested):
            faults.append(f"The chart “{visible(kind.name)}” was asked for, and there is nothing to draw.")
    return DrawnFigures(tuple(figures), tuple(faults))


def _figures(kind: ChartKind, facts: ChartFacts, painter: Painter) -> Iterator[Figure]:
    """Yield the figure of a kind of chart; several if it is continued, none if there is nothing to draw."""
    part = kind.make(facts)
    if part is None or not part.panels:
        return
    n_drawn = len(part.panels) if part.is_continued else MOST_PANELS
    text = f"{part.text} {_left_out(len(part.panels), n_drawn)}".rstrip()
    style = part.style or kind.style
    for first in range(0, min(len(part.panels), n_drawn), MOST_PANELS):
        shown = slice(first, first + MOST_PANELS)
        number = first // MOST_PANELS + 1
        figure = _figure(
            painter,
            kind.name if number == 1 else f"{kind.name}-{number}",
            part._replace(
                title=part.title if number == 1 else f"{part.title}, continued",
                text=text if number == 1 else "",
                panels=part.panels[shown],
            ),
            part.drawing and Drawing(part.drawing.charts[shown], part.drawing.descriptions[shown]),
            style,
        )
        yield dataclasses.replace(figure, is_continued=number > 1)


def _left_out(n_panels: int, n_drawn: int) -> str:
    if n_panels <= n_drawn:
        return ""
    return f"The first {n_drawn} of {n_panels} panels; the tables have the others."


def _figure(painter: Painter, name: str, part: ChartPart, drawing: Drawing | None, style: Style) -> Figure:
    panels = part.panels
    charts = drawing.charts if drawing else panel_charts(panels, style)
    descriptions = drawing.descriptions if drawing else [describe(panel, style) for panel in panels]
    right = _NAMES if style.has_lines and not drawing else _NO_NAMES
    joint = joint_spec(charts, right, style.columns)
    return Figure(
        name=name,
        title=part.title,
        text=part.text,
        specs=tuple(chart_spec(chart) for chart in charts),
        descriptions=tuple(descriptions),
        picture=painter.paint(joint, _scale(len(charts))),
        panels=tuple(panels),
        columns=style.columns,
        joint=joint,
    )


def _scale(n_panels: int) -> float:
    """Return the pixels per unit of a picture: two, or fewer if there are many panels."""
    return min(2.0, math.sqrt(_MOST_PIXELS / (n_panels * WIDTH * HEIGHT)))
