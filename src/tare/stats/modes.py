"""Test whether a series has two modes, so that its mean is a value that hardly ever occurs."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.intervals import Floats
from tare.stats.series import by_length

MIN_FOR_MODES = 10
"""Below ten values, a gap between clusters of three is not rare, so none is tested."""

_SKEWED = 2.5
"""The same gap is at most this many times as likely among exponential values, which have a thin tail."""

_LEAST_SHARE = 5
_LEAST_CLUSTER = 3


@dataclasses.dataclass(frozen=True, eq=False)
class Modes:
    """The split of each series at its largest gap, whether or not it is significant.

    `low` and `high` are the means of the two clusters; `split` is the middle of the gap between them.
    """

    p: Floats
    low: Floats
    high: Floats
    split: Floats


def two_modes(series: Floats) -> Modes:
    """Return the p value that the values of each column form two clusters, and where these lie.

    The test uses the largest gap between neighbouring sorted values, as a share g of the range. Only gaps
    with at least a fifth of the values, and at least 3, on either side are considered. Among unimodal
    distributions, the uniform one has the widest gaps in its middle. For uniform values, a given gap exceeds
    g with the probability (1 − g)^(n−2) (Pyke 1965, J. R. Stat. Soc. B 27:395), and any of k gaps with at
    most k times that. Among exponential values it is 2.5 times that, by simulation.

    The resolution of the values is subtracted from a gap, so that rounding makes no modes. Hartigan's dip
    test also finds overlapping modes, but not with so few values (Hartigan and Hartigan 1985, Ann. Stat.
    13:70).
    """
    found = Modes(*(np.full(series.shape[1], np.nan) for _ in range(4)))
    for alike in by_length(series, MIN_FOR_MODES):
        part = _split(np.sort(alike.values, axis=0))
        for field in dataclasses.fields(Modes):
            getattr(found, field.name)[alike.columns] = getattr(part, field.name)
    return found


def _split(ordered: Floats) -> Modes:
    length = len(ordered)
    least = max(_LEAST_CLUSTER, -(-length // _LEAST_SHARE))
    steps = np.diff(ordered, axis=0)
    step = np.where(steps > 0, steps, np.inf).min(axis=0)
    candidates = steps[least - 1 : length - least]
    last_low = candidates.argmax(axis=0) + least - 1
    gap = candidates.max(axis=0) - step
    whole = ordered[-1] - ordered[0]
    share = np.divide(gap, whole, out=np.zeros(len(gap)), where=whole > 0).clip(0.0, 1.0)
    is_low = np.arange(length)[:, np.newaxis] <= last_low
    n_low = last_low + 1
    low = np.where(is_low, ordered, 0.0).sum(axis=0) / n_low
    high = np.where(is_low, 0.0, ordered).sum(axis=0) / (length - n_low)
    edges = np.take_along_axis(ordered, np.stack([last_low, last_low + 1]), axis=0)
    return Modes(
        p=np.minimum(_SKEWED * len(candidates) * (1 - share) ** (length - 2), 1.0),
        low=low,
        high=high,
        split=edges.mean(axis=0),
    )
