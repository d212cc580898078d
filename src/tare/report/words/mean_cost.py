"""The texts on mean costs, on bad runs, and on what few blocks may have missed; every output shares them.

The geometric mean of ratios does not say what a user pays in total. That is the arithmetic mean for costs
such as times, and the harmonic mean for rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tare.analysis.verdicts.row_notes import look_words
from tare.core.comparison import Comparison, Finding, Mean, MeanCost
from tare.core.units import seconds_in
from tare.core.workload import Better
from tare.report.words.changes import factor, shares
from tare.report.words.numbers import is_manifold, measured, percent


def mean_words(one: MeanCost, unit: str) -> str:
    """Return which mean it is: ``the mean of times``, ``the harmonic mean``."""
    if one.mean is Mean.HARMONIC:
        return "the harmonic mean"
    return "the mean of times" if seconds_in(unit) else "the arithmetic mean"


def averaged_words(mean: Mean) -> str:
    """Return what ratios are averages of; empty for the geometric mean, which is the default."""
    if mean is Mean.GEOMETRIC:
        return ""
    if mean is Mean.MEDIAN:
        return "Ratios are medians of those of the blocks."
    return f"Ratios are those of {mean} means."


def misasked_words(mean: Mean, better: Iterable[Better | None]) -> str:
    """Return a warning if the chosen mean does not answer what people pay for some figures; else empty."""
    directions = set(better)
    if mean is Mean.HARMONIC and Better.LOWER in directions:
        return (
            "The harmonic mean of costs such as times does not answer what people pay: "
            "the arithmetic one does."
        )
    if mean is Mean.ARITHMETIC and Better.HIGHER in directions:
        return "The arithmetic mean of rates does not answer what people pay: the harmonic one does."
    return ""


def cost_change(one: MeanCost) -> str:
    """Return the change of the mean cost with its interval: ``+20 % [−5, 52]``."""
    if is_manifold(one.ratio):
        return str(factor(one.ratio, one.low, one.high))
    bounds = None if one.low is None or one.high is None else (one.low - 1, one.high - 1)
    return str(shares(one.ratio - 1, bounds))


def cost_words(one: Finding, unit: str) -> str:
    """Return the change of the mean cost if it differs: ``in the mean of times +20 % [−5, 52]``."""
    if one.mean_cost is None or not one.mean_cost.is_notable:
        return ""
    return f"in {mean_words(one.mean_cost, unit)} {cost_change(one.mean_cost)}"


def tail_words(one: Comparison) -> str:
    """Return the bad runs of both sides: ``worst run 10.2 s → 30.6 s``; empty if they are not known."""
    cost = one.mean_cost
    if cost is None or cost.reference_tail is None or cost.contender_tail is None:
        return ""
    tails = (cost.reference_tail, cost.contender_tail)
    reference, contender = (" ".join(measured(tail, None, None, one.unit).split()) for tail in tails)
    return f"{_TAILS[cost.tail]} {reference} → {contender}"


_TAILS = {"max": "worst run", "min": "worst run", "p95": "95th percentile", "p5": "5th percentile"}


def cost_and_tail_words(one: Comparison) -> str:
    """Return the change of the mean cost and the bad runs, if the mean cost changed differently."""
    text = cost_words(one, one.unit)
    return ", ".join(filter(None, (text, tail_words(one)))) if text else ""


def cost_distance(one: Finding) -> float:
    """Return how far the ratio of mean costs lies from the ratio, as a logarithm."""
    if one.mean_cost is None or not one.ratio:
        return 0.0
    return abs(math.log(one.mean_cost.ratio / one.ratio))


def miss_words(one: Finding) -> str:
    """Return how frequent a slow mode can be that a result within the margin has missed; else empty."""
    return missed_mode_words(one.may_miss) if one.is_within else ""


def missed_mode_words(may_miss: float | None) -> str:
    """Return how frequent a slow mode can be that no run has met; empty if it is not known."""
    if may_miss is None:
        return ""
    return f"may miss a slow mode of up to {percent(may_miss, is_signed=False)} of the runs"


def progress_words(one: Finding) -> str:
    """Return which look this is if not the first, and whether the result is preliminary; usually empty."""
    planned = one.planned_blocks
    early = "" if planned is None else f"preliminary: {one.n_blocks} of {planned} blocks"
    return "; ".join(filter(None, (early, look_words(one.look))))


def beside_words(one: Comparison) -> str:
    """Return all remarks that must stand next to a verdict."""
    return "; ".join(filter(None, (progress_words(one), cost_and_tail_words(one), miss_words(one))))
