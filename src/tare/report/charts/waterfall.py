"""A waterfall of a difference: each part begins where the one before ends, and all end at the whole."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tare.core.attribution import Attribution, Cause
from tare.core.interval import Bounded
from tare.report.charts import palette
from tare.report.charts.drawing import framed
from tare.report.charts.grammar import COLOUR, Chart, Row, Spec, end, layer, name, quantity, tooltip
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Variant, Variants
from tare.report.words.causes import cause_words, share_words
from tare.report.words.numbers import bracket_values, percent
from tare.report.words.numbers import quantity as quantity_words

MOST_PARTS = 8
"""The most parts of a chart; the smallest others are one part."""

_BAR = 13
_LINE = 13
"""The height of a bar, and of a line of its name, in pixels."""

_NAME_CHARACTERS = 24
"""Longer names take several lines: beside a name on one line, a phone has no room for bars."""

TOGETHER = "together"


def waterfall_panel(one: Attribution, variants: Variants) -> Panel:
    """Return the parts as points, for the numbers behind the chart: the difference in seconds by part."""
    variant = variants.variant_of[one.contender_case]
    rows = [*_shown(one.causes), *_whole(one)]
    points = tuple(
        Point(
            x=at,
            y=difference.value,
            low=difference.low,
            high=difference.high,
            at=label,
            value=f"{quantity_words(difference.value, 's')}, {share}",
            interval=bracket_values(difference.low, difference.high),
            n_blocks=one.n_blocks,
        )
        for at, (label, difference, share) in enumerate(rows, 1)
    )
    return Panel(
        title=variants.case_label(one.contender_case),
        subtitle="difference in wall time, seconds a run",
        lines=(Line(variant, points),),
        x="part",
        unit="s",
        ticks=tuple(point.at for point in points),
    )


_Part = tuple[str, Bounded, str]


def _shown(causes: Sequence[Cause]) -> list[_Part]:
    """Return the parts with the largest differences in their order, and the sum of the others."""
    large = sorted(causes, key=lambda cause: -abs(cause.difference_s.value))[:MOST_PARTS]
    found = [
        (cause_words(cause).split(" (")[0], cause.difference_s, share_words(cause.share))
        for cause in causes
        if cause in large
    ]
    rest = [cause for cause in causes if cause not in large]
    if rest:
        total = Bounded(sum(cause.difference_s.value for cause in rest))
        found.append(("others", total, _percent(sum(cause.share.value for cause in rest))))
    return found


def _percent(share: float) -> str:
    return percent(share, is_signed=False, decimals=0)


def _whole(one: Attribution) -> list[_Part]:
    return [] if one.difference_s is None else [(TOGETHER, one.difference_s, _percent(1.0))]


def waterfall_chart(panel: Panel, prefix: str) -> Chart:
    """Return the chart of a panel: horizontal bars, each from the sum before to the sum after its part."""
    (line,) = panel.lines
    rows = _bars(line.points, line.variant)
    labels = [str(row["part"]) for row in rows]
    axis: Spec = {"title": None, "labelLimit": 260, "grid": False, "labelExpr": "split(datum.label, '\\n')"}
    base: Spec = {"y": name("part", sort=labels, axis=axis), "color": COLOUR}
    tips = tooltip(("name", "part"), ("value", "difference"), ("interval", "interval"), ("n", "blocks"))
    bars = f"{prefix}-bars"
    layers = [
        layer(
            bars,
            {"type": "bar", "height": _BAR, "opacity": 0.75},
            base
            | {
                "x": quantity("from", axis={"title": "seconds a run", "tickCount": 5}),
                "x2": end("to"),
                "tooltip": tips,
            },
        ),
        layer(
            bars,
            {"type": "rule", "strokeWidth": 1.6, "color": palette.INK.light},
            {"y": base["y"], "x": quantity("low"), "x2": end("high")},
            "isValid(datum.low)",
        ),
    ]
    n_lines = max(label.count("\n") + 1 for label in labels)
    height = len(rows) * (max(_BAR, n_lines * _LINE) + 9)
    return framed(panel, layers, {bars: rows}, height, describe_waterfall(panel))


def _bars(points: Sequence[Point], variant: Variant) -> list[Row]:
    rows: list[Row] = []
    reached = 0.0
    for point in points:
        is_whole = point.at == TOGETHER
        start = 0.0 if is_whole else reached
        row: Row = {
            "part": "\n".join(textwrap.wrap(point.at, _NAME_CHARACTERS)),
            "name": point.at,
            "from": _short(start),
            "to": _short(start + point.y),
            "value": point.value,
            "interval": point.interval or "none",
            "n": point.n_blocks,
            "colour": palette.tone_of(variant).light if point.y >= 0 else palette.MUTED.light,
        }
        if point.low is not None and point.high is not None:
            row |= {"low": _short(start + point.low), "high": _short(start + point.high)}
        rows.append(row)
        reached = start + point.y
    return rows


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def describe_waterfall(panel: Panel) -> str:
    """Return a description of a panel for readers who cannot see it."""
    parts = [f"{point.at} {point.value}" for line in panel.lines for point in line.points]
    return f"{panel.title}: {panel.subtitle}. {'; '.join(parts)}."
