"""Turn panels into Vega-Lite charts; the same specification serves the screen, paper and slides."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Sequence

import msgspec

from tare.report.charts import palette
from tare.report.charts.axes import Domain, tick_domain, x_axis, x_domain, x_title, y_axis, y_domain
from tare.report.charts.grammar import COLOUR, SHAPE, Chart, Row, Spec, end, layer, name, quantity, tooltip
from tare.report.charts.labels import end_labels, shortened
from tare.report.charts.look import LOOK
from tare.report.charts.panels import Line, Panel
from tare.report.variants import Variant
from tare.report.words.numbers import SPACE

HEIGHT = 230
WIDTH = 330
"""The width of a panel on paper, in pixels; on the page, it fills the available width."""

_TOGETHER = re.compile(r"(\d) (nodes?)\b")
_LABEL_SIZE = 11.5
_TITLE_CHARACTERS = 42
_SUBTITLE_CHARACTERS = 52
"""The characters that fit in a line above a panel, with three panels in a row."""

_LEFT = 16
"""The space left of a picture, in pixels: a viewer may set names wider than they were measured."""

_NAME_WIDTH = 6.2
"""The mean width of a character beside an axis in DejaVu Sans, in pixels."""

_MOST_LABEL_WIDTH = 140
_HAS_INTERVAL = "isValid(datum.low)"


@dataclasses.dataclass(frozen=True)
class Style:
    """The style of one kind of figure.

    `margin` gives the shaded band in which a ratio counts as 1. If `is_share`, values are shown in percent.
    `columns` is the number of panels in a row of the picture.
    """

    y_title: str
    is_log: bool = True
    is_ratio: bool = False
    has_lines: bool = True
    margin: float | None = None
    is_share: bool = False
    columns: int = 3

    @property
    def least_reach(self) -> float | None:
        """Return the factor above and below 1 that a ratio axis always includes: twice the margin."""
        return 1 + 2 * (self.margin or 0.01) if self.is_ratio else None


def panel_charts(panels: Sequence[Panel], style: Style) -> list[Chart]:
    """Return a chart per panel; panels with the same unit have the same y domain.

    The x axis of a panel is as long as its own lines, so that the names are at the ends of the lines.
    """
    charts = []
    for index, panel in enumerate(panels):
        alike = [other for other in panels if style.is_ratio or other.unit == panel.unit]
        ys = [value for other in alike for value in _heights(other)]
        xs = [point.x for line in panel.lines for point in line.points]
        y = y_domain(ys, is_log=style.is_log, least_reach=style.least_reach)
        x = tick_domain(panel.ticks) if panel.ticks else x_domain(xs, panel.x)
        charts.append(_chart(panel, style, x, y, f"panel{index}"))
    return charts


def chart_spec(chart: Chart) -> str:
    """Return one chart as a complete Vega-Lite specification in JSON."""
    whole = {"datasets": chart.rows, "config": LOOK, "padding": 4}
    return msgspec.json.encode(chart.grammar | whole).decode()


def joint_spec(charts: Sequence[Chart], right: int, columns: int = 3) -> str:
    """Return the charts as one picture for paper and slides, `columns` in a row, as Vega-Lite in JSON.

    `right` is the space right of the last panel and of the names at the ends of its lines, in pixels.
    """
    whole = {
        "concat": [chart.grammar | {"width": WIDTH} for chart in charts],
        "columns": columns,
        "spacing": 28,
        "padding": {"left": _LEFT, "top": 4, "bottom": 4, "right": right},
        "config": LOOK,
        "datasets": {data: rows for chart in charts for data, rows in chart.rows.items()},
    }
    return msgspec.json.encode(whole).decode()


def title_of(panel: Panel) -> Spec:
    """Return the title of a panel, wrapped into lines: a long line would make the chart narrower."""
    lines = textwrap.wrap(_TOGETHER.sub(rf"\1{SPACE}\2", panel.title), _TITLE_CHARACTERS)
    below = textwrap.wrap(panel.subtitle, _SUBTITLE_CHARACTERS)
    return {"text": lines if len(lines) > 1 else panel.title, "subtitle": below}


def extent_of(names: Sequence[str], limit: int) -> int:
    """Return the space for the longest name left of an axis, in pixels, in a wide font."""
    return min(limit, round(max(map(len, names), default=0) * _NAME_WIDTH))


def _heights(panel: Panel) -> list[float]:
    points = [point for line in panel.lines for point in line.points]
    guide = [y for _, y in panel.guide.ends] if panel.guide else []
    return guide + [
        value for point in points for value in (point.y, point.low, point.high) if value is not None
    ]


def _chart(panel: Panel, style: Style, x: Domain, y: Domain, prefix: str) -> Chart:
    rows = {
        f"{prefix}-axes": [_axes_row(panel, style, x, y)],
        f"{prefix}-points": [row for line in panel.lines for row in _rows(line, panel, style)],
    }
    layers = [_axes(panel, style, x, y, f"{prefix}-axes")]
    layers += _reference_layers(style, f"{prefix}-axes") if style.is_ratio else []
    if panel.guide:
        rows[f"{prefix}-guide"] = [{"x": x, "y": y} for x, y in panel.guide.ends]
        layers.append(_guide_layer(f"{prefix}-guide"))
    layers += _line_layers(style, panel, f"{prefix}-points")
    if style.has_lines:
        rows[f"{prefix}-names"] = _label_rows(panel, y)
        layers.append(_labels(f"{prefix}-names"))
    return framed(panel, layers, rows, HEIGHT, describe(panel, style))


def framed(
    panel: Panel, layers: list[Spec], rows: dict[str, list[Row]], height: int, description: str
) -> Chart:
    """Return `layers` as one chart with the title of their panel, and with its description."""
    grammar: Spec = {
        "layer": layers,
        "height": height,
        "width": "container",
        "title": title_of(panel),
        "description": description,
    }
    return Chart(grammar, rows)


def _axes_row(panel: Panel, style: Style, x: Domain, y: Domain) -> Row:
    """Return the start of the axes, and the reference line with its margin.

    These end where the panel's lines end, because the names follow there.
    """
    margin = 1 + (style.margin or 0)
    end = x.high if not style.has_lines else max(line.points[-1].x for line in panel.lines)
    return {"x": x.low, "y": y.low, "one": 1.0, "low": 1 / margin, "high": margin, "to": end}


def _axes(panel: Panel, style: Style, x: Domain, y: Domain, data: str) -> Spec:
    """Return an invisible layer with both axes, so that the other layers need not repeat them."""
    axes: Spec = {"x": x_axis(panel, x), "y": y_axis(y, is_ratio=style.is_ratio, is_share=style.is_share)}
    return layer(data, {"type": "point", "opacity": 0}, axes)


def _reference_layers(style: Style, data: str) -> list[Spec]:
    """Return layers with the margin in which a ratio counts as 1, and with the line at 1."""
    across: Spec = {"x": quantity("x"), "x2": end("to")}
    ink: Spec = {"type": "rule", "color": palette.INK.light, "strokeWidth": 2.2}
    line = layer(data, ink, across | {"y": quantity("one")})
    if not style.margin:
        return [line]
    band: Spec = {"type": "rect", "color": palette.BAND.light, "opacity": 1}
    return [layer(data, band, across | {"y": quantity("low"), "y2": end("high")}), line]


def _guide_layer(data: str) -> Spec:
    """Return a dashed line in a muted colour, since it is not measured data."""
    mark: Spec = {"type": "line", "color": palette.MUTED.light, "strokeWidth": 1.2, "strokeDash": [5, 4]}
    return layer(data, mark, {"x": quantity("x"), "y": quantity("y")})


def _line_layers(style: Style, panel: Panel, data: str) -> list[Spec]:
    """Return bands, lines and points; each row has the colour, shape and width of its variant."""
    base: Spec = {"x": quantity("x"), "y": quantity("y"), "color": COLOUR}
    apart: Spec = {"detail": [name("side"), name("segment")]}  # a line breaks where a point is missing
    layers = []
    if any(point.low is not None for line in panel.lines for point in line.points):
        ends: Spec = {"y": quantity("low"), "y2": end("high")}
        if style.has_lines:
            band: Spec = {"type": "area", "fillOpacity": 0.16, "line": False}
            layers.append(layer(data, band, base | ends | apart, _HAS_INTERVAL))
        else:
            layers.append(layer(data, {"type": "rule", "strokeOpacity": 0.5}, base | ends, _HAS_INTERVAL))
    if style.has_lines:
        width: Spec = {"strokeWidth": quantity("width", scale=None)}
        layers.append(layer(data, {"type": "line"}, base | apart | width))
    where = ("at", x_title(panel))
    tips = tooltip(("side", "side"), where, ("value", "value"), ("interval", "interval"), ("n", "blocks"))
    point_mark: Spec = {"type": "point", "filled": True, "size": 20 if style.has_lines else 46, "opacity": 1}
    layers.append(layer(data, point_mark, base | {"tooltip": tips, "shape": SHAPE}))
    if any(point.is_odd for line in panel.lines for point in line.points):
        ring: Spec = {"type": "point", "shape": "circle", "size": 210, "opacity": 1}
        layers.append(layer(data, ring, base, "datum.odd"))
    return layers


def _rows(line: Line, panel: Panel, style: Style) -> list[Row]:
    variant = line.variant
    shift = 0.0 if style.has_lines or _stand_apart(panel) else _shift(variant, panel)
    look_of_variant = {
        "side": variant.name,
        "colour": palette.tone_of(variant).light,
        "shape": palette.shape_of(variant),
        "width": 3.4 if variant.is_reference else 1.5,
    }
    rows: list[Row] = []
    for point in line.points:
        row: Row = {
            **look_of_variant,
            "x": point.x + shift,
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


def _shift(variant: Variant, panel: Panel) -> float:
    """Return how far beside its block a variant is drawn: all stay nearer to it than to the next one."""
    indices = [line.variant.index for line in panel.lines]
    first, last = min(indices), max(indices)
    step = min(_APART, _MOST_APART / (last - first + 1))
    return round(step * (variant.index - (first + last) / 2), 4)


_APART, _MOST_APART = 0.16, 0.8
"""The distance of two variants, and of the first from the last one, as a share of that of two blocks."""


def _stand_apart(panel: Panel) -> bool:
    """Return whether each position of an axis of names has one point only."""
    xs = [point.x for line in panel.lines for point in line.points]
    return bool(panel.ticks) and len(xs) == len(set(xs))


def _label_rows(panel: Panel, y: Domain) -> list[Row]:
    last = max(line.points[-1].x for line in panel.lines)
    ends = [(line.variant.name, palette.tone_of(line.variant), line.points[-1].y) for line in panel.lines]
    if panel.guide:
        ends.append((panel.guide.name, palette.MUTED, panel.guide.ends[-1][1]))
    shares = end_labels([y.share(height) for _, _, height in ends], least=15 / HEIGHT)
    return [
        {"x": last, "y": y.at(share), "name": shortened(variant_name), "colour": tone.light}
        for (variant_name, tone, _), share in zip(ends, shares, strict=True)
    ]


def _labels(data: str) -> Spec:
    """Return the variants' names, right of the ends of their lines; so no legend is needed."""
    mark: Spec = {
        "type": "text",
        "align": "left",
        "dx": 9,
        "fontSize": _LABEL_SIZE,
        "fontWeight": "bold",
        "limit": _MOST_LABEL_WIDTH - 6,
    }
    return layer(data, mark, {"x": quantity("x"), "y": quantity("y"), "text": name("name"), "color": COLOUR})


def describe(panel: Panel, style: Style) -> str:
    """Return a description of a panel for readers who cannot see it: the two ends of each line."""
    parts = []
    for line in panel.lines:
        first, last = line.points[0], line.points[-1]
        parts.append(f"{line.variant.name} from {first.value} at {first.at} to {last.value} at {last.at}")
    return f"{panel.title}: {style.y_title} ({panel.subtitle}). " + "; ".join(parts) + "."
