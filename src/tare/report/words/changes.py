"""How a difference is told: as the change of the figure itself, contender / reference − 1.

The sign is that of the figure: latency +68 % is more latency, bandwidth −22 % is less bandwidth. Whether that
is worse or better is said by the verdict, never by the sign. Beyond tenfold it is the ratio, contender /
reference, which can still be pictured. The page, its texts and charts, the terminal and the live page all
ask here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tare.core.comparison import Comparison, Finding
from tare.core.values import Settings
from tare.core.verdict import differences
from tare.report.words.numbers import (
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
    return f"{_CONVENTION} {signs_told()}."


def signs_told() -> str:
    """Return what the signs of differences mean: ``▲ is worse, ▼ is better``."""
    return ", ".join(f"{one.sign} is {one}" for one in differences())


class WordedChange(NamedTuple):
    """A number with its unit, and its interval in the same notation; that is empty where there is none."""

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
    return shares(one.ratio - 1, bounds_of(one))


def levels(one: Comparison) -> tuple[str, str] | None:
    """Return what the reference and the contender measured, in the figure's unit: ``20.1 µs``, ``33.8 µs``.

    None for a mean over sizes or other coordinates, and where a side has nothing.
    """
    found = (one.reference_level, one.contender_level)
    if one.over or found[0] is None or found[1] is None:
        return None
    told = [measured(side.value, side.low, side.high, one.unit) for side in found if side is not None]
    return told[0], told[1]


def labelled(fom: str, labels: Settings) -> str:
    """Return the name of a figure with what tells it from others of that name: ``rate (operation write)``."""
    told = ", ".join(coordinate(name, value) for name, value in labels.items())
    return f"{words(fom)} ({told})" if told else words(fom)


def figure(one: Comparison) -> str:
    """Return the name of a figure, and over what it is a mean: ``rate (operation write), all sizes``."""
    name_of = labelled(one.fom, one.labels)
    over = ["sizes" if name == "bytes" else f"{words(name)}s" for name in one.over]
    return f"{name_of}, all {listed(over)}" if over else name_of


def bounds_of(one: Finding) -> tuple[float, float] | None:
    """Return the interval of the change as shares; None without one."""
    return None if one.low is None or one.high is None else (one.low - 1, one.high - 1)


def shares(share: float, bounds: tuple[float, float] | None, *, is_signed: bool = True) -> WordedChange:
    """Return a share and its interval in percent, with the same decimals."""
    decimals = share_decimals(share, bounds)
    return WordedChange(percent(share, is_signed=is_signed, decimals=decimals), bracket(bounds, decimals))


def factor(ratio: float, low: float | None, high: float | None) -> WordedChange:
    """Return a ratio as people say it: ``161 × [155, 167]``, ``1/161 × [1/167, 1/155]``."""
    return WordedChange(f"{times(ratio, low, high)}{NARROW}×", times_bounds(low, high))


def fold(one: Finding) -> str:
    """Return by what factor the two sides differ, whichever is larger: ``161 [155, 167]``."""
    ratio, low, high = one.ratio or 1.0, one.low, one.high
    if ratio < 1:
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
    return str(WordedChange(times(ratio, low, high), times_bounds(low, high)))


def _inverse(end: float | None) -> float | None:
    if end is None:
        return None
    return 1 / end if end else math.inf
