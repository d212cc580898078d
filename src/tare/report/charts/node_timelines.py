"""Charts of the nodes' telemetry over time: hosts are stacked, and runs are shaded epochs."""

from __future__ import annotations

from collections.abc import Sequence

from tare.report.charts import palette
from tare.report.charts.drawing import HEIGHT, framed
from tare.report.charts.grammar import Chart, Row, Spec, end, layer, name, quantity, tooltip
from tare.report.charts.telemetry import NodeTimeline, describe_node_timeline
from tare.report.words.numbers import number, scaled

_LEAST_OPACITY = 0.35
_HEADROOM = 1.12  # above the highest bar, for the numbers of blocks
_Y_AXES: dict[str, Spec] = {
    "%": {"title": "% of a node’s cores", "format": ",~f"},
    "B/s": {"title": "bytes a second", "format": "~s"},
}


def node_timeline_charts(timelines: Sequence[NodeTimeline]) -> list[Chart]:
    """Return a chart per timeline; those of one quantity have the same y scale."""
    highest: dict[str, float] = {}
    for timeline in timelines:
        top = max(bar.high for bar in timeline.bars)
        highest[timeline.panel.subtitle] = max(top, highest.get(timeline.panel.subtitle, 0.0))
    return [
        _chart(timeline, (highest[timeline.panel.subtitle] or 1.0) * _HEADROOM, f"course{index}")
        for index, timeline in enumerate(timelines)
    ]


def _chart(timeline: NodeTimeline, top: float, prefix: str) -> Chart:
    colour = palette.tone_of(timeline.panel.lines[0].variant).light
    epochs: list[Row] = [
        {
            "x": round(one.begin, 4),
            "x2": round(one.end, 4),
            "y": 0,
            "y2": top,
            "at": f"block {one.block}: {one.stage or 'run'}, {number(one.end - one.begin)} s",
            "shade": 1 if one.is_measured else 0.45,
        }
        for one in timeline.epochs
    ]
    blocks: list[Row] = [
        {"x": round((one.begin + one.end) / 2, 4), "y": top, "block": f"{one.block}"} for one in timeline.runs
    ]
    layers = [
        _epoch_layer(f"{prefix}-epochs", top, timeline),
        _bar_layer(f"{prefix}-bars", colour),
        _block_layer(f"{prefix}-blocks"),
    ]
    rows = {f"{prefix}-epochs": epochs, f"{prefix}-bars": _bar_rows(timeline), f"{prefix}-blocks": blocks}
    return framed(timeline.panel, layers, rows, HEIGHT, describe_node_timeline(timeline))


def _epoch_layer(data: str, top: float, timeline: NodeTimeline) -> Spec:
    """Return the shaded stages of runs, with both axes; the x axis has no ticks, as each run starts anew."""
    x: Spec = {"title": _time_title(timeline), "labels": False, "ticks": False, "grid": False}
    unit = timeline.panel.unit
    y = _Y_AXES.get(unit, {"title": unit, "format": "~s"})
    encoding: Spec = {
        "x": quantity("x", axis=x, scale={"domain": [0, _end_s(timeline)], "nice": False}),
        "x2": end("x2"),
        "y": quantity("y", axis=y, scale={"domain": [0, top], "nice": False}),
        "y2": end("y2"),
        "opacity": quantity("shade", scale=None),
        "tooltip": tooltip(("at", "epoch")),
    }
    return layer(data, {"type": "rect", "color": palette.BAND.light}, encoding)


def _end_s(timeline: NodeTimeline) -> float:
    return max(epoch.end for epoch in timeline.epochs)


def _time_title(timeline: NodeTimeline) -> str:
    lengths = sorted(one.end - one.begin for one in timeline.runs) or [_end_s(timeline)]
    low, high = number(lengths[0], 2), number(lengths[-1], 2)
    span = low if low == high else f"{low} to {high}"
    return f"time, runs by block: {span} s{' each' if len(timeline.runs) > 1 else ''}"


def _bar_layer(data: str, colour: str) -> Spec:
    encoding: Spec = {
        "x": quantity("x"),
        "x2": end("x2"),
        "y": quantity("y"),
        "y2": end("y2"),
        "opacity": quantity("shade", scale=None),
        "tooltip": tooltip(("host", "node"), ("value", "value"), ("at", "when")),
    }
    return layer(data, {"type": "rect", "color": colour}, encoding)


def _block_layer(data: str) -> Spec:
    mark: Spec = {"type": "text", "baseline": "top", "dy": 4, "fontSize": 10, "color": palette.MUTED.light}
    return layer(data, mark, {"x": quantity("x"), "y": quantity("y"), "text": name("block")})


def _bar_rows(timeline: NodeTimeline) -> list[Row]:
    """Return the rows of the bars; the hosts of one stack differ in darkness."""
    step = (1 - _LEAST_OPACITY) / max(len(timeline.hosts) - 1, 1)
    shades = {host: 1 - step * number for number, host in enumerate(timeline.hosts)}
    return [
        {
            "x": round(bar.begin, 4),
            "x2": round(bar.end, 4),
            "y": float(f"{bar.low:.5g}"),
            "y2": float(f"{bar.high:.5g}"),
            "host": bar.host,
            "shade": round(shades[bar.host], 2),
            "value": scaled(bar.high - bar.low, timeline.panel.unit),
            "at": bar.at,
        }
        for bar in timeline.bars
        if bar.high > bar.low
    ]
