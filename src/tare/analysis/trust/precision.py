"""Test whether the machine was quiet enough for the differences that a study asks about."""

from __future__ import annotations

import math
import statistics

import msgspec
import numpy as np

from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.families import FamilyKind
from tare.analysis.verdicts.questions import questions
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction
from tare.core.values import LEAST_FIGURE, Scalar
from tare.core.verdict import Verdict
from tare.stats.intervals import CONFIDENCE, Floats, t_factors
from tare.stats.ratios import log_ratios

_MOST = 0.5
"""The largest share of the quoted ratios that may be too imprecise."""

_TIMES_MARGIN = 2.0
"""A half-width above this multiple of the margin is too wide; below it, a few more blocks are enough."""

_LEAST_BLOCKS = 5
"""With fewer blocks, the number of blocks is the problem, not the machine."""

_ALIKE = 1.1
"""An interval wider than the scatter asks for by this factor allows for blocks that resemble each other."""

_MANY_BLOCKS = 50
"""A study can afford this many blocks: where they would be enough, the machine is quiet enough."""


class Imprecision(msgspec.Struct, frozen=True, kw_only=True):
    """Most quoted ratios are undecided because of noise or load, and more blocks would hardly help.

    `n_wide` of the `n_ratios` with intervals are undecided with a half-width above twice `margin`. The
    following are medians over these: `half_width` as a share, `scatter` of the ratios from block to block,
    and `n_needed`, the number of blocks at which the half-width equals the margin. That is more than the
    scatter alone asks for where it `has_resembling_blocks`. `load` is the lowest and
    the highest one-minute load average at the start of runs. `n_cpus` is the number of logical CPUs of a
    node, if all nodes have the same. None means not recorded.
    """

    n_wide: int
    n_ratios: int
    half_width: float
    margin: float
    load: tuple[float, float] | None
    n_cpus: int | None
    scatter: float = 0.0
    n_needed: int = 0
    has_resembling_blocks: bool = False

    @property
    def is_overloaded(self) -> bool:
        """Return whether more threads were ready to run than a node has CPUs."""
        return self.load is not None and self.n_cpus is not None and self.load[1] > self.n_cpus


def imprecision(campaign: Campaign) -> Imprecision | None:
    """Return the imprecision of a campaign; None where noise or load is not the obstacle.

    An undecided ratio with a narrow interval lies at the margin, which is a result in itself. One that
    rounding hides needs figures with more digits. If _MANY_BLOCKS would narrow the interval to the margin,
    the row itself says how many more blocks it needs. A machine with more load than CPUs is reported even
    then. Too few blocks are no fault of the machine.
    """
    from scipy.special import ndtri

    found = aggregates(campaign, correction=Correction.HOLM)
    widths = ((one, _half_width(one)) for one in found if one.is_primary)
    known = [(one, width) for one, width in widths if width is not None and math.isfinite(width)]
    margin = campaign.plan.margin
    if margin < LEAST_FIGURE:  # any difference counts, and no number of blocks knows a ratio so precisely
        return None
    logs = _logs_of_blocks(campaign)
    wide = [
        (one, width)
        for one, width in known
        if one.verdict is Verdict.UNDECIDED
        and not one.rounding_hides
        and _is_wide_by_ranks(one, _TIMES_MARGIN * margin)
        and width > _TIMES_MARGIN * margin
        and one.n_blocks >= _LEAST_BLOCKS
        and not _is_of_one_block(logs.get(_key(one)), _TIMES_MARGIN * margin)
    ]
    if not known or len(wide) <= _MOST * len(known):
        return None
    scatter = statistics.median(_scatter(one, width) for one, width in wide)
    own = statistics.median(_own_scatter(logs.get(_key(one)), _scatter(one, width)) for one, width in wide)
    loads = [one.load for one in campaign.measured() if one.load is not None]
    found_imprecision = Imprecision(
        n_wide=len(wide),
        n_ratios=len(known),
        half_width=statistics.median(width for _, width in wide),
        margin=margin,
        load=(min(loads), max(loads)) if loads else None,
        n_cpus=_n_cpus(campaign),
        scatter=float(np.expm1(own)),
        n_needed=math.ceil((ndtri(0.975) * scatter / np.log1p(margin)) ** 2),
        has_resembling_blocks=scatter > _ALIKE * own,
    )
    return (
        found_imprecision
        if found_imprecision.is_overloaded or found_imprecision.n_needed > _MANY_BLOCKS
        else None
    )


def _is_wide_by_ranks(one: Comparison, least: float) -> bool:
    """Return whether the interval by ranks is wide, too; True where there is none.

    If it is not, single runs far off widen the interval of the mean, and not the noise of the machine. With
    fewer than 12 blocks, a single run widens the interval by ranks as well (see `_is_of_one_block`).
    """
    ranks = one.hodges_lehmann
    return ranks is None or ranks.low <= 0 or math.sqrt(ranks.high / ranks.low) - 1 > least


_Key = tuple[str, str, str, tuple[tuple[str, Scalar], ...]]
"""The cases of a comparison, its figure of merit, and what distinguishes it from others of that name."""


def _key(one: Comparison) -> _Key:
    return one.reference_case, one.contender_case, one.fom, tuple(one.labels.items())


def _logs_of_blocks(campaign: Campaign) -> dict[_Key, Floats]:
    """Return the logarithm of the ratio in each block, of the quoted figures; NaN where a side is missing."""
    found = {}
    for family in questions(campaign).families:
        if family.kind is FamilyKind.QUOTED:
            logs = log_ratios(family.below, family.above)
            for number, subject in enumerate(family.subjects):
                pair = subject.pair
                cases = pair.reference_case.id, pair.contender_case.id
                found[*cases, subject.fom, tuple(subject.labels.items())] = logs[:, number]
    return found


def _is_of_one_block(logs: Floats | None, most: float) -> bool:
    """Return whether the ratio is known to `most`, as a share, without the block that is farthest off."""
    if logs is None:
        return False
    known = logs[np.isfinite(logs)]
    if len(known) < _LEAST_BLOCKS:
        return False
    rest = np.delete(known, np.argmax(np.abs(known - np.median(known))))
    factor = t_factors(np.array([len(rest) - 1.0]), CONFIDENCE)[0]
    return bool(np.expm1(factor * rest.std(ddof=1) / math.sqrt(len(rest))) <= most)


def _scatter(one: Comparison, half_width: float) -> float:
    """Return the standard deviation of the log ratio between blocks that corresponds to this half-width."""
    factor = t_factors(np.array([one.n_blocks - 1.0]), one.confidence)[0]
    return float(np.log1p(half_width) * math.sqrt(one.n_blocks) / factor)


def _own_scatter(logs: Floats | None, otherwise: float) -> float:
    """Return the standard deviation of the log ratios of blocks, without what an interval allows for."""
    known = np.empty(0) if logs is None else logs[np.isfinite(logs)]
    return float(known.std(ddof=1)) if len(known) >= _LEAST_BLOCKS else otherwise


def _half_width(one: Comparison) -> float | None:
    """Return the half-width of a ratio's interval on the log scale, as a share; None if it has none.

    An interval that reaches down to 0 has no half-width either. What rounding adds is no noise, and left out.
    """
    if one.low is None or one.high is None or one.low <= 0:
        return None
    return float(np.expm1(np.log(one.high / one.low) / 2 - np.log1p(one.rounding)))


def _n_cpus(campaign: Campaign) -> int | None:
    counts = {
        facts["cpu.logical"]
        for hosts in campaign.environments.values()
        for facts in hosts.values()
        if facts.get("cpu.logical", "").isdigit()
    }
    return int(counts.pop()) if len(counts) == 1 else None
