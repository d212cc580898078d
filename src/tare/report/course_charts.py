"""Charts of what nodes did against time: hosts stacked, runs as shaded epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.report import palette
from tare.report.charts import HEIGHT, Chart, Row, title_of
from tare.report.telemetry import Course, describe_course

if TYPE_CHECKING:
    import altair as alt

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


def _chart(course: Course, highest: float, name: str) -> Chart:
    import altair as alt

    end = max(epoch.end for epoch in course.epochs)
    colour = palette.tone_of(course.panel.lines[0].side).light
    epochs: list[Row] = [
        {"x": one.begin, "x2": one.end, "y": 0, "y2": highest or 1.0, "block": one.block}
        for one in course.epochs
    ]
    grammar = alt.LayerChart(
        layer=[
            _epoch_layer(f"{name}-epochs", end, highest or 1.0, course),
            _bar_layer(f"{name}-bars", colour),
        ]
    ).properties(
        height=HEIGHT,
        width="container",
        title=title_of(course.panel),
        description=describe_course(course),
    )
    return Chart.of(grammar, {f"{name}-epochs": epochs, f"{name}-bars": _bar_rows(course)})


def _epoch_layer(data: str, end: float, highest: float, course: Course) -> alt.Chart:
    import altair as alt

    y_title = "% of all cores" if course.panel.unit == "%" else "bytes a second"
    x = alt.X("x:Q", title="time of the runs, s", scale=alt.Scale(domain=[0, end], nice=False))
    y_axis = alt.Axis(format="~s", title=y_title)
    y = alt.Y("y:Q", axis=y_axis, scale=alt.Scale(domain=[0, highest], nice=True))
    shade = alt.Chart(alt.NamedData(name=data)).mark_rect(color=palette.BAND.light, opacity=1)
    layer: alt.Chart = shade.encode(
        x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), tooltip=[alt.Tooltip("block:N", title="block")]
    )
    return layer


def _bar_layer(data: str, colour: str) -> alt.Chart:
    import altair as alt

    tips = [alt.Tooltip("host:N", title="host"), alt.Tooltip("value:N", title="value")]
    bars = alt.Chart(alt.NamedData(name=data)).mark_rect(color=colour)
    layer: alt.Chart = bars.encode(
        x=alt.X("x:Q"),
        x2=alt.X2("x2:Q"),
        y=alt.Y("y:Q"),
        y2=alt.Y2("y2:Q"),
        opacity=alt.Opacity("shade:Q", scale=None),
        tooltip=tips,
    )
    return layer


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
