"""The median of the ratios of blocks: exact intervals, and tests that agree with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tare.core.comparison import Mean
from tare.stats.autocorrelation import allow_for
from tare.stats.equivalence import difference_p_values, equivalence_p_values
from tare.stats.intervals import Floats
from tare.stats.ratios import Design, ratios
from tare.stats.sign_test import least_of_median

N_STUDIES = 4000


def normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.normal(0, 0.02, shape)


def t3(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    found: Floats = 0.02 * random.standard_t(3, shape)
    return found


def one_in_ten_slow(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    found: Floats = normal(random, shape) + np.log(3) * (random.random(shape) < 0.1)
    return found


REACHED = {6: 0.96875, 10: 0.978515625, 20: 0.95861053466796875}
"""Confidence of [x(1), x(6)], [x(2), x(9)] and [x(6), x(15)]: 1 − 2 P(B ≤ k)."""


@pytest.mark.parametrize("noise", [normal, t3, one_in_ten_slow])
@pytest.mark.parametrize("n_blocks", [6, 10, 20])
def test_intervals_contain_the_true_value_as_often_as_the_binomial_predicts(
    noise: Callable[[np.random.Generator, tuple[int, int]], Floats], n_blocks: int
) -> None:
    random = np.random.default_rng(n_blocks)
    block = random.normal(0, 0.3, (n_blocks, 1))  # what slows a whole block slows both sides
    one, other = (np.exp(block + noise(random, (n_blocks, N_STUDIES))) for _ in range(2))
    found = ratios(one, 1.2 * other, mean=Mean.MEDIAN)
    holds = ((found.low <= 1.2) & (found.high >= 1.2)).mean()
    assert abs(holds - REACHED[n_blocks]) < 0.01
    assert (difference_p_values(ratios(one, other, mean=Mean.MEDIAN)) <= 0.05).mean() <= 0.05
    at_the_margin = ratios(one, 1.1 * other, mean=Mean.MEDIAN)
    assert (equivalence_p_values(at_the_margin, 0.1) <= 0.05).mean() <= 0.055


def test_the_interval_is_of_order_statistics() -> None:
    contender = np.array([1.0, 9.0, 2.0, 5.0, 3.0, 8.0, 4.0, 7.0, 6.0, 10.0])[:, np.newaxis]
    found = ratios(np.ones((10, 1)), contender, mean=Mean.MEDIAN)
    assert found.design.tolist() == [Design.MEDIAN]
    np.testing.assert_allclose([found.ratio[0], found.low[0], found.high[0]], [np.sqrt(30), 2, 9])
    assert difference_p_values(found)[0] == pytest.approx(2 * 11 / 1024)  # one of ten is no more than 1


@pytest.mark.parametrize("n_blocks", [5, 6, 7, 10, 13, 20, 41])
def test_p_values_agree_with_the_interval(n_blocks: int) -> None:
    random = np.random.default_rng(n_blocks)
    one, other = (np.exp(random.normal(size=(n_blocks, 500))) for _ in range(2))
    rounding = random.choice([0.0, 0.1], 500)
    found = ratios(one, 1.8 * other, mean=Mean.MEDIAN, rounding=rounding)
    excludes = (found.low > 1) | (found.high < 1)
    np.testing.assert_array_equal(difference_p_values(found) <= 0.05, excludes)
    assert np.isfinite(found.low).all() == (n_blocks >= 6)
    within = (found.low >= 1 / 2) & (found.high <= 2)
    assert (equivalence_p_values(found, 1.0)[within] <= 0.05).all()


def test_fewer_than_six_blocks_have_a_median_and_no_interval() -> None:
    found = ratios(np.ones((5, 1)), np.arange(1.0, 6)[:, np.newaxis], mean=Mean.MEDIAN)
    assert found.ratio[0] == pytest.approx(3)
    assert np.isnan([found.low[0], found.high[0], difference_p_values(found)[0]]).all()
    assert [least_of_median(one) for one in (0.5, 0.9, 0.95, 0.99)] == [2, 5, 6, 8]


def test_sides_that_are_not_paired_have_no_interval() -> None:
    nothing = np.full(6, np.nan)
    reference = np.concatenate([np.arange(1.0, 7), nothing])[:, np.newaxis]
    found = ratios(reference, 2 * reference[::-1], mean=Mean.MEDIAN)
    assert found.ratio[0] == pytest.approx(2)
    assert np.isnan(found.low[0])


def test_equal_values_are_no_difference_and_zeros_no_median() -> None:
    reference = np.ones((8, 2))
    contender = np.ones((8, 2))
    contender[0, 1] = 0
    found = ratios(reference, contender, mean=Mean.MEDIAN)
    assert difference_p_values(found)[0] == 1
    assert found.design.tolist() == [Design.MEDIAN, Design.ARITHMETIC]


def test_blocks_that_resemble_the_one_before_count_for_fewer() -> None:
    random = np.random.default_rng(1)
    steps = random.normal(0, 0.02, (40, 300))
    for row in range(1, 40):
        steps[row] += 0.5 * steps[row - 1]
    reference, contender = np.ones((40, 300)), np.exp(steps)
    plain = ratios(reference, contender, mean=Mean.MEDIAN)
    wider, r = allow_for(plain, reference, contender, 0.95)
    seen = np.isfinite(r)
    assert seen.any()
    has_interval = seen & np.isfinite(wider.low)
    assert (wider.low[has_interval] <= plain.low[has_interval]).all()
    assert (wider.high[has_interval] >= plain.high[has_interval]).all()
    np.testing.assert_array_equal(wider.low[~seen], plain.low[~seen])
    p = difference_p_values(wider)
    known = np.isfinite(wider.low)
    np.testing.assert_array_equal(p[known] <= 0.05, ((wider.low > 1) | (wider.high < 1))[known])
    told = np.isnan(wider.low) | ((wider.low <= 1) & (wider.high >= 1))
    assert told.mean() >= 0.94
