"""The look of all charts: quiet axes, the page's own font, nothing that is not data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.report import palette

if TYPE_CHECKING:
    import altair as alt


def look() -> alt.Config:
    """Return the look in light colours; the page's script exchanges them for dark ones."""
    import altair as alt

    ink, muted, rule = palette.INK.light, palette.MUTED.light, palette.RULE.light
    axis = alt.AxisConfig(
        labelColor=muted,
        titleColor=muted,
        gridColor=rule,
        tickColor=rule,
        domainColor=rule,
        labelFontSize=11,
        titleFontSize=11,
        titleFontWeight="normal",
        titlePadding=8,
        domain=False,
        ticks=False,
        labelPadding=6,
    )
    title = alt.TitleConfig(
        color=ink,
        subtitleColor=muted,
        fontSize=13,
        subtitleFontSize=11,
        anchor="start",
        offset=10,
        subtitlePadding=4,
        frame="bounds",
    )
    return alt.Config(
        font="system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
        background="transparent",
        aria=False,  # the panel around a chart carries it in words
        view=alt.ViewConfig(stroke=None),
        axis=axis,
        axisX=alt.AxisConfig(grid=False, domain=True, ticks=True),
        title=title,
    )
