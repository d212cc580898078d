"""Part the scatter of a whole between blocks into the shares of its components."""

from __future__ import annotations

import dataclasses

import numpy as np

from tare.stats.intervals import Floats

MIN_SHARED = 4
"""With fewer blocks, a slope has at most one degree of freedom, and its interval says nothing."""


@dataclasses.dataclass(frozen=True, eq=False)
class ScatterShares:
    """The share of each component in the variance of the whole, with its interval and the p value of none.

    Shares sum to 1; that of a component which makes up for others is negative. All are NaN where the whole
    does not scatter, and intervals with too few blocks.
    """

    share: Floats
    low: Floats
    high: Floats
    p_values: Floats


def scatter_shares(parts: Floats, confidence: float = 0.95) -> ScatterShares:
    """Return each component's share of the variance of the whole: cov(component, whole) / var(whole).

    `parts` is blocks × components, and the components of a block sum to its whole. So the share is the slope
    of the component against the whole, by least squares, and the shares sum to 1. The slopes have Student's t
    intervals with n − 2 degrees of freedom, which are exact for normal components, however they vary together
    (Cochran 1977, Sampling Techniques, § 7.9, has the regression). A component without scatter has p = 1.
    """
    from scipy.special import stdtr, stdtrit

    n_blocks, n_parts = parts.shape
    nothing = np.full(n_parts, np.nan)
    whole = parts.sum(axis=1)
    centred = whole - (whole.mean() if n_blocks else 0.0)
    square = float((centred**2).sum())
    if not square:
        return ScatterShares(nothing, nothing, nothing, nothing)
    apart = parts - parts.mean(axis=0)
    share: Floats = centred @ apart / square
    if n_blocks < MIN_SHARED:
        return ScatterShares(share, nothing, nothing, nothing)
    freedom = n_blocks - 2
    rest = apart - np.outer(centred, share)
    error = np.sqrt((rest**2).sum(axis=0) / freedom / square)
    reach = stdtrit(freedom, (1 + confidence) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(share == 0, 0.0, np.abs(share) / error)
    p_values: Floats = 2 * stdtr(freedom, -t)
    return ScatterShares(share, share - reach, share + reach, p_values)
