"""The Vega-Lite config of all charts: plain axes, the page's font, and no decoration."""

from __future__ import annotations

from tare.report.charts import palette
from tare.report.charts.grammar import Spec

_INK, _MUTED, _RULE = palette.INK.light, palette.MUTED.light, palette.RULE.light

LOOK: Spec = {
    "font": "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
    "background": "transparent",
    "aria": False,  # the panel around a chart has a description
    "view": {"stroke": None},
    "axis": {
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "gridColor": _RULE,
        "tickColor": _RULE,
        "domainColor": _RULE,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
    },
    "axisX": {"grid": False, "domain": True, "ticks": True},
    "title": {
        "color": _INK,
        "subtitleColor": _MUTED,
        "fontSize": 13,
        "subtitleFontSize": 11,
        "anchor": "start",
        "offset": 10,
        "subtitlePadding": 4,
        "frame": "bounds",
    },
}
"""The Vega-Lite config, in light colours; the page's script replaces them by dark ones."""
