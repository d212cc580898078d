"""Whether 95 % intervals hold the truth in 95 of 100 studies, by simulating 2,000 of them at once."""

from __future__ import annotations

import numpy as np
import pytest

from tare.stats.intervals import Floats, geometric_intervals
from tare.stats.ratios import ratios

N_STUDIES = 2000
TRUE_RATIO = 1.3


def coverage(low: Floats, high: Floats, truth: float) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


def lognormal(seed: int, n_blocks: int, sigma: float) -> Floats:
    """Return multiplicative noise with the median 1, blocks × studies."""
    return np.random.default_rng(seed).lognormal(0, sigma, (n_blocks, N_STUDIES))


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_the_interval_of_an_estimate_holds_the_truth(n_blocks: int) -> None:
    found = geometric_intervals(20 * lognormal(n_blocks, n_blocks, 0.1), 0.95)
    assert 0.93 <= coverage(found.low, found.high, 20) <= 0.97


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_the_interval_of_a_ratio_holds_the_truth(n_blocks: int) -> None:
    reference, contender = lognormal(1, n_blocks, 0.05), TRUE_RATIO * lognormal(2, n_blocks, 0.1)
    found = ratios(reference, contender)
    assert 0.93 <= coverage(found.low, found.high, TRUE_RATIO) <= 0.97


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_drift_common_to_both_sides_neither_widens_the_interval_nor_loses_the_truth(n_blocks: int) -> None:
    drift = 1.05 ** np.arange(n_blocks)[:, np.newaxis] * lognormal(3, n_blocks, 0.2)
    reference, contender = lognormal(4, n_blocks, 0.02), TRUE_RATIO * lognormal(5, n_blocks, 0.02)
    steady, drifting = ratios(reference, contender), ratios(reference * drift, contender * drift)
    assert 0.93 <= coverage(drifting.low, drifting.high, TRUE_RATIO) <= 0.97
    np.testing.assert_allclose(drifting.high / drifting.low, steady.high / steady.low, rtol=1e-9)


def test_unpaired_intervals_hold_the_truth_when_one_side_scatters_more() -> None:
    nothing = np.full((6, N_STUDIES), np.nan)
    reference = np.vstack([lognormal(6, 6, 0.02), nothing])
    contender = np.vstack([nothing, TRUE_RATIO * lognormal(7, 6, 0.2)])
    found = ratios(reference, contender)
    assert 0.93 <= coverage(found.low, found.high, TRUE_RATIO) <= 0.97
