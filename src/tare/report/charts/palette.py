"""The colours of the page and of all charts, in the light and the dark theme; each has one meaning.

Orange and blue are for verdicts only: people with any common kind of colour blindness can distinguish them
(Okabe and Ito 2008, "Color Universal Design"). The reference has the colour of the text. Contenders have
other hues, and each has a shape, so that nothing is shown by colour alone.
"""

from __future__ import annotations

import dataclasses

from tare.report.variants import Variant


@dataclasses.dataclass(frozen=True)
class Tone:
    """One colour in both themes; each has a contrast of at least 4.5 : 1 to its background (WCAG 1.4.3)."""

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
"""The shapes as characters, for the legend; the first is the reference's. ▲ and ▼ are for verdicts."""


def tone_of(variant: Variant) -> Tone:
    """Return the colour of a variant; the reference has INK."""
    return INK if variant.index == 0 else CONTENDERS[(variant.index - 1) % len(CONTENDERS)]


def shape_of(variant: Variant) -> str:
    """Return the point shape of a variant, by its name in Vega."""
    return SHAPES[variant.index % len(SHAPES)]


def sign_of(variant: Variant) -> str:
    """Return the point shape of a variant as a character."""
    return SIGNS[variant.index % len(SIGNS)]


def dark_by_light() -> dict[str, str]:
    """Return the dark colour for each light one; the page's script recolours charts with it."""
    return {tone.light: tone.dark for tone in (INK, MUTED, RULE, BAND, *CONTENDERS)}
