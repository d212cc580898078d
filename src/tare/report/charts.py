"""From panels to charts: one grammar for the screen, for paper and for slides (Altair, Vega-Lite)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.report import palette
from tare.report.axes import Domain, x_axis, x_domain, x_title, y_axis, y_domain
from tare.report.labels import end_labels
from tare.report.look import look
from tare.report.panels import Line, Panel

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 230
WIDTH = 330
"""Of a panel, in pixels. On the page it is as wide as its place; this is its width on paper."""

_LABEL_SIZE = 11.5
_MOST_LABEL_ROOM = 140


@dataclasses.dataclass(frozen=True)
class Style:
    """How a kind of figure is drawn. `margin` shades the band in which a ratio counts as 1."""

    y_title: str
    is_log: bool = True
    is_ratio: bool = False
    has_lines: bool = True
    margin: float | None = None

    @property
    def least_reach(self) -> float | None:
        """Return the factor about 1 that a ratio's axis shows at least: twice the margin."""
        return 1 + 2 * (self.margin or 0.01) if self.is_ratio else None


def panel_charts(panels: Sequence[Panel], style: Style) -> list[alt.LayerChart]:
    """Return a chart a panel. Those with the same unit share the scale of their values.

    Sizes reach as far as a panel's own lines, so that names stand where the lines end.
    """
    charts = []
    for panel in panels:
        alike = [other for other in panels if style.is_ratio or other.unit == panel.unit]
        ys = [value for other in alike for value in _heights(other)]
        xs = [point.x for line in panel.lines for point in line.points]
        y = y_domain(ys, is_log=style.is_log, least_reach=style.least_reach)
        charts.append(_chart(panel, style, x_domain(xs, panel.x), y))
    return charts


def side_by_side(charts: Sequence[alt.LayerChart], right: int) -> alt.ConcatChart:
    """Return the charts as one picture, at most three in a row, for paper and slides.

    `right` is the room for the names at the ends of the last panel's lines, in pixels.
    """
    import altair as alt

    sized = [chart.properties(width=WIDTH) for chart in charts]
    padding = {"left": 4, "top": 4, "bottom": 4, "right": right}
    whole = alt.concat(*sized, columns=3, spacing=28).properties(padding=padding)
    whole.config = look()
    return whole


def label_room(panels: Sequence[Panel]) -> int:
    """Return the room that the names at the ends of lines take right of a panel, in pixels."""
    longest = max(len(line.side.name) for panel in panels for line in panel.lines)
    return min(_MOST_LABEL_ROOM, round(longest * _LABEL_SIZE * 0.62) + 14)


def _heights(panel: Panel) -> list[float]:
    points = [point for line in panel.lines for point in line.points]
    return [value for point in points for value in (point.y, point.low, point.high) if value is not None]


def _chart(panel: Panel, style: Style, x: Domain, y: Domain) -> alt.LayerChart:
    import altair as alt

    layers: list[alt.Chart] = [_axes(panel, style, x, y)]
    if style.is_ratio:
        layers += _reference_layers(style, panel, x)
    for line in sorted(panel.lines, key=lambda one: not one.side.is_reference):
        layers += _line_layers(line, style, panel)
    if style.has_lines:
        layers.append(_labels(panel, y))
    return alt.LayerChart(layer=layers).properties(
        height=HEIGHT,
        width="container",
        title=alt.TitleParams(panel.title, subtitle=panel.subtitle),
        description=describe(panel, style),
    )


def _axes(panel: Panel, style: Style, x: Domain, y: Domain) -> alt.Chart:
    """Return an invisible layer that carries both axes, so that the others need not repeat them."""
    import altair as alt

    data = alt.InlineData(values=[{"x": x.low, "y": y.low}])
    invisible = alt.Chart(data).mark_point(opacity=0)
    axes: alt.Chart = invisible.encode(x=x_axis(panel, x), y=y_axis(y, is_ratio=style.is_ratio))
    return axes


def _reference_layers(style: Style, panel: Panel, x: Domain) -> list[alt.Chart]:
    """Return the line at 1 and the margin about it, no farther than the lines go: names follow there."""
    import altair as alt

    margin = 1 + (style.margin or 0)
    end = x.high if not style.has_lines else max(line.points[-1].x for line in panel.lines)
    rows = [{"one": 1.0, "low": 1 / margin, "high": margin, "from": x.low, "to": end}]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x="from:Q", x2="to:Q")
    line = base.mark_rule(color=palette.INK.light, strokeWidth=2.2).encode(y="one:Q")
    if not style.margin:
        return [line]
    return [base.mark_rect(color=palette.BAND.light, opacity=1).encode(y="low:Q", y2="high:Q"), line]


def _line_layers(line: Line, style: Style, panel: Panel) -> list[alt.Chart]:
    import altair as alt

    colour = palette.tone_of(line.side).light
    data = alt.InlineData(values=[_row(line, index, style) for index in range(len(line.points))])
    base = alt.Chart(data).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
    layers = []
    if style.has_lines:
        has_band = [row for row in line.points if row.low is not None]
        if has_band:
            banded = alt.Chart(data).transform_filter("isValid(datum.low)")
            area = banded.mark_area(color=colour, opacity=0.16, line=False)
            layers.append(area.encode(x="x:Q", y=alt.Y("low:Q"), y2="high:Q"))
        layers.append(base.mark_line(color=colour, strokeWidth=3.4 if line.side.is_reference else 1.5))
    tips = [
        ("side", ""),
        ("at", x_title(panel)),
        ("value", "value"),
        ("interval", "interval"),
    ]
    tooltip = [alt.Tooltip(f"{name}:N", title=title or "side") for name, title in [*tips, ("n", "blocks")]]
    size = 20 if style.has_lines else 46
    points = base.mark_point(
        color=colour, fill=colour, shape=palette.shape_of(line.side), size=size, strokeWidth=0.5, opacity=1
    )
    layers.append(points.encode(tooltip=tooltip))
    return layers


def _row(line: Line, index: int, style: Style) -> dict[str, object]:
    point = line.points[index]
    row: dict[str, object] = {
        "x": point.x if style.has_lines else point.x + 0.16 * (line.side.index - 1),
        "y": float(f"{point.y:.6g}"),
        "side": line.side.name,
        "at": point.at,
        "value": point.value,
        "interval": point.interval or "none",
        "n": point.n_blocks,
    }
    if point.low is not None and point.high is not None:
        row |= {"low": float(f"{point.low:.6g}"), "high": float(f"{point.high:.6g}")}
    return row


def _labels(panel: Panel, y: Domain) -> alt.Chart:
    """Return the sides' names, right of where the lines end, which need no legend then."""
    import altair as alt

    last = max(line.points[-1].x for line in panel.lines)
    ends = [(line.side.name, y.share(line.points[-1].y)) for line in panel.lines]
    shares = end_labels([share for _, share in ends], least=15 / HEIGHT)
    rows = [
        {
            "x": last,
            "y": y.at(share),
            "name": line.side.name,
            "colour": palette.tone_of(line.side).light,
        }
        for line, share in zip(panel.lines, shares, strict=True)
    ]
    names = alt.Chart(alt.InlineData(values=rows)).mark_text(
        align="left",
        dx=9,
        fontSize=_LABEL_SIZE,
        fontWeight="bold",
        limit=_MOST_LABEL_ROOM - 6,
    )
    labels: alt.Chart = names.encode(x="x:Q", y="y:Q", text="name:N", color=alt.Color("colour:N", scale=None))
    return labels


def describe(panel: Panel, style: Style) -> str:
    """Return a panel in words, for those who do not see it: each line's two ends."""
    parts = []
    for line in panel.lines:
        first, last = line.points[0], line.points[-1]
        parts.append(f"{line.side.name} from {first.value} at {first.at} to {last.value} at {last.at}")
    return f"{panel.title}: {style.y_title} ({panel.subtitle}). " + "; ".join(parts) + "."
