"""How a difference is told: in percent, and beyond tenfold as a factor, which can still be pictured.

The page, its texts and charts, the terminal and the live page all ask here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tare.model.comparison import Finding
from tare.model.workload import Better
from tare.report.words.numbers import (
    NARROW,
    SPACE,
    bracket,
    cost_decimals,
    cost_interval,
    is_manifold,
    percent,
    times,
    times_bounds,
)


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


def factor(ratio: float, low: float | None, high: float | None) -> Told:
    """Return a ratio as people say it: ``161 × [155, 167]``, ``1/161 × [1/167, 1/155]``."""
    return Told(f"{times(ratio, low, high)}{NARROW}×", times_bounds(low, high))


def fold(one: Finding) -> str:
    """Return by what factor the two sides differ, whichever is larger: ``161 [155, 167]``."""
    ratio, low, high = one.ratio or 1.0, one.low, one.high
    if ratio < 1:
        ratio, low, high = 1 / ratio, _inverse(high), _inverse(low)
    return str(Told(times(ratio, low, high), times_bounds(low, high)))


def _inverse(end: float | None) -> float | None:
    if end is None:
        return None
    return 1 / end if end else math.inf
