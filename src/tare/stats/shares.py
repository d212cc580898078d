"""Part a paired difference into components: each with its interval, and with its share of the whole."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.fieller import ends
from tare.stats.intervals import MIN_BLOCKS, Floats, arithmetic_intervals, moments, standard_errors


@dataclasses.dataclass(frozen=True, eq=False)
class Shares:
    """The mean of each component over blocks with its interval, its p value, and its share of the whole.

    Shares sum to 1. An end of a share is NaN where the whole may be 0, and all ends are with few blocks.
    """

    mean: Floats
    low: Floats
    high: Floats
    p_values: Floats
    share: Floats
    share_low: Floats
    share_high: Floats


def shares(parts: Floats, confidence: float) -> Shares:
    """Return the components of a difference: `parts` is blocks × components, and each row sums to the whole.

    Means have Student's t intervals. The share of a component is the mean of the component over that of the
    whole, with Fieller's interval, which allows for how both vary together from block to block. Both are
    exact for normal components. A bootstrap is not: of 5 blocks, its percentile interval at 95 % contains the
    mean in only 84 % of campaigns (tests/stats/test_shares.py).
    """
    whole = parts.sum(axis=1)
    found = arithmetic_intervals(parts, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = found.centre / whole.mean() if len(whole) else found.centre
    pairs = np.array([_share_ends(column, whole, confidence) for column in parts.T]).reshape(-1, 2)
    return Shares(found.centre, found.low, found.high, mean_p_values(parts), share, pairs[:, 0], pairs[:, 1])


def mean_p_values(parts: Floats) -> Floats:
    """Return the two-sided p value of each column for a mean of 0 (Student's t); NaN with few blocks.

    A column that is 0 in all blocks has p = 1, one that is equal in all blocks 0.
    """
    from scipy.special import stdtr

    found = moments(parts)
    error, freedom = standard_errors(found)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(found.mean == 0, 0.0, np.abs(found.mean) / error)
    p: Floats = 2 * stdtr(np.maximum(freedom, 1.0), -t)
    return np.where(np.isfinite(freedom), p, np.nan)


def _share_ends(part: Floats, whole: Floats, confidence: float) -> tuple[float, float]:
    """Return Fieller's interval of mean(part)/mean(whole); NaN where it is not bounded."""
    nothing = (float("nan"), float("nan"))
    if len(part) < MIN_BLOCKS:
        return nothing
    found = ends(part, whole, confidence)
    return (found[0], found[1]) if len(found) == 2 and _holds(found, part, whole) else nothing


def _holds(found: tuple[float, ...], part: Floats, whole: Floats) -> bool:
    """Return whether the estimate lies between the ends; otherwise the interval is what lies outside."""
    share = float(part.mean() / whole.mean())
    slack = 1e-9 * max(1.0, abs(share))
    return found[0] - slack <= share <= found[1] + slack
