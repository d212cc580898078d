"""What people pay, and what so many blocks may have missed, in words that every output shares."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tare.core.comparison import Comparison, Finding, Mean, Paid
from tare.core.units import seconds_in
from tare.core.workload import Better
from tare.report.words.changes import factor, shares
from tare.report.words.numbers import is_manifold, measured, percent


def mean_words(one: Paid, unit: str) -> str:
    """Return which mean it is: ``the mean of times``, ``the harmonic mean``."""
    if one.mean is Mean.HARMONIC:
        return "the harmonic mean"
    return "the mean of times" if seconds_in(unit) else "the arithmetic mean"


def averaged_words(mean: Mean) -> str:
    """Return what ratios are, where another mean than the geometric one was asked for."""
    if mean is Mean.GEOMETRIC:
        return ""
    if mean is Mean.MEDIAN:
        return "Ratios are medians of those of the blocks."
    return f"Ratios are those of {mean} means."


def misasked_words(mean: Mean, better: Iterable[Better | None]) -> str:
    """Return that the mean which was asked for is not what people pay, of the figures it is so of."""
    directions = set(better)
    if mean is Mean.HARMONIC and Better.LOWER in directions:
        return (
            "The harmonic mean of costs such as times does not answer what people pay: "
            "the arithmetic one does."
        )
    if mean is Mean.ARITHMETIC and Better.HIGHER in directions:
        return "The arithmetic mean of rates does not answer what people pay: the harmonic one does."
    return ""


def paid_change(one: Paid) -> str:
    """Return the change with its interval: ``+20 % [−5, 52]``."""
    if is_manifold(one.ratio):
        return str(factor(one.ratio, one.low, one.high))
    bounds = None if one.low is None or one.high is None else (one.low - 1, one.high - 1)
    return str(shares(one.ratio - 1, bounds))


def paid_words(one: Finding, unit: str) -> str:
    """Return what is paid where that tells something else: ``in the mean of times +20 % [−5, 52]``."""
    if one.paid is None or not one.paid.is_telling:
        return ""
    return f"in {mean_words(one.paid, unit)} {paid_change(one.paid)}"


def tail_words(one: Comparison) -> str:
    """Return the bad runs of both sides: ``max 10.2 s → 30.6 s``; empty where there are none to tell."""
    price = one.paid
    if price is None or price.reference_tail is None or price.contender_tail is None:
        return ""
    sides = [" ".join(measured(side, None, None, one.unit).split()) for side in _tails(price)]
    return f"{_TAILS[price.tail]} {sides[0]} → {sides[1]}"


_TAILS = {"max": "worst run", "min": "worst run", "p95": "95th percentile", "p5": "5th percentile"}


def _tails(price: Paid) -> tuple[float, float]:
    return price.reference_tail or 0.0, price.contender_tail or 0.0


def price_words(one: Comparison) -> str:
    """Return what is paid with the bad runs of both sides, where the mean tells something else."""
    told = paid_words(one, one.unit)
    return ", ".join(filter(None, (told, tail_words(one)))) if told else ""


def paid_apart(one: Finding) -> float:
    """Return how far the mean of what adds up lies from the ratio, as a logarithm."""
    if one.paid is None or not one.ratio:
        return 0.0
    return abs(math.log(one.paid.ratio / one.ratio))


def miss_words(one: Finding) -> str:
    """Return how rare a slow mode may be that blocks within the margin have missed; empty for others."""
    if not one.is_within or one.may_miss is None:
        return ""
    share = percent(one.may_miss, is_signed=False, decimals=0)
    return f"may miss a slow mode of up to {share} of the runs"


def progress_words(one: Finding) -> str:
    """Return which look it is, and that it is read before its plan is complete; mostly nothing."""
    look = f"look {one.look}" if one.look > 1 else ""
    planned = one.planned_blocks
    early = "" if planned is None else f"preliminary: {one.n_blocks} of {planned} blocks"
    return "; ".join(filter(None, (early, look)))


def beside_words(one: Comparison) -> str:
    """Return all that a verdict is not to be read without."""
    return "; ".join(filter(None, (progress_words(one), price_words(one), miss_words(one))))
