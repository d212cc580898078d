"""P values of difference and equivalence, against hand-computed cases, scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from tare.stats.equivalence import difference_p_values, equivalence_p_values
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios, separate_unpaired

MARGIN = 0.05


def lognormal(seed: int, n_blocks: int, sigma: float = 0.1, columns: int = 6) -> Floats:
    return np.random.default_rng(seed).lognormal(0.01, sigma, (n_blocks, columns))


def test_the_p_value_of_a_small_case_is_computed_by_hand() -> None:
    # logs L, 2L, 3L: t = 2L / (L/√3) = 2√3; with 2 degrees of freedom P(|T| > t) = 1 − t/√(t² + 2)
    t = 2 * math.sqrt(3)
    found = difference_p_values(ratios(np.ones((3, 1)), np.array([[2.0], [4.0], [8.0]])))
    assert found[0] == pytest.approx(1 - t / math.sqrt(t**2 + 2), rel=1e-12)


@pytest.mark.parametrize("n_blocks", [3, 5, 20])
def test_paired_p_values_are_those_of_scipy_and_statsmodels(n_blocks: int) -> None:
    reference, contender = lognormal(1, n_blocks), lognormal(2, n_blocks)
    found, bound = ratios(reference, contender), math.log1p(MARGIN)
    differences, equivalences = difference_p_values(found), equivalence_p_values(found, MARGIN)
    for index in range(reference.shape[1]):
        one, other = np.log(contender[:, index]), np.log(reference[:, index])
        assert differences[index] == pytest.approx(stats.ttest_rel(one, other).pvalue, rel=1e-9)
        assert equivalences[index] == pytest.approx(ttost_paired(one, other, -bound, bound)[0], rel=1e-9)


def test_unpaired_p_values_are_those_of_welch() -> None:
    reference, contender = separate_unpaired(lognormal(3, 5), lognormal(4, 5, 0.3), np.zeros(6, np.bool_))
    found, bound = ratios(reference, contender), math.log1p(MARGIN)
    differences, equivalences = difference_p_values(found), equivalence_p_values(found, MARGIN)
    for index in range(6):
        one, other = np.log(contender[5:, index]), np.log(reference[:5, index])
        expected = stats.ttest_ind(one, other, equal_var=False).pvalue
        assert differences[index] == pytest.approx(expected, rel=1e-9)
        expected = ttost_ind(one, other, -bound, bound, usevar="unequal")[0]
        assert equivalences[index] == pytest.approx(expected, rel=1e-9)


@given(st.integers(0, 1000), st.integers(3, 12), st.floats(0.5, 0.99))
def test_a_p_value_is_small_just_where_the_interval_excludes_one(
    seed: int, n_blocks: int, confidence: float
) -> None:
    found = ratios(lognormal(seed, n_blocks), lognormal(seed + 1, n_blocks), confidence)
    excludes = (found.low > 1) | (found.high < 1)
    np.testing.assert_array_equal(difference_p_values(found) < 1 - confidence, excludes)


@given(st.integers(0, 1000), st.integers(3, 12), st.floats(0.5, 0.99))
def test_equivalence_is_certain_just_where_the_wider_interval_fits(
    seed: int, n_blocks: int, confidence: float
) -> None:
    # two one-sided tests at α are the 1 − 2α interval within the margin
    found = ratios(lognormal(seed, n_blocks), lognormal(seed + 1, n_blocks), confidence)
    fits = (found.low > 1 / (1 + MARGIN)) & (found.high < 1 + MARGIN)
    np.testing.assert_array_equal(equivalence_p_values(found, MARGIN) < (1 - confidence) / 2, fits)


def test_without_scatter_all_is_nearly_certain_and_no_p_value_is_zero() -> None:
    found = ratios(np.ones((3, 4)), np.full((3, 4), [1.0, 1.01, 1 + MARGIN, 1.2]))
    difference, equivalence = difference_p_values(found), equivalence_p_values(found, MARGIN)
    assert difference[0] == pytest.approx(1)
    assert ((difference[1:] > 0) & (difference[1:] < 1e-9)).all()
    assert ((equivalence[:2] > 0) & (equivalence[:2] < 1e-9)).all()
    assert equivalence[2] == pytest.approx(0.5, abs=0.01)  # just at the margin, to 1 in 10¹²
    assert equivalence[3] > 0.99


def test_without_an_interval_there_is_no_p_value() -> None:
    found = ratios(np.ones((2, 1)), np.full((2, 1), 2.0))
    assert np.isnan(difference_p_values(found)[0])
    assert np.isnan(equivalence_p_values(found, MARGIN)[0])
