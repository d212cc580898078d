"""Figures of merit against message size, or against the number that their problem varies."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tare.core.workload import Better
from tare.report.charts.axes import axis_words
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.panels import Panel, measured_panels
from tare.report.words.numbers import listed


def _made(facts: ChartFacts, *, better: Better | None, text: str) -> ChartPart | None:
    panels = measured_panels(facts.estimates, facts.shown_campaign, facts.variants, better)
    return ChartPart(_title(panels), text, panels) if panels else None


def _title(panels: Sequence[Panel]) -> str:
    """Return the title of panels: ``Against message size: latency and time avg``."""
    foms = dict.fromkeys(panel.subtitle.split(",")[0] for panel in panels)
    return f"Against {axis_words(panels)}: {listed([*foms])}"


_TEXTS = {
    Better.LOWER: "Lower is better.",
    Better.HIGHER: "Higher is better.",
    None: "Neither higher nor lower is better.",
}

CHARTS = tuple(
    ChartKind(
        name,
        Style(name, is_log=name == "time"),
        functools.partial(_made, better=better, text=_TEXTS[better]),
        order,
    )
    for order, name, better in (
        (20, "time", Better.LOWER),
        (30, "rate", Better.HIGHER),
        (40, "value", None),
    )
)
