"""Charts of what nodes did against time: hosts stacked, runs as shaded epochs."""

from __future__ import annotations

from collections.abc import Sequence

from tare.report.charts import palette
from tare.report.charts.drawing import HEIGHT, framed
from tare.report.charts.grammar import Chart, Row, Spec, end, layer, quantity, tooltip
from tare.report.sections.telemetry import Course, describe_course

_LEAST_OPACITY = 0.35


def course_charts(courses: Sequence[Course]) -> list[Chart]:
    """Return a chart a course. Those of one quantity share the scale of their values."""
    highest: dict[str, float] = {}
    for course in courses:
        top = max(bar.high for bar in course.bars)
        highest[course.panel.subtitle] = max(top, highest.get(course.panel.subtitle, 0.0))
    return [
        _chart(course, highest[course.panel.subtitle], f"course{index}")
        for index, course in enumerate(courses)
    ]


def _chart(course: Course, highest: float, prefix: str) -> Chart:
    end_s = max(epoch.end for epoch in course.epochs)
    colour = palette.tone_of(course.panel.lines[0].side).light
    epochs: list[Row] = [
        {"x": one.begin, "x2": one.end, "y": 0, "y2": highest or 1.0, "block": one.block}
        for one in course.epochs
    ]
    layers = [
        _epoch_layer(f"{prefix}-epochs", end_s, highest or 1.0, course),
        _bar_layer(f"{prefix}-bars", colour),
    ]
    rows = {f"{prefix}-epochs": epochs, f"{prefix}-bars": _bar_rows(course)}
    return framed(course.panel, layers, rows, HEIGHT, describe_course(course))


def _epoch_layer(data: str, end_s: float, highest: float, course: Course) -> Spec:
    y_title = "% of all cores" if course.panel.unit == "%" else "bytes a second"
    encoding: Spec = {
        "x": quantity("x", title="time of the runs, s", scale={"domain": [0, end_s], "nice": False}),
        "x2": end("x2"),
        "y": quantity(
            "y", axis={"format": "~s", "title": y_title}, scale={"domain": [0, highest], "nice": True}
        ),
        "y2": end("y2"),
        "tooltip": tooltip(("block", "block")),
    }
    return layer(data, {"type": "rect", "color": palette.BAND.light, "opacity": 1}, encoding)


def _bar_layer(data: str, colour: str) -> Spec:
    encoding: Spec = {
        "x": quantity("x"),
        "x2": end("x2"),
        "y": quantity("y"),
        "y2": end("y2"),
        "opacity": quantity("shade", scale=None),
        "tooltip": tooltip(("host", "host"), ("value", "value")),
    }
    return layer(data, {"type": "rect", "color": colour}, encoding)


def _bar_rows(course: Course) -> list[Row]:
    """Return the bars; hosts of one stack are told apart by how dark they are."""
    step = (1 - _LEAST_OPACITY) / max(len(course.hosts), 1)
    shades = {host: 1 - step * number for number, host in enumerate(course.hosts)}
    values = [point.value for point in course.panel.lines[0].points]
    return [
        {
            "x": round(bar.begin, 4),
            "x2": round(bar.end, 4),
            "y": float(f"{bar.low:.6g}"),
            "y2": float(f"{bar.high:.6g}"),
            "host": bar.host,
            "shade": round(shades[bar.host], 2),
            "value": value,
        }
        for bar, value in zip(course.bars, values, strict=True)
    ]
