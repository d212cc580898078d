"""From panels to charts: one grammar for the screen, for paper and for slides (Altair, Vega-Lite)."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.report import palette
from tare.report.axes import Domain, x_axis, x_domain, x_title, y_axis, y_domain
from tare.report.labels import end_labels
from tare.report.look import look
from tare.report.panels import Line, Panel
from tare.report.wording import SPACE

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 230
WIDTH = 330
"""Of a panel, in pixels. On the page it is as wide as its place; this is its width on paper."""

_TOGETHER = re.compile(r"(\d) (nodes?)\b")
_LABEL_SIZE = 11.5
_TITLE_CHARACTERS = 42
_SUBTITLE_CHARACTERS = 52
"""What a line above a panel has room for, where three stand in a row."""

_MOST_LABEL_ROOM = 140
Row = dict[str, object]
"""One mark of a chart, as Vega reads it."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """The grammar of one panel, and its rows by the name under which the grammar finds them.

    They stay apart until they are JSON: Altair copies and checks whatever it is given, many times over.
    """

    grammar: Row
    rows: dict[str, list[Row]]

    @classmethod
    def of(cls, grammar: alt.LayerChart, rows: dict[str, list[Row]]) -> Chart:
        """Return a chart that Altair wrote, as Vega-Lite without its look."""
        spec: Row = grammar.to_dict(validate=False)
        del spec["$schema"], spec["config"]
        return cls(spec, rows)


@dataclasses.dataclass(frozen=True)
class Style:
    """How a kind of figure is drawn.

    `margin` shades the band in which a ratio counts as 1; a value that `is_share` is told in percent.
    """

    y_title: str
    is_log: bool = True
    is_ratio: bool = False
    has_lines: bool = True
    margin: float | None = None
    is_share: bool = False

    @property
    def least_reach(self) -> float | None:
        """Return the factor about 1 that a ratio's axis shows at least: twice the margin."""
        return 1 + 2 * (self.margin or 0.01) if self.is_ratio else None


def panel_charts(panels: Sequence[Panel], style: Style) -> list[Chart]:
    """Return a chart a panel. Those with the same unit share the scale of their values.

    Sizes reach as far as a panel's own lines, so that names stand where the lines end.
    """
    charts = []
    for index, panel in enumerate(panels):
        alike = [other for other in panels if style.is_ratio or other.unit == panel.unit]
        ys = [value for other in alike for value in _heights(other)]
        xs = [point.x for line in panel.lines for point in line.points]
        y = y_domain(ys, is_log=style.is_log, least_reach=style.least_reach)
        charts.append(_chart(panel, style, x_domain(xs, panel.x), y, f"panel{index}"))
    return charts


def alone(chart: Chart) -> str:
    """Return a chart that stands on its own, as Vega-Lite in JSON."""
    whole = {"datasets": chart.rows, "config": look(), "padding": 4}
    return msgspec.json.encode(chart.grammar | whole).decode()


def side_by_side(charts: Sequence[Chart], right: int) -> str:
    """Return the charts as one picture, at most three in a row, for paper and slides: Vega-Lite in JSON.

    `right` is the room for the names at the ends of the last panel's lines, in pixels.
    """
    whole = {
        "concat": [chart.grammar | {"width": WIDTH} for chart in charts],
        "columns": 3,
        "spacing": 28,
        "padding": {"left": 4, "top": 4, "bottom": 4, "right": right},
        "config": look(),
        "datasets": {name: rows for chart in charts for name, rows in chart.rows.items()},
    }
    return msgspec.json.encode(whole).decode()


def title_of(panel: Panel) -> alt.TitleParams:
    """Return the title of a panel, on as many lines as it takes: a longer line would squeeze the chart."""
    import altair as alt

    lines = textwrap.wrap(_TOGETHER.sub(rf"\1{SPACE}\2", panel.title), _TITLE_CHARACTERS)
    below = textwrap.wrap(panel.subtitle, _SUBTITLE_CHARACTERS)
    return alt.TitleParams(lines if len(lines) > 1 else panel.title, subtitle=below)


def label_room(panels: Sequence[Panel]) -> int:
    """Return the room that the names at the ends of lines take right of a panel, in pixels."""
    longest = max(len(line.side.name) for panel in panels for line in panel.lines)
    return min(_MOST_LABEL_ROOM, round(longest * _LABEL_SIZE * 0.62) + 14)


def _heights(panel: Panel) -> list[float]:
    points = [point for line in panel.lines for point in line.points]
    guide = [y for _, y in panel.guide.ends] if panel.guide else []
    return guide + [
        value for point in points for value in (point.y, point.low, point.high) if value is not None
    ]


def _chart(panel: Panel, style: Style, x: Domain, y: Domain, name: str) -> Chart:
    import altair as alt

    rows = {
        f"{name}-axes": [_axes_row(panel, style, x, y)],
        f"{name}-points": [row for line in panel.lines for row in _rows(line, style)],
    }
    layers = [_axes(panel, style, x, y, f"{name}-axes")]
    layers += _reference_layers(style, f"{name}-axes") if style.is_ratio else []
    if panel.guide:
        rows[f"{name}-guide"] = [{"x": x, "y": y} for x, y in panel.guide.ends]
        layers.append(_guide_layer(f"{name}-guide"))
    layers += _line_layers(style, panel, f"{name}-points")
    if style.has_lines:
        rows[f"{name}-names"] = _label_rows(panel, y)
        layers.append(_labels(f"{name}-names"))
    grammar = alt.LayerChart(layer=layers).properties(
        height=HEIGHT,
        width="container",
        title=title_of(panel),
        description=describe(panel, style),
    )
    return Chart.of(grammar, rows)


def _axes_row(panel: Panel, style: Style, x: Domain, y: Domain) -> Row:
    """Return where the axes begin, and the reference with its margin, which end where the lines do.

    Names follow there.
    """
    margin = 1 + (style.margin or 0)
    end = x.high if not style.has_lines else max(line.points[-1].x for line in panel.lines)
    return {"x": x.low, "y": y.low, "one": 1.0, "low": 1 / margin, "high": margin, "to": end}


def _axes(panel: Panel, style: Style, x: Domain, y: Domain, data: str) -> alt.Chart:
    """Return an invisible layer that carries both axes, so that the others need not repeat them."""
    import altair as alt

    invisible = alt.Chart(alt.NamedData(name=data)).mark_point(opacity=0)
    axes: alt.Chart = invisible.encode(
        x=x_axis(panel, x), y=y_axis(y, is_ratio=style.is_ratio, is_share=style.is_share)
    )
    return axes


def _reference_layers(style: Style, data: str) -> list[alt.Chart]:
    """Return the margin in which a ratio counts as 1, and the line at 1."""
    import altair as alt

    base = alt.Chart(alt.NamedData(name=data)).encode(x=alt.X("x:Q"), x2=alt.X2("to:Q"))
    line = base.mark_rule(color=palette.INK.light, strokeWidth=2.2).encode(y=alt.Y("one:Q"))
    if not style.margin:
        return [line]
    return [
        base.mark_rect(color=palette.BAND.light, opacity=1).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        line,
    ]


def _guide_layer(data: str) -> alt.Chart:
    """Return a dashed line in the colour of what is not data."""
    import altair as alt

    line = alt.Chart(alt.NamedData(name=data)).mark_line(
        color=palette.MUTED.light, strokeWidth=1.2, strokeDash=[5, 4]
    )
    layer: alt.Chart = line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    return layer


def _line_layers(style: Style, panel: Panel, data: str) -> list[alt.Chart]:
    """Return bands, lines and points; each row carries the colour, shape and width of its side."""
    import altair as alt

    base = alt.Chart(alt.NamedData(name=data)).encode(
        x=alt.X("x:Q"), y=alt.Y("y:Q"), color=alt.Color("colour:N", scale=None)
    )
    banded = base.transform_filter("isValid(datum.low)")
    layers = []
    if any(point.low is not None for line in panel.lines for point in line.points):
        ends = {"y": alt.Y("low:Q"), "y2": alt.Y2("high:Q")}
        if style.has_lines:
            layers.append(banded.mark_area(opacity=0.16, line=False).encode(detail=_apart(), **ends))
        else:
            layers.append(banded.mark_rule(opacity=0.5).encode(**ends))
    if style.has_lines:
        width = alt.StrokeWidth("width:Q", scale=None)
        layers.append(base.mark_line().encode(detail=_apart(), strokeWidth=width))
    tips = [("side", "side"), ("at", x_title(panel)), ("value", "value"), ("interval", "interval")]
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in [*tips, ("n", "blocks")]]
    points = base.mark_point(filled=True, size=20 if style.has_lines else 46, opacity=1)
    layers.append(points.encode(tooltip=tooltip, shape=alt.Shape("shape:N", scale=None)))
    if any(point.is_odd for line in panel.lines for point in line.points):
        layers.append(base.transform_filter("datum.odd").mark_point(shape="circle", size=210, opacity=1))
    return layers


def _apart() -> list[alt.Detail]:
    """Return what tells lines apart: a line of one side breaks where a point is missing."""
    import altair as alt

    return [alt.Detail("side:N"), alt.Detail("segment:N")]


def _rows(line: Line, style: Style) -> list[Row]:
    side = line.side
    look_of_side = {
        "side": side.name,
        "colour": palette.tone_of(side).light,
        "shape": palette.shape_of(side),
        "width": 3.4 if side.is_reference else 1.5,
    }
    rows: list[Row] = []
    for point in line.points:
        row: Row = {
            **look_of_side,
            "x": point.x if style.has_lines else point.x + 0.16 * (side.index - 1),
            "y": float(f"{point.y:.6g}"),
            "at": point.at,
            "value": point.value,
            "interval": point.interval or "none",
            "n": point.n_blocks,
            "segment": point.segment,
            **({"odd": True} if point.is_odd else {}),
        }
        if point.low is not None and point.high is not None:
            row |= {"low": float(f"{point.low:.6g}"), "high": float(f"{point.high:.6g}")}
        rows.append(row)
    return rows


def _label_rows(panel: Panel, y: Domain) -> list[Row]:
    last = max(line.points[-1].x for line in panel.lines)
    ends = [(line.side.name, palette.tone_of(line.side), line.points[-1].y) for line in panel.lines]
    if panel.guide:
        ends.append((panel.guide.name, palette.MUTED, panel.guide.ends[-1][1]))
    shares = end_labels([y.share(height) for _, _, height in ends], least=15 / HEIGHT)
    return [
        {"x": last, "y": y.at(share), "name": name, "colour": tone.light}
        for (name, tone, _), share in zip(ends, shares, strict=True)
    ]


def _labels(data: str) -> alt.Chart:
    """Return the sides' names, right of where the lines end, which need no legend then."""
    import altair as alt

    names = alt.Chart(alt.NamedData(name=data)).mark_text(
        align="left",
        dx=9,
        fontSize=_LABEL_SIZE,
        fontWeight="bold",
        limit=_MOST_LABEL_ROOM - 6,
    )
    labels: alt.Chart = names.encode(
        x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"), color=alt.Color("colour:N", scale=None)
    )
    return labels


def describe(panel: Panel, style: Style) -> str:
    """Return a panel in words, for those who do not see it: each line's two ends."""
    parts = []
    for line in panel.lines:
        first, last = line.points[0], line.points[-1]
        parts.append(f"{line.side.name} from {first.value} at {first.at} to {last.value} at {last.at}")
    return f"{panel.title}: {style.y_title} ({panel.subtitle}). " + "; ".join(parts) + "."
