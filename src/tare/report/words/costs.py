"""How a difference is told: in percent, and beyond tenfold as a factor, which can still be pictured.

The page, its texts and charts, the terminal and the live page all ask here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tare.model.comparison import Finding
from tare.model.workload import Better
from tare.report.words.numbers import NARROW, SPACE, bracket, cost_decimals, cost_interval, number, percent

MOST_IN_PERCENT = 10.0
"""A ratio beyond this, or below its inverse, is told as a factor: 161 ×, not +15992 %; 1/161 ×, not −99 %."""

_MOST_DIGITS = 5


class Told(NamedTuple):
    """A number with its unit, and its interval in the same notation; that is empty where there is none."""

    number: str
    interval: str

    def __str__(self) -> str:
        return f"{self.number}{SPACE}{self.interval}".rstrip()


def cost(one: Finding, better: Better | None) -> Told | None:
    """Return what the contender costs: ``+68 % [61, 75]``, ``161 × [155, 167]``; None where nothing tells.

    As a factor it is the ratio where lower is better and its inverse where higher is: above 1 is worse,
    as more than 0 % is.
    """
    if one.ratio is None or better is None:
        return None
    if not is_manifold(one.ratio):
        is_lower = better is Better.LOWER
        return shares(one.ratio - 1 if is_lower else 1 - one.ratio, cost_interval(one.low, one.high, better))
    if better is Better.LOWER:
        return factor(one.ratio, one.low, one.high)
    return factor(1 / one.ratio, _inverse(one.high), _inverse(one.low))


def weight(one: Finding, better: Better | None) -> float | None:
    """Return by what costs are sorted: their share, and as much as their factor beyond tenfold."""
    if one.ratio is None or better is None:
        return None
    if is_manifold(one.ratio):
        worse = one.ratio if better is Better.LOWER else 1 / one.ratio
        return worse - 1 if worse > 1 else 1 - 1 / worse
    return one.ratio - 1 if better is Better.LOWER else 1 - one.ratio


def shares(share: float, bounds: tuple[float, float] | None, *, is_signed: bool = True) -> Told:
    """Return a share and its interval in percent, with the same decimals."""
    decimals = cost_decimals(share, bounds)
    return Told(percent(share, is_signed=is_signed, decimals=decimals), bracket(bounds, decimals))


def is_manifold(ratio: float) -> bool:
    """Return whether a ratio is told as a factor; a ratio of 0 is not, which is 100 % less."""
    return ratio > MOST_IN_PERCENT or 0 < ratio < 1 / MOST_IN_PERCENT


def factor(ratio: float, low: float | None, high: float | None) -> Told:
    """Return a ratio as people say it: ``161 × [155, 167]``, ``1/161 × [1/167, 1/155]``."""
    text, interval = _with_ends(ratio, low, high)
    return Told(f"{text}{NARROW}×", interval)


def fold(one: Finding) -> str:
    """Return by what factor the two sides differ, whichever is larger: ``161 [155, 167]``."""
    ratio = one.ratio or 1.0
    if ratio >= 1:
        return str(Told(*_with_ends(ratio, one.low, one.high)))
    return str(Told(*_with_ends(1 / ratio, _inverse(one.high), _inverse(one.low))))


def _with_ends(ratio: float, low: float | None, high: float | None) -> tuple[str, str]:
    """Return a ratio and its interval with three digits, or as many more as tell the ends apart."""
    if low is None or high is None:
        return _times(ratio, 3), ""
    digits = 3
    while digits < _MOST_DIGITS and low != high and _times(low, digits) == _times(high, digits):
        digits += 1
    return _times(ratio, digits), f"[{_times(low, digits)},{SPACE}{_times(high, digits)}]"


def _times(ratio: float, digits: int) -> str:
    if not math.isfinite(ratio):
        return "∞"
    is_part = 0 < ratio < 1 / MOST_IN_PERCENT
    return f"1/{number(1 / ratio, digits)}" if is_part else number(ratio, digits)


def _inverse(end: float | None) -> float | None:
    if end is None:
        return None
    return 1 / end if end else math.inf
