"""Write a difference as the change of the figure itself, contender / reference − 1.

The sign is that of the figure: latency +68 % is more latency, bandwidth −22 % is less bandwidth. Only the
verdict says whether that is worse or better. A change of more than a factor of ten is written as the ratio
contender / reference, which is easier to imagine. The page with its charts, the terminal and the live page
all use this module.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tare.core.comparison import Comparison, Finding
from tare.core.margins import is_within, margin_ends
from tare.core.values import Settings
from tare.core.verdict import differences
from tare.report.words.numbers import (
    MOST_DECIMALS,
    NARROW,
    SPACE,
    bracket,
    coordinate,
    is_manifold,
    listed,
    measured,
    percent,
    share_decimals,
    times,
    times_bounds,
    words,
)

_CONVENTION = (
    "A number with a sign is the change of the figure itself, contender / reference − 1: "
    "latency +68 % is more latency, bandwidth −22 % is less bandwidth."
)


def legend() -> str:
    """Return the sign convention, as every output states it."""
    return f"{_CONVENTION} {sign_legend()}."


def sign_legend() -> str:
    """Return what the symbols of differences mean: ``▲ is worse, ▼ is better``."""
    return ", ".join(f"{one.sign} is {one}" for one in differences())


def from_to(margin: float) -> str:
    """Return the ends of a margin, which is symmetric in the ratio: ``, from −1.96 % to +2 %``."""
    if not margin:
        return ""
    low, high = (100 * (end - 1) for end in margin_ends(margin))
    return f", from −{-low:.3g}{NARROW}% to +{high:.3g}{NARROW}%"


class WordedChange(NamedTuple):
    """A number with its unit, and its interval in the same notation, which is empty if there is none."""

    number: str
    interval: str

    def __str__(self) -> str:
        return f"{self.number}{SPACE}{self.interval}".rstrip()


def change(one: Finding) -> WordedChange | None:
    """Return how the figure changes: ``+68 % [61, 75]``, ``161 × [155, 167]``; None without a ratio."""
    if one.ratio is None:
        return None
    if is_manifold(one.ratio):
        return factor(one.ratio, one.low, one.high)
    return shares(one.ratio - 1, bounds_of(one), margin=one.margin)


def levels(one: Comparison) -> tuple[str, str] | None:
    """Return the values of the reference and the contender, in the figure's unit: ``20.1 µs``, ``33.8 µs``.

    Returns None for a mean over sizes or other coordinates, and if a side has no value.
    """
    found = (one.reference_level, one.contender_level)
    if one.over or found[0] is None or found[1] is None:
        return None
    texts = [measured(level.value, level.low, level.high, one.unit) for level in found if level is not None]
    return texts[0], texts[1]


def labelled(fom: str, labels: Settings) -> str:
    """Return the name of a figure with its labels: ``rate (operation write)``."""
    text = ", ".join(coordinate(name, value) for name, value in labels.items())
    return f"{words(fom)} ({text})" if text else words(fom)


def figure(one: Comparison) -> str:
    """Return the name of a figure, and what it is a mean over: ``rate (operation write), all sizes``."""
    name_of = labelled(one.fom, one.labels)
    over = ["sizes" if name == "bytes" else f"{words(name)}s" for name in one.over]
    return f"{name_of}, all {listed(over)}" if over else name_of


def bounds_of(one: Finding) -> tuple[float, float] | None:
    """Return the interval of the change as shares, or None if there is none."""
    return None if one.low is None or one.high is None else (one.low - 1, one.high - 1)


def shares(
    share: float,
    bounds: tuple[float, float] | None,
    *,
    is_signed: bool = True,
    margin: float | None = None,
) -> WordedChange:
    """Return a share and its interval in percent, with the same decimals.

    They are as many as show whether the interval lies within the margin: 2.04 is not within ± 2 %.
    """
    decimals = share_decimals(share, bounds)
    if bounds is not None and margin is not None:
        while decimals < MOST_DECIMALS and _looks_within(bounds, decimals, margin) is not is_within(
            1 + bounds[0], 1 + bounds[1], margin
        ):
            decimals += 1
    return WordedChange(percent(share, is_signed=is_signed, decimals=decimals), bracket(bounds, decimals))


def _looks_within(bounds: tuple[float, float], decimals: int, margin: float) -> bool:
    """Return whether an interval that is printed with so many decimals lies within the margin."""
    low, high = (1 + float(f"{end * 100:.{decimals}f}") / 100 for end in bounds)
    return is_within(low * (1 + _EXACT), high * (1 - _EXACT), margin)


_EXACT = 1e-12


def factor(ratio: float, low: float | None, high: float | None) -> WordedChange:
    """Return a ratio in words: ``161 × [155, 167]``, ``1/161 × [1/167, 1/155]``."""
    return WordedChange(f"{times(ratio, low, high)}{NARROW}×", times_bounds(low, high))


def multiple(ratio: float, low: float | None, high: float | None) -> str:
    """Return a ratio as the larger side's factor: ``multiplied by 161 [155, 167]``, ``divided by 161``."""
    what = "multiplied" if ratio > 1 else "divided"
    if ratio < 1:
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
    return f"{what} by {WordedChange(times(ratio, low, high), times_bounds(low, high))}"


def _inverse(end: float | None) -> float | None:
    if end is None:
        return None
    return 1 / end if end else math.inf
