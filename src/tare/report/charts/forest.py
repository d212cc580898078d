"""Forest plots: the ratio contender / reference of each figure of merit that is one number per run.

Lewis and Clarke 2001, BMJ 322:1479, describe the origin of this kind of plot.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tare.analysis.verdicts.comparison_rows import Figure
from tare.core.comparison import Comparison
from tare.core.margins import margin_ends
from tare.report.charts import palette
from tare.report.charts.axes import Domain, ratio_x_axis, y_domain
from tare.report.charts.drawing import extent_of, framed
from tare.report.charts.grammar import COLOUR, SHAPE, Chart, Row, Spec, end, layer, name, quantity, tooltip
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Configuration, Variant, Variants
from tare.report.words.assumed import assumed_brief
from tare.report.words.changes import change, figure
from tare.report.words.numbers import SPACE, ratio

_LEAST_FIGURES = 2
_ROW = 17
"""Height of one contender's row, in pixels."""


def forest_panels(
    quoted: Sequence[Comparison], n_points: Mapping[tuple[str, Figure], int], variants: Variants
) -> list[Panel]:
    """Return a panel per configuration with several figures of merit, with a point per figure and contender.

    `quoted` are the quoted aggregates. Some are left out because other figures show them: those with several
    points, by `n_points`, and those of a problem with several steps. The value of a point is
    contender / reference of the figure itself. Its label says in which direction the figure improves.
    """
    grouped: dict[Configuration, dict[Variant, list[Point]]] = defaultdict(lambda: defaultdict(list))
    rows: dict[Configuration, dict[object, int]] = defaultdict(dict)
    n_steps = Counter(configuration.problem for configuration in variants.configurations)
    for one in quoted:
        if one.ratio and one.better and n_points.get((one.contender_case, figure_of(one))) == 1:
            configuration = variants.configuration_of[one.contender_case]
            row = rows[configuration].setdefault(figure_of(one), len(rows[configuration]))
            grouped[configuration][variants.variant_of[one.contender_case]].append(_point(one, row))
    return [
        Panel(
            configuration.label, "contender / reference", _lines(grouped[configuration], variants), "figure"
        )
        for configuration in variants.configurations
        if len(rows[configuration]) >= _LEAST_FIGURES and n_steps[configuration.problem] == 1
    ]


def forest_charts(panels: Sequence[Panel], margin: float) -> list[Chart]:
    """Return a chart per panel; all have the same scale, which includes at least twice the margin."""
    ends = [
        value
        for panel in panels
        for line in panel.lines
        for point in line.points
        for value in (point.y, point.low, point.high)
        if value is not None
    ]
    if not ends:
        return []
    domain = y_domain(ends, is_log=True, least_reach=1 + 2 * (margin or 0.01))
    return [_chart(panel, domain, margin, f"forest{index}") for index, panel in enumerate(panels)]


def describe_forest(panel: Panel) -> str:
    """Return a description of a panel for readers who cannot see it."""
    parts = [
        f"{line.variant.name}: " + ", ".join(f"{point.at} {point.interval}" for point in line.points)
        for line in panel.lines
    ]
    return f"{panel.title}: {panel.subtitle}. {'; '.join(parts)}."


def figure_of(one: Comparison) -> Figure:
    """Return a key for the figure of a comparison within its workload."""
    return one.fom, tuple(one.labels.items())


def _point(one: Comparison, row: int) -> Point:
    name_of = f"{figure(one)} ({one.better} is better)"
    text = ", ".join(filter(None, (str(change(one) or "–"), str(one.verdict), assumed_brief(one))))
    return Point(row, one.ratio or 0.0, one.low, one.high, name_of, ratio(one.ratio), text, one.n_blocks)


def _lines(by_variant: Mapping[Variant, Sequence[Point]], variants: Variants) -> tuple[Line, ...]:
    return tuple(
        Line(variant, tuple(by_variant[variant])) for variant in variants.contenders if variant in by_variant
    )


def _chart(panel: Panel, domain: Domain, margin: float, prefix: str) -> Chart:
    rows: list[Row] = [_row(line, point) for line in panel.lines for point in line.points]
    foms = list(dict.fromkeys(str(row["fom"]) for row in rows))
    n_rows = max(len(foms), 1) * max(len(panel.lines), 1)
    least, most = margin_ends(margin)
    band: list[Row] = [{"low": least, "high": most, "one": 1.0}]
    key = " · ".join(f"{palette.sign_of(line.variant)}{SPACE}{line.variant.name}" for line in panel.lines)
    return framed(
        dataclasses.replace(panel, subtitle=f"{panel.subtitle}: {key}"),
        [*_band_layers(f"{prefix}-band", domain), *_point_layers(f"{prefix}-points", foms)],
        {f"{prefix}-points": rows, f"{prefix}-band": band},
        n_rows * _ROW + len(foms) * 8,
        describe_forest(panel),
    )


def _band_layers(data: str, domain: Domain) -> list[Spec]:
    band: Spec = {"type": "rect", "color": palette.BAND.light, "opacity": 1}
    line: Spec = {"type": "rule", "color": palette.INK.light, "strokeWidth": 2.2}
    return [
        layer(data, band, {"x": ratio_x_axis(domain, "low"), "x2": end("high")}),
        layer(data, line, {"x": quantity("one")}),
    ]


def _point_layers(data: str, foms: list[str]) -> list[Spec]:
    axis: Spec = {"title": None, "labelLimit": 330, "minExtent": extent_of(foms, 330), "grid": True}
    base: Spec = {
        "y": name("fom", sort=foms, axis=axis, scale={"paddingInner": 0.3}),
        "yOffset": {"field": "row", "type": "ordinal"},
        "color": COLOUR,
    }
    tips = tooltip(
        ("side", "side"), ("fom", "figure"), ("ratio", "ratio"), ("change", "change"), ("n", "blocks")
    )
    interval: Spec = {"x": quantity("low"), "x2": end("high")}
    point: Spec = {"type": "point", "filled": True, "size": 52, "opacity": 1}
    return [
        layer(data, {"type": "rule", "strokeWidth": 1.8}, base | interval, "isValid(datum.low)"),
        layer(data, point, base | {"x": quantity("y"), "shape": SHAPE, "tooltip": tips}),
    ]


def _row(line: Line, point: Point) -> Row:
    row: Row = {
        "fom": point.at,
        "row": line.variant.index,
        "side": line.variant.name,
        "colour": palette.tone_of(line.variant).light,
        "shape": palette.shape_of(line.variant),
        "y": float(f"{point.y:.6g}"),
        "ratio": point.value,
        "change": point.interval,
        "n": point.n_blocks,
    }
    if point.low is not None and point.high is not None:
        row |= {"low": float(f"{point.low:.6g}"), "high": float(f"{point.high:.6g}")}
    return row
