"""Reduce the many points of a run to one number per block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import MIN_BLOCKS, Floats

_LEAST_OF_CASE = 2
"""The least number of blocks of a case that is averaged with others. It is low, since leaving a case out
would change the question."""

_MOST_TURNS = 200
_SETTLED = 1e-13
"""The change of a logarithm at which the fit stops: far below the resolution of any clock."""


def block_means(*sides: Floats) -> tuple[tuple[Floats, ...], int]:
    """Return the geometric mean over columns of each block and side, and how many columns were left out.

    All sides use the same columns: those with positive values only, and with enough blocks of each side for
    an interval. A block that lacks one of them is NaN, since a mean over other points is a different
    quantity. A single column is its own mean, even if values are not positive. Columns with only zeros, such
    as the bandwidth of messages of 0 bytes, carry no information and are not counted as left out.
    """
    if sides[0].shape[1] == 1:
        return tuple(side[:, 0] for side in sides), 0
    used, left_out = _usable(sides, MIN_BLOCKS)
    return tuple(_geometric_means(side[:, used]) for side in sides), left_out


class Levels(NamedTuple):
    """One number per block for each of two sides, and counts of the data behind them.

    `left_out` counts the columns with too few blocks. `n_missing` counts those of the `n_pairs` pairs of runs
    that are missing although others of their block and of their column exist.
    """

    reference: Floats
    contender: Floats
    left_out: int
    n_missing: int
    n_pairs: int


def block_levels(reference: Floats, contender: Floats, *, is_paired: bool) -> Levels:
    """Return the geometric mean over columns of each block, from the columns that the block has.

    With many columns few blocks have all of them, and a mean over other columns is a different quantity. So
    each side is modelled as ln x = α + β, a level of its column plus a level of its block, fitted by least
    squares. A block counts as the mean of all α plus its own β. In this way a missing run is replaced by the
    level of its case in the other blocks and of its block in the other cases (Yates 1933, Empire J. Exp.
    Agric. 1:129). With nothing missing it is the plain mean. If a pair lacks one side, neither side is used,
    unless the sides are not paired. A block with no more than half of the columns is NaN.
    """
    if reference.shape[1] == 1:
        return Levels(reference[:, 0], contender[:, 0], 0, 0, len(reference))
    if is_paired:
        is_there = np.isfinite(reference) & np.isfinite(contender)
        reference, contender = (np.where(is_there, side, np.nan) for side in (reference, contender))
    used, left_out = _usable((reference, contender), _LEAST_OF_CASE)
    logs = [np.log(side[:, used]) for side in (reference, contender)]
    is_kept = [np.isfinite(side).sum(axis=1) > side.shape[1] / 2 for side in logs]
    kept = [side[rows] for side, rows in zip(logs, is_kept, strict=True)]
    is_known = np.logical_and.reduce([np.isfinite(side).any(axis=0) for side in kept])
    levels = [np.full(len(side), np.nan) for side in logs]
    for found, side, rows in zip(levels, kept, is_kept, strict=True):
        if is_known.any():
            found[rows] = np.exp(_levels(side[:, is_known]))
    n_missing = max(int(np.isnan(side[:, is_known]).sum()) for side in kept)
    n_pairs = max(side[:, is_known].size for side in kept)
    return Levels(levels[0], levels[1], left_out + int((~is_known).sum()), n_missing, n_pairs)


def _levels(logs: Floats) -> Floats:
    """Return the level of each block in the additive fit, by alternating between blocks and columns.

    Any two blocks with more than half of the columns share at least one column, so the fit is unique.
    """
    is_there = np.isfinite(logs)
    filled = np.where(is_there, logs, 0.0)
    n_of_block, n_of_column = is_there.sum(axis=1), is_there.sum(axis=0)
    of_block = np.zeros(len(logs))
    for _ in range(_MOST_TURNS):
        of_column = (filled - is_there * of_block[:, np.newaxis]).sum(axis=0) / n_of_column
        before, of_block = of_block, (filled - is_there * of_column).sum(axis=1) / n_of_block
        if np.abs(of_block - before).max(initial=0.0) < _SETTLED:
            break
    levels: Floats = of_column.mean() + of_block
    return levels


def _usable(sides: Sequence[Floats], least: int) -> tuple[npt.NDArray[np.bool_], int]:
    """Return which columns have values of all sides in `least` blocks, and how many do not."""
    used = np.ones(sides[0].shape[1], np.bool_)
    if all(((side > 0) & (side < np.inf)).all() for side in sides):
        return used, 0  # the usual case, and this check takes a tenth of the time
    for side in sides:
        used &= ~(side <= 0).any(axis=0)
    n_blocks = np.min([np.isfinite(side).sum(axis=0) for side in sides], axis=0)
    used &= n_blocks >= min(least, n_blocks.max())
    is_zero = np.all([((side == 0) | np.isnan(side)).all(axis=0) for side in sides], axis=0) & (n_blocks > 0)
    return used, int((~used & ~is_zero).sum())


def _geometric_means(values: Floats) -> Floats:
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    means: Floats = np.exp(np.log(values).mean(axis=1))
    return means
