"""Order statistics of Walsh averages, found by selection, against sorting all of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.stats import walsh
from tare.stats.intervals import Floats
from tare.stats.walsh import walsh_order_statistics

SHAPES = ("normal", "heavy tails", "two modes", "ties", "all equal")


def sample(shape: str, n: int, seed: int) -> Floats:
    """Return three samples of `n` values, each in order."""
    source = np.random.default_rng(seed)
    size = (3, n)
    match shape:
        case "normal":
            values = source.normal(0, 1, size)
        case "heavy tails":
            values = source.standard_cauchy(size)
        case "two modes":
            values = source.normal(0, 0.01, size) + (source.random(size) < 0.3)
        case "ties":
            values = source.integers(0, 4, size).astype(np.float64)
        case _:
            values = np.full(size, 1.1)
    return np.sort(values, axis=1)


def by_sorting(ranked: Floats) -> Floats:
    """Return all averages of pairs of each row, in order."""
    one, other = np.triu_indices(ranked.shape[1])
    return np.sort((ranked[:, one] + ranked[:, other]) / 2, axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [3, 99, 100, 171])
def test_each_rank_is_the_one_that_sorting_finds(shape: str, n: int) -> None:
    ranked = sample(shape, n, seed=n)
    averages = by_sorting(ranked)
    last = averages.shape[1] - 1
    ranks = [0, last // 5, last // 2, (last + 1) // 2, last - last // 5, last]
    np.testing.assert_allclose(
        walsh_order_statistics(ranked, ranks), averages[:, ranks], rtol=1e-14, atol=1e-15
    )


@settings(max_examples=40)
@given(
    shape=st.sampled_from(SHAPES),
    n=st.integers(100, 160),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 1),
)
def test_selection_is_exact_for_any_rank_of_any_sample(shape: str, n: int, seed: int, share: float) -> None:
    ranked = sample(shape, n, seed)
    averages = by_sorting(ranked)
    rank = round(share * (averages.shape[1] - 1))
    np.testing.assert_allclose(
        walsh_order_statistics(ranked, [rank])[:, 0], averages[:, rank], rtol=1e-14, atol=1e-15
    )


def test_more_samples_than_are_held_at_once_are_each_answered() -> None:
    ranked = np.sort(np.random.default_rng(5).normal(0, 1, (1500, 100)), axis=1)
    found = walsh_order_statistics(ranked, [2525])
    for row in (0, 1249, 1250, 1499):
        assert found[row, 0] == pytest.approx(by_sorting(ranked[[row]])[0, 2525], rel=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_selection_that_may_hold_few_averages_is_exact(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets are halved until few averages are left, or equal ones."""
    monkeypatch.setattr(walsh, "_MOST_HELD", 20)
    for seed in range(5):
        ranked = sample(shape, 120, seed)
        averages = by_sorting(ranked)
        last = averages.shape[1] - 1
        ranks = [0, 1, last // 3, last // 2, last - 7, last]
        np.testing.assert_allclose(
            walsh_order_statistics(ranked, ranks), averages[:, ranks], rtol=1e-14, atol=1e-15
        )


@pytest.mark.parametrize("shape", ["normal", "heavy tails", "ties", "all equal"])
def test_ten_thousand_values_need_no_memory_for_their_averages(shape: str) -> None:
    """Of 10,000 blocks there are 50,005,000 averages: 400 MB each time that all of them are held."""
    ranked = sample(shape, 10_000, seed=1)
    last = 10_000 * 10_001 // 2 - 1
    tracemalloc.start()
    try:
        walsh_order_statistics(ranked, [40_000, last // 2, last - 40_000])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6
