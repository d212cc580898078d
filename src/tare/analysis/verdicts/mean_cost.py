"""Compute the ratio of mean costs, which reports show next to the ratio that a verdict rests on.

Times add up, so their mean is arithmetic; the mean of rates is harmonic. A slow run changes this ratio by as
much as it costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tare.analysis.estimate import listed
from tare.core.comparison import Mean, MeanCost
from tare.core.margins import is_within
from tare.core.workload import Better
from tare.stats.autocorrelation import allow_for
from tare.stats.intervals import CONFIDENCE, Floats
from tare.stats.ratios import ratios
from tare.stats.series import by_length

MANY = 20
"""With this many runs, the 95th percentile is not simply the worst run."""

_LEAST = 0.001
"""A smaller difference never counts, for any margin."""

_MEANS = {Better.LOWER: Mean.ARITHMETIC, Better.HIGHER: Mean.HARMONIC}


def mean_costs(
    reference: Floats,
    contender: Floats,
    better: Sequence[Better | None],
    *,
    rounding: Floats | None,
    is_in_order: bool,
) -> list[MeanCost | None]:
    """Return the ratio of the mean costs of each column: arithmetic means of costs, harmonic means of rates.

    None without a direction, without values on both sides, and for rates with a zero, which have no harmonic
    mean. The tails are those of the runs that the ratio covers. `is_in_order` says that the rows are in the
    order of time.
    """
    found: list[MeanCost | None] = [None] * len(better)
    for direction, mean in _MEANS.items():
        columns = [column for column, one in enumerate(better) if one is direction]
        if not columns:
            continue
        below, above = reference[:, columns], contender[:, columns]
        shifts = None if rounding is None else rounding[columns]
        own = ratios(below, above, rounding=shifts, mean=mean)
        if is_in_order:
            own, _ = allow_for(own, below, above, CONFIDENCE)
        n_fewest = np.minimum(*(np.isfinite(side).sum(axis=0) for side in (below, above)))
        tails = [_tails(side, direction, n_fewest >= MANY) for side in (below, above)]
        has_means = np.isfinite(own.ratio) & (own.ratio > 0)
        if mean is Mean.HARMONIC:
            has_means &= ~((below <= 0) | (above <= 0)).any(axis=0)
        own_ratio, low, high = listed(own.ratio, own.low, own.high)
        reference_tails, contender_tails = listed(*tails)
        for index in np.flatnonzero(has_means).tolist():
            found[columns[index]] = MeanCost(
                mean=mean,
                ratio=own_ratio[index] or 0.0,
                low=low[index],
                high=high[index],
                tail=_TAILS[direction][int(n_fewest[index] >= MANY)],
                reference_tail=reference_tails[index],
                contender_tail=contender_tails[index],
            )
    return found


_TAILS = {Better.LOWER: ("max", "p95"), Better.HIGHER: ("min", "p5")}


def _tails(values: Floats, direction: Better, is_many: npt.NDArray[np.bool_]) -> Floats:
    """Return the worst run of each column; with many runs, the percentile that one run in twenty exceeds."""
    is_lower = direction is Better.LOWER
    found: Floats = np.fmax.reduce(values, axis=0) if is_lower else np.fmin.reduce(values, axis=0)
    columns = np.flatnonzero(is_many)
    for alike in by_length(values[:, columns], MANY):
        found[columns[alike.columns]] = np.percentile(alike.values, 95 if is_lower else 5, axis=0)
    return found


def differs_from(one: MeanCost, ratio: float | None, margin: float) -> bool:
    """Return whether the ratio of mean costs differs from `ratio` by more than the margin."""
    if ratio is None or ratio <= 0:
        return False
    return abs(math.log(one.ratio / ratio)) > math.log1p(max(margin, _LEAST))


def is_beyond(one: MeanCost | None, margin: float) -> bool:
    """Return whether the ratio of mean costs lies outside the margin."""
    return one is not None and not is_within(one.ratio, one.ratio, margin)
