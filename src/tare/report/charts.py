"""From panels to charts: one grammar for the screen, for paper and for slides (Altair, Vega-Lite)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.report import palette
from tare.report.labels import end_labels
from tare.report.panels import ZERO_AT, Line, Panel

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 230
WIDTH = 330
"""Of a panel, in pixels. On the page it is as wide as its place; this is its width on paper."""

LABEL_ROOM = 96
"""Right of a panel, for the names at the ends of its lines, in pixels."""
_BYTES_LABEL = (
    "datum.value < 1 ? '0' : datum.value < 1024 ? format(datum.value, 'd') : datum.value < 1048576"
    " ? format(datum.value / 1024, 'd') + ' Ki' : format(datum.value / 1048576, 'd') + ' Mi'"
)
_RATIO_TICKS = (
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    1,
    1.05,
    1.1,
    1.2,
    1.5,
    2,
    3,
    5,
    10,
    20,
    50,
)


@dataclasses.dataclass(frozen=True)
class Domain:
    """The ends of an axis; `is_log` says that its steps are factors."""

    low: float
    high: float
    is_log: bool

    def share(self, value: float) -> float:
        """Return where `value` lies between the ends, 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def at(self, share: float) -> float:
        """Return the value that lies at `share` of the way; the inverse of `share`."""
        if self.is_log:
            return self.low * (self.high / self.low) ** share
        return self.low + share * (self.high - self.low)


@dataclasses.dataclass(frozen=True)
class Style:
    """How a kind of figure is drawn. `margin` shades the band in which a ratio counts as 1."""

    y_title: str
    is_log: bool = True
    is_ratio: bool = False
    has_lines: bool = True
    margin: float | None = None


def panel_charts(panels: Sequence[Panel], style: Style) -> list[alt.LayerChart]:
    """Return a chart a panel; those with the same unit share their scales, so that they compare."""
    charts = []
    for panel in panels:
        alike = [other for other in panels if style.is_ratio or other.subtitle == panel.subtitle]
        ys = [value for other in alike for value in _heights(other)]
        xs = [
            point.x for other in alike if other.x == panel.x for line in other.lines for point in line.points
        ]
        charts.append(_chart(panel, style, _x_domain(xs, panel.x), _y_domain(ys, style)))
    return charts


def side_by_side(charts: Sequence[alt.LayerChart], title: str) -> alt.ConcatChart:
    """Return the charts as one picture, at most three in a row, for paper and slides."""
    import altair as alt

    sized = [chart.properties(width=WIDTH) for chart in charts]
    whole = alt.concat(*sized, columns=3, spacing=28).properties(
        title=alt.TitleParams(title, anchor="start", fontSize=16, offset=14, fontWeight="bold")
    )
    return themed(whole)


def themed(chart: alt.ConcatChart) -> alt.ConcatChart:
    """Return `chart` with the report's look."""
    return chart.configure(**config())


def config() -> dict[str, object]:
    """Return the look of all charts, as a Vega-Lite config in light colours."""
    ink, muted, rule = palette.INK.light, palette.MUTED.light, palette.RULE.light
    axis = {
        "labelColor": muted,
        "titleColor": muted,
        "gridColor": rule,
        "tickColor": rule,
        "domainColor": rule,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
    }
    return {
        "font": "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
        "background": "transparent",
        "view": {"stroke": None},
        "axis": axis,
        "axisX": {"grid": False, "domain": True, "ticks": True},
        "title": {
            "color": ink,
            "subtitleColor": muted,
            "fontSize": 13,
            "subtitleFontSize": 11,
            "anchor": "start",
            "offset": 10,
            "subtitlePadding": 4,
            "frame": "group",
        },
    }


def _heights(panel: Panel) -> list[float]:
    points = [point for line in panel.lines for point in line.points]
    return [value for point in points for value in (point.y, point.low, point.high) if value is not None]


def _x_domain(xs: Sequence[float], axis: str) -> Domain:
    low, high = min(xs), max(xs)
    if axis == "block":
        return Domain(low - 0.6, high + 0.6, is_log=False)
    if low > 0:
        step = (high / low) ** 0.03
        return Domain(low / step, high * step, is_log=True)
    return Domain(low - 0.03 * (high - low), high, is_log=False)


def _y_domain(ys: Sequence[float], style: Style) -> Domain:
    low, high = min(ys), max(ys)
    if style.is_ratio:
        reach = 1 + 2 * (style.margin or 0.01)
        low, high = min(low, 1 / reach), max(high, reach)
    if style.is_log and low > 0:
        pad = (high / low) ** 0.06 if high > low else 1.1
        return Domain(low / pad, high * pad, is_log=True)
    return Domain(min(0.0, low), high * 1.06 if high > 0 else 1.0, is_log=False)


def _chart(panel: Panel, style: Style, x: Domain, y: Domain) -> alt.LayerChart:
    import altair as alt

    layers: list[alt.Chart] = [_axes(panel, style, x, y)]
    if style.is_ratio:
        layers += _reference_layers(style, panel, y)
    for line in sorted(panel.lines, key=lambda one: one.side.is_reference):
        layers += _line_layers(line, style, panel)
    if style.has_lines:
        layers.append(_labels(panel, x, y))
    return alt.layer(*layers).properties(
        height=HEIGHT,
        width="container",
        title=alt.TitleParams(panel.title, subtitle=panel.subtitle),
        description=describe(panel, style),
    )


def _scale(domain: Domain, base: int = 10) -> alt.Scale:
    import altair as alt

    kind = {"type": "log", "base": base} if domain.is_log else {"type": "linear"}
    return alt.Scale(domain=[domain.low, domain.high], nice=False, zero=False, **kind)


def _axes(panel: Panel, style: Style, x: Domain, y: Domain) -> alt.Chart:
    """Return an invisible layer that carries both axes, so that the others need not repeat them."""
    import altair as alt

    xs = sorted({point.x for line in panel.lines for point in line.points})
    x_axis: dict[str, object] = {"title": _X_TITLES.get(panel.x, panel.x), "labelFlush": False}
    if panel.x == "bytes":
        x_axis |= {"values": _byte_ticks(x), "labelExpr": _BYTES_LABEL}
    else:
        x_axis |= {"values": xs, "format": "~g", "labelOverlap": True}
    y_axis: dict[str, object] = {"title": None, "tickCount": 5, "format": "~s"}
    if style.is_ratio:
        y_axis |= {"values": _ratio_ticks(y), "labelExpr": "'× ' + format(datum.value, '~g')"}
    data = alt.InlineData(values=[{"x": x.low, "y": y.low}])
    return (
        alt.Chart(data)
        .mark_point(opacity=0)
        .encode(
            x=alt.X("x:Q", scale=_scale(x, 2), axis=alt.Axis(**x_axis)),
            y=alt.Y("y:Q", scale=_scale(y), axis=alt.Axis(**y_axis)),
        )
    )


_X_TITLES = {"bytes": "message size, bytes", "nodes": "nodes", "block": "block, in the order of time"}


def _byte_ticks(x: Domain) -> list[float]:
    ticks = [ZERO_AT] if x.low < ZERO_AT < x.high else []
    return ticks + [float(8**power) for power in range(9) if x.low <= 8**power <= x.high]


def _ratio_ticks(y: Domain) -> list[float]:
    """Return round factors, 1 always among them, thinned so that they stand apart."""
    kept = [1.0]
    for tick in sorted(
        (one for one in _RATIO_TICKS if y.low <= one <= y.high), key=lambda one: abs(math.log(one))
    ):
        if all(abs(y.share(tick) - y.share(other)) > 0.09 for other in kept):
            kept.append(tick)
    return sorted(kept)


def _reference_layers(style: Style, panel: Panel, y: Domain) -> list[alt.Chart]:
    import altair as alt

    rows = [{"one": 1.0, "low": 1 / (1 + (style.margin or 0)), "high": 1 + (style.margin or 0)}]
    base = alt.Chart(alt.InlineData(values=rows))
    layers = []
    if style.margin:
        band = base.mark_rect(color=palette.BAND.light, opacity=1)
        layers.append(band.encode(y=alt.Y("low:Q"), y2="high:Q"))
    layers.append(base.mark_rule(color=palette.INK.light, strokeWidth=2.2).encode(y="one:Q"))
    return layers


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
        layers.append(base.mark_line(color=colour, strokeWidth=2.4 if line.side.is_reference else 1.6))
    tips = [
        ("side", ""),
        ("at", _X_TITLES.get(panel.x, panel.x)),
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


def _labels(panel: Panel, x: Domain, y: Domain) -> alt.Chart:
    import altair as alt

    ends = [(line.side.name, y.share(line.points[-1].y)) for line in panel.lines]
    shares = end_labels([share for _, share in ends], least=15 / HEIGHT)
    rows = [
        {
            "x": x.high,
            "y": y.at(share),
            "name": line.side.name,
            "colour": palette.tone_of(line.side).light,
        }
        for line, share in zip(panel.lines, shares, strict=True)
    ]
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_text(align="left", dx=5, fontSize=11.5, fontWeight="bold", limit=LABEL_ROOM - 6, tooltip=None)
        .encode(x="x:Q", y="y:Q", text="name:N", color=alt.Color("colour:N", scale=None))
    )


def describe(panel: Panel, style: Style) -> str:
    """Return a panel in words, for those who do not see it: each line's two ends."""
    parts = []
    for line in panel.lines:
        first, last = line.points[0], line.points[-1]
        parts.append(f"{line.side.name} from {first.value} at {first.at} to {last.value} at {last.at}")
    return f"{panel.title}: {style.y_title} ({panel.subtitle}). " + "; ".join(parts) + "."
