"""Find the ranks whose computation a contender slows more than that of the others.

The others wait for such a rank. What it computes longer is the same cause as that waiting.
"""

from __future__ import annotations

import numpy as np

from tare.stats.intervals import MIN_BLOCKS, Floats, moments, standard_errors

_CHANCE = 0.01
"""The probability, over all ranks, that one stands out by chance."""

_LEAST_EXCESS = 0.02
"""As a share of the rank's computation: a smaller excess makes nobody wait for long."""


def uneven(reference: Floats, contender: Floats) -> tuple[Floats, tuple[int, ...]]:
    """Return how much of the mean difference is of ranks that stand out, and these; the largest excess first.

    `reference` and `contender` are the computation of each rank in seconds, blocks × ranks. All ranks that
    do not stand out give the even factor: their total on the contender over that on the reference, in
    each block. What the mean difference exceeds that factor by is uneven. A rank stands out if its time
    exceeds that of the lower median rank, scaled, in a one-sided t test at 1 % over all ranks, and by 2
    %, and is longer than on the reference. Without such a rank the uneven part is 0 in every block.
    """
    n_blocks, n_ranks = reference.shape
    nothing = np.zeros(n_blocks)
    if (
        contender.shape != reference.shape
        or n_blocks < MIN_BLOCKS
        or n_ranks < 2
        or not reference.sum(axis=0).all()
    ):
        return nothing, ()
    factors = contender.sum(axis=0) / reference.sum(axis=0)
    typical = int(np.argsort(factors, kind="stable")[(n_ranks - 1) // 2])
    factor = contender[:, typical] / np.maximum(reference[:, typical], 1e-12)
    excess = contender - reference * factor[:, np.newaxis]
    is_out = _is_above(excess, _CHANCE / n_ranks) & (
        excess.mean(axis=0) > _LEAST_EXCESS * contender.mean(axis=0)
    )
    is_out &= contender.mean(axis=0) > reference.mean(axis=0)
    if not is_out.any():
        return nothing, ()
    quiet = ~is_out
    even = contender[:, quiet].sum(axis=1) / reference[:, quiet].sum(axis=1) - 1
    found: Floats = (contender - reference).mean(axis=1) - even * reference.mean(axis=1)
    ranks = sorted(np.flatnonzero(is_out).tolist(), key=lambda rank: -float(excess[:, rank].mean()))
    return found, tuple(ranks)


def _is_above(values: Floats, chance: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    from scipy.special import stdtr

    found = moments(values)
    error, freedom = standard_errors(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(found.mean == 0, 0.0, found.mean / error)
    p = stdtr(np.maximum(freedom, 1.0), -t)
    return np.asarray(p < chance)
