"""Scatter as an answer: coefficients of variation, their ratios, and how often intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tare.stats.intervals import Floats
from tare.stats.variability import scatter_ratios, scatters

N_STUDIES = 4000


def two_sides(
    n_blocks: int, correlation: float, ratio: float = 2.0, sigma: float = 0.05
) -> tuple[Floats, Floats]:
    """Return logarithms of a reference and a contender that scatters `ratio` times as much."""
    random = np.random.default_rng(n_blocks)
    common, own = random.normal(size=(2, n_blocks, N_STUDIES))
    contender = correlation * common + np.sqrt(1 - correlation**2) * own
    return sigma * common, ratio * sigma * contender


def coverage(low: Floats, high: Floats, truth: float) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


@pytest.mark.parametrize("n_blocks", [3, 5, 10, 20])
@pytest.mark.parametrize("sigma", [0.02, 0.4])
def test_the_interval_of_a_coefficient_of_variation_holds_the_truth(n_blocks: int, sigma: float) -> None:
    found = scatters(np.random.default_rng(1).normal(3, sigma, (n_blocks, N_STUDIES)))
    assert 0.93 <= coverage(found.low, found.high, np.sqrt(np.exp(sigma**2) - 1)) <= 0.97


@pytest.mark.parametrize("n_blocks", [3, 5, 10, 20])
@pytest.mark.parametrize("correlation", [-0.4, 0.0, 0.5, 0.9])
def test_the_interval_of_a_ratio_of_scatters_holds_the_truth_however_blocks_correlate(
    n_blocks: int, correlation: float
) -> None:
    found = scatter_ratios(*two_sides(n_blocks, correlation))
    assert found.is_paired.all()
    assert 0.93 <= coverage(found.low, found.high, 2.0) <= 0.97


def test_without_common_blocks_the_interval_holds_the_truth_too() -> None:
    reference, contender = two_sides(8, 0.0)
    nothing = np.full_like(reference, np.nan)
    found = scatter_ratios(np.vstack([reference, nothing]), np.vstack([nothing, contender]))
    assert not found.is_paired.any()
    assert found.n_blocks.tolist() == [8] * N_STUDIES
    assert 0.93 <= coverage(found.low, found.high, 2.0) <= 0.97


def test_blocks_that_correlate_make_the_interval_narrower() -> None:
    loose, tight = (scatter_ratios(*two_sides(10, correlation)) for correlation in (0.0, 0.95))
    assert np.median(tight.high / tight.low) < 0.6 * np.median(loose.high / loose.low)


def test_the_interval_excludes_equality_just_where_pitmans_correlation_is_significant() -> None:
    reference, contender = two_sides(9, 0.3, ratio=1.4)
    found = scatter_ratios(reference, contender)
    p = np.array(
        [
            stats.pearsonr(one + other, one - other).pvalue
            for one, other in zip(reference.T[:300], contender.T[:300], strict=True)
        ]
    )
    excludes = (found.low > 1) | (found.high < 1)
    np.testing.assert_array_equal(excludes[:300], p < 0.05)
    assert 0 < excludes[:300].mean() < 1


def test_swapping_the_sides_turns_the_ratio_over() -> None:
    reference, contender = two_sides(6, 0.4)
    one, other = scatter_ratios(reference, contender), scatter_ratios(contender, reference)
    np.testing.assert_allclose(one.low, 1 / other.high)
    np.testing.assert_allclose(one.ratio, 1 / other.ratio)


def test_the_coefficient_is_that_of_the_plain_values_while_it_is_small() -> None:
    values = np.random.default_rng(3).normal(100, 3, (12, 50))
    plain = values.std(axis=0, ddof=1) / values.mean(axis=0)
    np.testing.assert_allclose(scatters(np.log(values)).cv, plain, rtol=0.03)


def test_two_blocks_say_nothing_of_scatter() -> None:
    reference, contender = two_sides(2, 0.0)
    assert np.isnan(scatters(reference).cv).all()
    assert np.isnan(scatter_ratios(reference, contender).ratio).all()


def test_gaps_of_one_side_leave_the_common_blocks() -> None:
    reference, contender = two_sides(7, 0.2)
    gapped = reference.copy()
    gapped[2] = np.nan
    rest = np.delete(reference, 2, axis=0), np.delete(contender, 2, axis=0)
    found, expected = scatter_ratios(gapped, contender), scatter_ratios(*rest)
    np.testing.assert_allclose(found.ratio, expected.ratio)
    np.testing.assert_allclose(found.high, expected.high)


def test_a_side_that_never_varies_has_no_ratio() -> None:
    reference, contender = two_sides(5, 0.0)
    found = scatter_ratios(np.zeros_like(reference), contender)
    assert np.isnan(found.ratio).all()
    assert np.isnan(found.low).all()


def test_rows_that_are_no_blocks_are_not_paired() -> None:
    reference, contender = two_sides(10, 0.9)
    found = scatter_ratios(reference, contender, may_pair=np.zeros(N_STUDIES, np.bool_))
    paired = scatter_ratios(reference, contender)
    assert not found.is_paired.any()
    assert np.median(found.high / found.low) > 1.5 * np.median(paired.high / paired.low)
