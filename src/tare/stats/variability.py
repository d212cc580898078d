"""How much a cell scatters from block to block, and whether a contender scatters less than its reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import MIN_BLOCKS, Counts, Floats, moments


@dataclasses.dataclass(frozen=True, eq=False)
class Scatters:
    """The coefficient of variation of each cell with its interval; NaN where there is none."""

    n_blocks: Counts
    cv: Floats
    low: Floats
    high: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class ScatterRatios:
    """How many times the reference's scatter the contender's is, with its interval.

    `n_blocks` counts the common blocks; `correlation` is that of both sides over them. For an
    `is_paired` = False cell, which lacks three of them, `n_blocks` is that of the side with fewer.
    """

    n_blocks: Counts
    ratio: Floats
    low: Floats
    high: Floats
    correlation: Floats
    is_paired: npt.NDArray[np.bool_]


def scatters(logs: Floats, confidence: float = 0.95) -> Scatters:
    """Return √(exp(s²) − 1) of each column, s² being the variance of the logarithms, with its interval.

    (n − 1)s²/σ² has the chi-square distribution with n − 1 degrees of freedom, and the coefficient of
    variation of a log-normal quantity is √(exp(σ²) − 1) (Koopmans, Owen and Rosenblatt 1964, Biometrika
    51:25): the interval is exact where the noise multiplies, as everywhere in Tare. NaN with fewer than
    three blocks.
    """
    from scipy.special import chdtri

    found = moments(logs)
    enough = found.n_blocks >= MIN_BLOCKS
    freedom = np.maximum(found.n_blocks - 1, 1)
    tail = (1 - confidence) / 2
    square = np.where(enough, found.variance * freedom, np.nan)
    return Scatters(
        found.n_blocks,
        _cv(square / freedom),
        _cv(square / chdtri(freedom, tail)),
        _cv(square / chdtri(freedom, 1 - tail)),
    )


def _cv(variance: Floats) -> Floats:
    cv: Floats = np.sqrt(np.expm1(variance))
    return cv


def scatter_ratios(
    reference: Floats,
    contender: Floats,
    confidence: float = 0.95,
    may_pair: npt.NDArray[np.bool_] | None = None,
) -> ScatterRatios:
    """Return the ratio of the standard deviations of the logarithms, contender / reference, by column.

    It is the ratio of the coefficients of variation, to within 1 % while both are below 20 %. What
    slows a whole block slows both sides, so the sides correlate and the F test does not hold. Pitman's
    and Morgan's test does: equal variances mean that sum and difference are uncorrelated. Inverted, with
    F = s₁²/s₀² and the correlation r over n common blocks, the interval of σ₁²/σ₀² is F(K ± √(K² − 1))
    where K = 1 + 2(1 − r²)t²/(n − 2) and t Student's quantile with n − 2 degrees of freedom; exact for
    bivariate normal logarithms (Pitman 1939, Biometrika 31:9; Morgan 1939, Biometrika 31:13). Long tails
    make it too narrow, as they do every comparison of variances. Cells with fewer than three common
    blocks, but three on each side, have the F interval, as have those that `may_pair` says no of: their
    rows are no blocks.
    """
    is_common = np.isfinite(reference) & np.isfinite(contender)
    is_paired = is_common.sum(axis=0) >= MIN_BLOCKS
    if may_pair is not None:
        is_paired &= may_pair
    used = is_common | ~is_paired
    below, above = (moments(np.where(used, side, np.nan)) for side in (reference, contender))
    n_blocks = np.minimum(below.n_blocks, above.n_blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.where(
            (n_blocks >= MIN_BLOCKS) & (below.variance > 0) & (above.variance > 0),
            above.variance / below.variance,
            np.nan,
        )
    correlation = _correlation(np.where(is_common, reference, np.nan), np.where(is_common, contender, np.nan))
    paired = _pitman_morgan(correlation, n_blocks, confidence)
    unpaired = _fisher(below.n_blocks, above.n_blocks, confidence)
    low, high = (
        np.sqrt(quotient * np.where(is_paired, one, other))
        for one, other in zip(paired, unpaired, strict=True)
    )
    return ScatterRatios(n_blocks, np.sqrt(quotient), low, high, correlation, is_paired)


def _correlation(one: Floats, other: Floats) -> Floats:
    """Return Pearson's r of each pair of columns, which have their gaps in common; NaN without scatter."""
    centred = [side - moments(side).mean for side in (one, other)]
    squares = [np.nansum(np.square(side), axis=0) for side in centred]
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.nansum(centred[0] * centred[1], axis=0) / np.sqrt(squares[0] * squares[1])
    correlation: Floats = np.clip(r, -1.0, 1.0)
    return correlation


def _pitman_morgan(correlation: Floats, n_blocks: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Return the ends of the interval of a ratio of variances, over that ratio."""
    from scipy.special import stdtrit

    freedom = np.maximum(n_blocks - 2, 1)
    t = stdtrit(freedom, 0.5 + confidence / 2)
    k = 1 + 2 * (1 - np.square(correlation)) * np.square(t) / freedom
    width = k + np.sqrt(np.square(k) - 1)
    return 1 / width, width


def _fisher(n_below: Counts, n_above: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Return the same for independent sides: one over the quantiles of F (Fisher 1924)."""
    from scipy.special import fdtri

    freedom = np.maximum(n_above - 1, 1), np.maximum(n_below - 1, 1)
    tail = (1 - confidence) / 2
    return 1 / fdtri(*freedom, 1 - tail), 1 / fdtri(*freedom, tail)
