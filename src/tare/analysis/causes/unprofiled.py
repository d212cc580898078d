"""Hold the profiled runs against those of the same cases and blocks without the profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tare.analysis.pairs import Pair
from tare.analysis.table import counted
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.interval import Bounded
from tare.stats.intervals import MIN_BLOCKS, Floats, arithmetic_intervals, geometric_intervals


class Elapsed(NamedTuple):
    """The differences in elapsed time with and without the profile, and what the profile costs as a ratio.

    `plain` has the elapsed seconds of the runs without it, blocks × sides; NaN where there is no run.
    """

    plain_s: Bounded | None
    profiled_s: Bounded | None
    cost: Bounded | None
    plain: Floats


def elapsed(campaign: Campaign, pair: Pair, passes: Sequence[Pass], confidence: float) -> Elapsed:
    """Return how elapsed times differ between the sides of `pair` in `passes`, and what profiling costs."""
    cases = (pair.reference_case.id, pair.contender_case.id)
    plain = _times(counted(campaign), cases, passes)
    profiled = _times(campaign.profiled(), cases, passes)
    ratios = np.concatenate([profiled[:, side] / plain[:, side] for side in (0, 1)])
    blocks = ratios.reshape(2, -1)
    both = np.sqrt(blocks[0] * blocks[1])  # the sides of a block are not independent
    return Elapsed(
        _difference(plain, confidence), _difference(profiled, confidence), _ratio(both, confidence), plain
    )


def _times(attempts: Sequence[Attempt], cases: Sequence[str], passes: Sequence[Pass]) -> Floats:
    """Return elapsed seconds, passes × cases; NaN where there is no run."""
    known = {(one.case, one.together): one.elapsed_s for one in attempts if one.elapsed_s > 0}
    return np.array([[known.get((case, one), np.nan) for case in cases] for one in passes], np.float64)


def _difference(times: Floats, confidence: float) -> Bounded | None:
    found = times[:, 1] - times[:, 0]
    known = found[np.isfinite(found)]
    if len(known) < MIN_BLOCKS:
        return None
    one = arithmetic_intervals(known[:, np.newaxis], confidence)
    return Bounded.of(float(one.centre[0]), float(one.low[0]), float(one.high[0]))


def _ratio(ratios: Floats, confidence: float) -> Bounded | None:
    known = ratios[np.isfinite(ratios)]
    if len(known) < MIN_BLOCKS:
        return None
    one = geometric_intervals(known[:, np.newaxis], confidence)
    return Bounded.of(float(one.centre[0]), float(one.low[0]), float(one.high[0]))
