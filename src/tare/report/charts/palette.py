"""One colour means one thing, on the page and in every chart, in light and in dark.

Verdicts own orange and blue, which all common kinds of colour blindness tell apart (Okabe and Ito
2008, "Color Universal Design"); the reference owns the ink; contenders get hues that are neither,
and a shape each, so that no meaning rests on colour alone.
"""

from __future__ import annotations

import dataclasses

from tare.report.variants import Variant


@dataclasses.dataclass(frozen=True)
class Tone:
    """One colour in both themes; each has a contrast of 4.5 : 1 or more against its ground (WCAG 1.4.3)."""

    light: str
    dark: str


INK = Tone("#16191d", "#eceef1")
MUTED = Tone("#59626d", "#a3acb7")
RULE = Tone("#dfe2e6", "#33393f")
BAND = Tone("#eceef0", "#262b30")
"""The margin within which a difference counts as none."""

CONTENDERS = (
    Tone("#7a3e9d", "#c79be3"),
    Tone("#00766c", "#4fc4b6"),
    Tone("#b3255f", "#f08bb4"),
    Tone("#6b6a00", "#c9c64a"),
    Tone("#80492a", "#d3a184"),
)
SHAPES = ("circle", "square", "triangle-right", "diamond", "triangle-left", "cross")
SIGNS = ("●", "■", "►", "◆", "◄", "✚")
"""The shapes as text, for the key beside the charts; the first is the reference's. ▲ and ▼ are verdicts."""


def tone_of(side: Variant) -> Tone:
    """Return the colour of a side: the ink for the reference."""
    return INK if side.index == 0 else CONTENDERS[(side.index - 1) % len(CONTENDERS)]


def shape_of(side: Variant) -> str:
    """Return the point shape of a side, in Vega's terms."""
    return SHAPES[side.index % len(SHAPES)]


def sign_of(side: Variant) -> str:
    """Return the point shape of a side as a character."""
    return SIGNS[side.index % len(SIGNS)]


def dark_by_light() -> dict[str, str]:
    """Return the dark colour for each light one, with which the page's script recolours charts."""
    return {tone.light: tone.dark for tone in (INK, MUTED, RULE, BAND, *CONTENDERS)}
