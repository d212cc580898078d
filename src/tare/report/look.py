"""The look of all charts: quiet axes, the page's own font, nothing that is not data."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from tare.report import palette


@functools.cache
def look() -> dict[str, Any]:
    """Return the look in light colours, as a config; the page's script exchanges them for dark ones."""
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
    config = alt.Config(
        font="system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif",
        background="transparent",
        aria=False,  # the panel around a chart carries it in words
        view=alt.ViewConfig(stroke=None),
        axis=axis,
        axisX=alt.AxisConfig(grid=False, domain=True, ticks=True),
        title=title,
    )
    found: dict[str, Any] = config.to_dict()
    return found


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Let Altair build charts without holding each part against Vega-Lite's schema, half of what they cost.

    The tests draw every kind of chart with the check.
    """
    from altair.utils import schemapi

    with schemapi.debug_mode(False):
        yield
