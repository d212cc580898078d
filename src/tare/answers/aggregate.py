"""One number a block out of the many points of a run."""

from __future__ import annotations

import numpy as np

from tare.stats.intervals import MIN_BLOCKS, Floats


def block_means(*sides: Floats) -> tuple[tuple[Floats, ...], int]:
    """Return the geometric mean over columns of each block, of each side, and how many were left out.

    All sides take the same columns: those with positive values only, in enough blocks of each side
    for an interval. A block that lacks one of them is NaN, since a mean over other points is a mean
    of something else. A single column is its own mean, whatever its sign. Columns of zeros only, such
    as the bandwidth of messages of 0 bytes, say nothing and are not counted as left out.
    """
    n_columns = sides[0].shape[1]
    if n_columns == 1:
        return tuple(side[:, 0] for side in sides), 0
    used = np.ones(n_columns, np.bool_)
    for side in sides:
        used &= ~(side <= 0).any(axis=0)
    n_blocks = np.min([np.isfinite(side).sum(axis=0) for side in sides], axis=0)
    used &= n_blocks >= min(MIN_BLOCKS, n_blocks.max())
    is_zero = np.all([((side == 0) | np.isnan(side)).all(axis=0) for side in sides], axis=0) & (n_blocks > 0)
    left_out = int((~used & ~is_zero).sum())
    return tuple(_geometric_means(side[:, used]) for side in sides), left_out


def _geometric_means(values: Floats) -> Floats:
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    means: Floats = np.exp(np.log(values).mean(axis=1))
    return means
