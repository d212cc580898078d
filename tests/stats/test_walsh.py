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


def hostile(shape: str, n: int) -> Floats:
    """Return one sample of `n` values, in order, with which a step that rounds goes wrong."""
    source = np.random.default_rng(n)
    signs, third = source.choice([-1.0, 1.0], n), n // 3
    match shape:
        case "all magnitudes":
            values = signs * np.power(10.0, source.uniform(-300, 300, n))
        case "the largest":
            values = signs * source.uniform(0.1, 0.8, n) * 1e306
        case "the smallest":
            values = source.integers(-50, 50, n) * 5e-324
        case "one outlier":
            values = np.append(source.normal(0, 1e-3, n - 1), 1e300)
        case "sums that cancel":
            values = np.concatenate([np.repeat([-0.7, 0.7], third), source.normal(0, 1e-18, n - 2 * third)])
        case _:
            values = np.concatenate([np.repeat([-1e300, 1e300], third), source.normal(0, 1, n - 2 * third)])
    return np.sort(values)[np.newaxis, :]


HOSTILE = ("all magnitudes", "the largest", "the smallest", "one outlier", "sums that cancel", "huge sums")


@pytest.mark.parametrize("held", [20, 500_000])
@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_samples_are_answered_to_the_last_bit_of_their_largest_value(
    shape: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walsh, "_MOST_HELD", held)
    ranked = hostile(shape, 1500 if held > 20 else 150)
    averages = by_sorting(ranked)
    last = averages.shape[1] - 1
    ranks = [0, 1, last // 4, last // 3, last // 2, 3 * last // 5, 2 * last // 3, last - 1, last]
    last_bit = np.spacing(np.abs(ranked).max())
    np.testing.assert_allclose(
        walsh_order_statistics(ranked, ranks), averages[:, ranks], rtol=0, atol=2 * last_bit
    )


def test_halving_takes_few_steps_for_any_magnitude(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2**64 numbers, so 64 halvings find each, however far apart the ends are."""
    n_steps, count = 0, walsh._first_above

    def counted(ranked: Floats, limits: Floats) -> walsh.Ranks:
        nonlocal n_steps
        n_steps += 1
        return count(ranked, limits)

    monkeypatch.setattr(walsh, "_MOST_HELD", 20)
    monkeypatch.setattr(walsh, "_first_above", counted)
    ranked = np.sort(np.append(np.full(99, 1e-300), 1e300))[np.newaxis, :]
    walsh_order_statistics(ranked, [2000])
    assert n_steps <= 64 + 5
