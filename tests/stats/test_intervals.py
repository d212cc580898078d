"""Means and their intervals, against hand-computed cases and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from tare.stats.autocorrelation import LEAST_BLOCKS
from tare.stats.estimates import estimate
from tare.stats.intervals import Floats, arithmetic_intervals, geometric_intervals, t_factors

POSITIVE = arrays.arrays(
    np.float64,
    st.tuples(st.integers(3, 12), st.integers(1, 4)),
    elements=st.floats(1e-3, 1e6, allow_subnormal=False),
)


def column(*values: float) -> Floats:
    return np.array(values, np.float64)[:, np.newaxis]


def test_the_geometric_mean_of_one_two_four_is_two_with_the_interval_computed_by_hand() -> None:
    # ln 1, ln 2, ln 4 = 0, L, 2L with L = ln 2: mean L, s = L, half width t(2) L/√3 with t(2) = 4.302653
    half = 4.302652729911275 * math.log(2) / math.sqrt(3)
    found = geometric_intervals(column(1, 2, 4), 0.95)
    assert found.centre[0] == pytest.approx(2, rel=1e-12)
    assert found.low[0] == pytest.approx(2 * math.exp(-half), rel=1e-9)
    assert found.high[0] == pytest.approx(2 * math.exp(half), rel=1e-9)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n_blocks", [3, 5, 20])
def test_intervals_agree_with_scipy(n_blocks: int, confidence: float) -> None:
    values = np.random.default_rng(n_blocks).lognormal(3, 0.3, (n_blocks, 4))
    for found, sample in (
        (arithmetic_intervals(values, confidence), values),
        (geometric_intervals(values, confidence), np.log(values)),
    ):
        low, high = stats.t.interval(
            confidence, n_blocks - 1, sample.mean(axis=0), stats.sem(sample, axis=0, ddof=1)
        )
        if sample is not values:
            low, high = np.exp(low), np.exp(high)
        np.testing.assert_allclose(found.low, low, rtol=1e-9)
        np.testing.assert_allclose(found.high, high, rtol=1e-9)


def test_t_factors_are_those_of_the_printed_table() -> None:
    np.testing.assert_allclose(
        t_factors(np.array([2.0, 4, 9, 4]), 0.95), [4.303, 2.776, 2.262, 2.776], atol=5e-4
    )


def test_two_blocks_have_a_mean_and_no_interval() -> None:
    found = geometric_intervals(column(2, 8), 0.95)
    assert found.centre[0] == pytest.approx(4)
    assert np.isnan(found.low[0])
    assert np.isnan(found.high[0])


def test_equal_values_have_an_interval_of_width_zero() -> None:
    values = np.full((7, 3), [20.8, 1e-7, 0.1])
    for found in (geometric_intervals(values, 0.95), arithmetic_intervals(values, 0.95)):
        np.testing.assert_array_equal(found.centre, values[0])
        np.testing.assert_array_equal(found.low, values[0])
        np.testing.assert_array_equal(found.high, values[0])


def test_a_missing_block_is_as_if_it_had_never_been_planned() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 3.0], [2.0, 5.0], [4.0, 4.0], [3.0, np.nan]])
    whole = estimate(values)
    for index in range(2):
        alone = estimate(values[np.isfinite(values[:, index])][:, [index]])
        assert whole.n_blocks[index] == alone.n_blocks[0]
        assert whole.value[index] == pytest.approx(alone.value[0], rel=1e-12)
        assert whole.low[index] == pytest.approx(alone.low[0], rel=1e-12)
        assert whole.cv[index] == pytest.approx(alone.cv[0], rel=1e-12)
        assert whole.minimum[index] == alone.minimum[0]


def test_values_of_zero_or_less_get_the_arithmetic_mean() -> None:
    values = np.column_stack([column(-1, 0, 4), column(1, 2, 4)])
    found = estimate(values)
    assert found.is_arithmetic.tolist() == [True, False]
    assert found.value[0] == pytest.approx(1)
    half = 4.302652729911275 * math.sqrt(7) / math.sqrt(3)  # s² = (4 + 1 + 9)/2
    assert found.low[0] == pytest.approx(1 - half, rel=1e-9)
    assert found.value[1] == pytest.approx(2)


def test_the_coefficient_of_variation_is_that_of_scipy() -> None:
    values = np.random.default_rng(5).lognormal(0, 0.2, (9, 3))
    np.testing.assert_allclose(estimate(values).cv, stats.variation(values, ddof=1), rtol=1e-12)


def test_a_single_block_and_a_mean_of_zero_have_no_coefficient_of_variation() -> None:
    assert np.isnan(estimate(column(3)).cv[0])
    assert np.isnan(estimate(column(-1, 0, 1)).cv[0])


def test_no_blocks_and_no_cells_give_nothing_and_no_error() -> None:
    assert estimate(np.empty((0, 2))).n_blocks.tolist() == [0, 0]
    assert estimate(np.empty((3, 0))).value.size == 0


@given(POSITIVE, st.floats(1e-3, 1e3))
def test_scaling_the_values_scales_the_estimate(values: Floats, scale: float) -> None:
    once, scaled = estimate(values), estimate(values * scale)
    for name in ("value", "low", "high", "minimum", "maximum"):
        np.testing.assert_allclose(getattr(scaled, name), getattr(once, name) * scale, rtol=1e-8)
    np.testing.assert_allclose(scaled.cv, once.cv, rtol=1e-6, atol=1e-12)


@given(POSITIVE, st.randoms(use_true_random=False))
def test_the_order_of_blocks_too_few_to_show_anything_changes_nothing(
    values: Floats, random: np.random.Generator
) -> None:
    values = values[: LEAST_BLOCKS - 1]
    order = list(range(len(values)))
    random.shuffle(order)
    once, shuffled = estimate(values), estimate(values[order])
    np.testing.assert_allclose(shuffled.low, once.low, rtol=1e-8)
    np.testing.assert_allclose(shuffled.high, once.high, rtol=1e-8)


@given(POSITIVE)
def test_the_estimate_lies_within_its_interval_and_its_values(values: Floats) -> None:
    found = estimate(values)
    slack = 1 + 1e-9
    assert (found.low <= found.value * slack).all()
    assert (found.value <= found.high * slack).all()
    assert (found.minimum <= found.value * slack).all()
    assert (found.value <= found.maximum * slack).all()
