"""Compute the median of the ratios of blocks, with the interval and the p values of the sign test."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from tare.stats.intervals import Floats, moments


def least_of_median(confidence: float) -> int:
    """Return how many blocks an interval needs: the least n with 2 / 2ⁿ ≤ 1 − confidence, 6 at 95 %."""
    n = 1
    while 2.0 * 0.5**n > (1 - confidence) * _SLACK:
        n += 1
    return n


_SLACK = 1 + 1e-9


def median_intervals(logs: Floats, worth: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return the median of each row of `logs` and its interval; NaN marks missing blocks.

    With the n sorted values x(1) … x(n), the interval is [x(k + 1), x(n − k)] with the largest k for which
    P(B ≤ k) ≤ (1 − confidence)/2, where B is binomial with n and 1/2. It is exact for independent blocks with
    any noise. There is no interval where even k = 0 reaches less than `confidence` (Thompson 1936, Ann. Math.
    Stat. 7:122; Hahn and Meeker 1991, Statistical Intervals, 5.2). Where n blocks are `worth` fewer, k is
    computed for that many, and then scaled to the same share of n.
    """
    ranked = np.sort(logs, axis=1)  # NaN is sorted last
    n_blocks = np.isfinite(ranked).sum(axis=1)
    found: list[Floats] = [np.full(len(ranked), np.nan) for _ in range(3)]
    centre, low, high = found
    for n, counted in {*zip(n_blocks.tolist(), _whole(worth), strict=True)}:
        rows = np.flatnonzero((n_blocks == n) & (np.array(_whole(worth)) == counted))
        if not n:
            continue
        centre[rows] = (ranked[rows, (n - 1) // 2] + ranked[rows, n // 2]) / 2
        k = _rank(counted, confidence)
        if k is not None:
            k = k * n // counted
            low[rows], high[rows] = ranked[rows, k], ranked[rows, n - 1 - k]
    return centre, low, high


def sign_tails(logs: Floats, worth: Floats, limit: float | Floats) -> Floats:
    """Return the p value of a median of `limit` or less in each row: P(B ≤ #{x ≤ limit}).

    This is the sign test (Hollander, Wolfe and Chicken 2014, Nonparametric Statistical Methods, 3.4). A block
    exactly at the limit counts as below it. Where the blocks are `worth` fewer, the test is for that many,
    with the same share below the limit.
    """
    limits = np.broadcast_to(limit, len(logs))[:, np.newaxis]
    n_blocks = np.isfinite(logs).sum(axis=1)
    n_below = (logs <= limits).sum(axis=1)
    counted = np.array(_whole(worth), np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.ceil(n_below * counted / n_blocks)
    rows = zip(counted.tolist(), np.nan_to_num(shares).astype(np.int64).tolist(), strict=True)
    tails = np.array([_chances(n)[k] if n else np.nan for n, k in rows])
    return np.where(n_blocks > 0, tails, np.nan)


def median_blocks_for(logs: Floats, worth: Floats, limit: float, level: float, most: int) -> Floats:
    """Return the least number of blocks that shows each row's median to be above `limit`; inf beyond `most`.

    This is the least number with P(B ≤ k) ≤ `level`. The share of blocks at or below the limit is assumed to
    stay the same, and so is the ratio of `worth` to blocks.
    """
    n_blocks = np.isfinite(logs).sum(axis=1)
    numbers = np.arange(1, most + 1)
    found = np.full(len(logs), np.inf)
    for row in np.flatnonzero(n_blocks > 0).tolist():
        share = float((logs[row] <= limit).sum() / n_blocks[row])
        counted = np.floor(numbers * (worth[row] / n_blocks[row]) + _EXACT).astype(np.int64)
        below = np.ceil(share * counted - _EXACT)
        enough = np.flatnonzero(_tails_at(below, counted) <= level * _SLACK)
        if enough.size:
            found[row] = numbers[enough[0]]
    return found


def median_shifts(logs: Floats, worth: Floats, level: float, power: float) -> Floats:
    """Return the shift of each row's median that a two-sided sign test at `level` finds with `power`.

    The test rejects where at most k of n blocks lie on the other side. Let q be the probability for one block
    at which this happens with `power`. For normal noise with the row's standard deviation s, the shift is s
    Φ⁻¹(1 − q). NaN where no outcome of so few blocks is rare enough.
    """
    from scipy.special import bdtri, ndtri

    found = np.full(len(logs), np.nan)
    spread = moments(np.ascontiguousarray(logs.T)).variance
    for row, counted in enumerate(_whole(worth)):
        k = _rank(counted, 1 - level)
        if k is not None:
            q = float(bdtri(float(k), counted, power))
            found[row] = np.sqrt(spread[row]) * ndtri(1 - q)
    return found


def _tails_at(below: Floats, counted: npt.NDArray[np.int64]) -> Floats:
    from scipy.special import bdtr

    tails: Floats = np.where(counted > 0, bdtr(below, np.maximum(counted, 1), 0.5), 1.0)
    return tails


def _whole(worth: Floats) -> list[int]:
    found: list[int] = np.floor(np.nan_to_num(worth) + _EXACT).astype(np.int64).tolist()
    return found


_EXACT = 1e-9


def _rank(n: int, confidence: float) -> int | None:
    """Return k; None where even k = 0 reaches less than `confidence`."""
    if not n:
        return None
    k = int(np.searchsorted(_chances(n), (1 - confidence) / 2 * _SLACK, side="right")) - 1
    return k if k >= 0 else None


@functools.lru_cache(maxsize=1024)
def _chances(n: int) -> Floats:
    """Return P(B ≤ k) of a binomial B with n and 1/2, for k = 0 … n."""
    from scipy.special import bdtr

    found: Floats = bdtr(np.arange(n + 1, dtype=np.float64), n, 0.5)
    return found
