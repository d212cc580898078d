"""Test whether the first blocks of a campaign differ from the rest (warm-up)."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats
from tare.stats.series import Alike, by_length, resolution

LONGEST = 5
"""The largest number of first blocks that is tested: a longer effect is the state of the machine."""

MIN_FOR_WARM_UP = 10
"""With fewer blocks, a block slow by chance is too often the first: in up to 8 % of series of five."""

_APART = 2.0
"""How many times farther off the first blocks must lie than all later ones."""

_LEAST = 1e-12
"""As a logarithm, for series in which only the first value differs from the others."""

_FAR_OFF = 3.5
_MAD_TO_SIGMA = 1.4826


@dataclasses.dataclass(frozen=True, eq=False)
class WarmUps:
    """The most likely warm-up of each series; p is 1 where there is none, and NaN where nothing was tested.

    `n_first` is its length in values, 0 where nothing was tested. `shift` is the median of the first values
    minus the median of the rest.
    """

    p: Floats
    n_first: npt.NDArray[np.int64]
    shift: Floats


def warm_ups(slowing: Floats) -> WarmUps:
    """Return which series of one campaign start with slow values, and how many of them.

    `slowing` is blocks × series of logarithms, where higher is slower. The test is made for each k up to a
    fifth of the values, and at most 5. All of the first k must be slower than the median of the rest by more
    than 3.5 robust standard deviations, and by more than twice the largest deviation of any later value of
    any series. Tests for normal noise would take a slow run that happens to be first for warm-up, and ranks
    alone cannot detect a single slow run.

    Assume that each run, or each block, is slow with some unknown probability. Then the slow ones are exactly
    the first k of n in at most (k/n)ᵏ(1 − k/n)ⁿ⁻ᵏ of campaigns, which is p: 0.039 for the first of ten. In
    simulations of normal, t₃, Cauchy and exponential noise, and of slow runs and slow blocks, a warm-up is
    found in at most 5 % of campaigns of 1 to 16 series. With fewer than ten blocks nothing is tested.
    """
    n_series = slowing.shape[1]
    found = WarmUps(np.full(n_series, np.nan), np.zeros(n_series, np.int64), np.full(n_series, np.nan))
    alike = list(by_length(slowing, MIN_FOR_WARM_UP))
    scale = _scales(slowing)
    for n_first in range(LONGEST, 0, -1):
        centres = [np.median(one.values[n_first:], axis=0) for one in alike]
        farthest = [
            (np.abs(one.values[n_first:] - centre).max(axis=0) / scale[one.columns]).max()
            for one, centre in zip(alike, centres, strict=True)
        ]
        limit = max(_FAR_OFF, _APART * max(farthest, default=0.0))
        for one, centre in zip(alike, centres, strict=True):
            if n_first <= len(one.values) // 5:
                _put(found, one, n_first, centre, limit * scale[one.columns])
    return found


def _put(found: WarmUps, one: Alike, n_first: int, centre: Floats, limits: Floats) -> None:
    """Store the result for the series in `one` whose first values are all beyond the limits."""
    distance, length = one.values[:n_first] - centre, len(one.values)
    is_apart = distance.min(axis=0) > limits
    is_new = is_apart | (found.n_first[one.columns] == 0)
    share = n_first / length
    columns = one.columns[is_new]
    found.p[columns] = np.where(is_apart, share**n_first * (1 - share) ** (length - n_first), 1.0)[is_new]
    found.n_first[columns] = n_first
    found.shift[columns] = np.median(distance, axis=0)[is_new]


def _scales(slowing: Floats) -> Floats:
    """Return a robust standard deviation of each series, at least that of the median series."""
    scale = np.full(slowing.shape[1], np.nan)
    for one in by_length(slowing, MIN_FOR_WARM_UP):
        centred = np.abs(one.values - np.median(one.values, axis=0))
        scale[one.columns] = _MAD_TO_SIGMA * np.maximum(
            np.median(centred, axis=0), resolution(one.values) / 2
        )
    if np.isfinite(scale).any():
        scale = np.maximum(scale, np.nanmedian(scale))
    return np.where(scale == 0, _LEAST, scale)
