"""Whether the machine was quiet enough for the differences that a study asks about."""

from __future__ import annotations

import math
import statistics

import msgspec
import numpy as np

from tare.analysis.compare import aggregates
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction
from tare.core.verdict import Verdict
from tare.stats.intervals import t_factors

_MOST = 0.5
"""Of the quoted ratios, more than which are known too badly."""

_TIMES_MARGIN = 2.0
"""Half of an interval beyond this is too much; below, a few more blocks will do."""

_LEAST_BLOCKS = 5
"""With fewer, the blocks are too few, whatever the machine does."""

_MANY_BLOCKS = 50
"""A study can take so many blocks: where they would do, the machine is quiet enough."""


class Imprecision(msgspec.Struct, frozen=True, kw_only=True):
    """Most quoted ratios are undecided, and noise or load is the reason: blocks of a study would not decide.

    `n_wide` of the `n_ratios` that have intervals are undecided with a half-width above twice `margin`;
    `half_width` is the median of theirs, as a share, `scatter` that of how far ratios scatter from block to
    block, and `n_needed` that of the blocks at which half an interval is the margin. `load` is the least and
    the largest load average of one minute when runs started, `n_cpus` the logical CPUs of a node where all
    have as many; None: not recorded.
    """

    n_wide: int
    n_ratios: int
    half_width: float
    margin: float
    load: tuple[float, float] | None
    n_cpus: int | None
    scatter: float = 0.0
    n_needed: int = 0

    @property
    def is_overloaded(self) -> bool:
        """Return whether more threads wanted to run than a node has CPUs."""
        return self.load is not None and self.n_cpus is not None and self.load[1] > self.n_cpus


def imprecision(campaign: Campaign) -> Imprecision | None:
    """Return how far the blocks are from an answer, None where noise or load is not what keeps it.

    An undecided ratio with a narrow interval lies at the margin, and that is an answer of its own. Where
    _MANY_BLOCKS would narrow it to the margin, its own row says how many more it takes; a machine with more
    load than CPUs is named before. Too few blocks are no fault of the machine.
    """
    from scipy.special import ndtri

    found = aggregates(campaign, correction=Correction.HOLM)
    known = [(one, width) for one in found if one.is_primary and (width := _half_width(one)) is not None]
    margin = campaign.plan.margin
    wide = [
        (one, width)
        for one, width in known
        if one.verdict is Verdict.UNDECIDED
        and width > _TIMES_MARGIN * margin
        and one.n_blocks >= _LEAST_BLOCKS
    ]
    if not known or len(wide) <= _MOST * len(known):
        return None
    scatter = statistics.median(_scatter(one, width) for one, width in wide)
    loads = [one.load for one in campaign.measured() if one.load is not None]
    told = Imprecision(
        n_wide=len(wide),
        n_ratios=len(known),
        half_width=statistics.median(width for _, width in wide),
        margin=margin,
        load=(min(loads), max(loads)) if loads else None,
        n_cpus=_n_cpus(campaign),
        scatter=float(np.expm1(scatter)),
        n_needed=math.ceil((ndtri(0.975) * scatter / np.log1p(margin)) ** 2),
    )
    return told if told.is_overloaded or told.n_needed > _MANY_BLOCKS else None


def _scatter(one: Comparison, half_width: float) -> float:
    """Return the standard deviation of the log ratio from block to block that leaves this half-width."""
    factor = t_factors(np.array([one.n_blocks - 1.0]), one.confidence)[0]
    return float(np.log1p(half_width) * math.sqrt(one.n_blocks) / factor)


def _half_width(one: Comparison) -> float | None:
    """Return half of the interval of a ratio on the log scale, as a share; None without one, or down to 0."""
    if one.low is None or one.high is None or one.low <= 0:
        return None
    return float(np.expm1(np.log(one.high / one.low) / 2))


def _n_cpus(campaign: Campaign) -> int | None:
    told = {
        facts["cpu.logical"]
        for hosts in campaign.environments.values()
        for facts in hosts.values()
        if facts.get("cpu.logical", "").isdigit()
    }
    return int(told.pop()) if len(told) == 1 else None
