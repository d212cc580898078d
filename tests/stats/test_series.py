"""Blocks as series in time: each figure against another implementation of it, or counted by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.stattools import acf

from tare.stats import trend
from tare.stats.autocorrelation import lag_one
from tare.stats.intervals import Floats
from tare.stats.modes import two_modes
from tare.stats.outliers import outliers
from tare.stats.series import by_length, resolution
from tare.stats.trend import EXACT_UP_TO, MOST_LAGS, mann_kendall, theil_sen
from tare.stats.warmup import warm_ups


def columns(*series: list[float]) -> Floats:
    return np.array(series, np.float64).T


def noise(n_blocks: int, n_series: int = 1, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.02, (n_blocks, n_series))


@pytest.mark.parametrize("n_blocks", [5, 6, 9, 20, 33])
def test_a_trend_without_ties_is_as_rare_as_kendalls_tau_predicts(n_blocks: int) -> None:
    series = noise(n_blocks, 40)
    exact = [
        stats.kendalltau(range(n_blocks), column, method="exact" if n_blocks <= 40 else "auto").pvalue
        for column in series.T
    ]
    np.testing.assert_allclose(mann_kendall(series), exact, rtol=1e-9)


def test_the_strongest_trend_of_five_blocks_is_one_of_two_in_all_their_orders() -> None:
    assert mann_kendall(columns([1, 2, 3, 4, 5]))[0] == pytest.approx(2 / 120)


def test_every_order_of_six_blocks_is_counted() -> None:
    series = np.array(list(itertools.permutations(range(6))), np.float64).T
    scores = [abs(np.sign(np.subtract.outer(one, one)[np.tril_indices(6, -1)]).sum()) for one in series.T]
    chances = [np.mean(np.array(scores) >= score) for score in scores]
    np.testing.assert_allclose(mann_kendall(series), chances)


def test_tied_blocks_take_the_normal_curve_with_a_smaller_variance() -> None:
    """S = 7 + 5 + 3 + 1 + … by hand: 13 pairs rise, none falls, 2 pairs are equal; t = 2 and 2."""
    series = columns([1, 1, 2, 3, 3, 4])
    variance = (6 * 5 * 17 - 2 * (2 * 1 * 9)) / 18
    assert mann_kendall(series)[0] == pytest.approx(2 * stats.norm.sf((13 - 1) / variance**0.5))


def test_many_blocks_take_the_normal_curve_which_is_near_the_exact_chance() -> None:
    series = noise(60, 20)
    exact = [stats.kendalltau(range(60), column, method="exact").pvalue for column in series.T]
    np.testing.assert_allclose(mann_kendall(series), exact, atol=0.004)


def test_equal_blocks_have_no_trend() -> None:
    series = columns([3.0] * 7)
    assert mann_kendall(series)[0] == 1
    assert theil_sen(series)[0] == 0


def test_the_slope_is_that_of_theil_and_sen_also_over_gaps() -> None:
    series = noise(12, 30)
    series[4, :10] = np.nan
    for found, column in zip(theil_sen(series), series.T, strict=True):
        there = np.flatnonzero(np.isfinite(column))
        assert found == pytest.approx(stats.theilslopes(column[there], there).slope, rel=1e-9)


@pytest.mark.parametrize("n_values", [5, 8, 37, 300])
def test_rising_and_falling_pairs_are_those_that_kendalls_tau_counts(n_values: int) -> None:
    source = np.random.default_rng(n_values)
    series = np.round(source.normal(0, 1, (n_values, 12)), 1)  # many are equal
    for p, column in zip(mann_kendall(series), series.T, strict=True):
        signs = np.sign(np.subtract.outer(column, column))[np.tril_indices(n_values, -1)]
        _, groups = np.unique(column, return_counts=True)
        if n_values > EXACT_UP_TO or (groups > 1).any():
            ties = (groups * (groups - 1) * (2 * groups + 5)).sum()
            variance = (n_values * (n_values - 1) * (2 * n_values + 5) - ties) / 18
            distance = max(abs(signs.sum()) - 1, 0) / variance**0.5
            assert p == pytest.approx(min(2 * stats.norm.sf(distance), 1), rel=1e-9)


def test_a_long_series_has_the_slope_of_pairs_at_some_distances_only() -> None:
    series = noise(MOST_LAGS + 700, 5) + 1e-4 * np.arange(MOST_LAGS + 700)[:, np.newaxis]
    whole = [stats.theilslopes(column).slope for column in series.T]
    assert theil_sen(series) == pytest.approx(whole, rel=0.002)
    short = series[: MOST_LAGS + 1]
    assert theil_sen(short) == pytest.approx([stats.theilslopes(one).slope for one in short.T], rel=1e-12)


def test_slopes_are_the_same_when_few_series_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    series = noise(30, 11)
    together = theil_sen(series)
    monkeypatch.setattr(trend, "_MOST_HELD", 1000)
    assert theil_sen(series).tolist() == together.tolist()


def test_the_chance_of_a_warm_up_is_that_of_the_slow_runs_to_be_the_first_and_no_others() -> None:
    """(1/10)(9/10)⁹ of one in ten, (2/10)²(8/10)⁸ of two: the most that any share of slow runs gives."""
    series = noise(10)
    series[0] += 0.3
    found = warm_ups(series)
    assert (found.n_first[0], found.p[0]) == (1, pytest.approx(0.1 * 0.9**9))
    assert found.shift[0] == pytest.approx(series[0, 0] - np.median(series[1:, 0]))
    series[1] += 0.3
    found = warm_ups(series)
    assert (found.n_first[0], found.p[0]) == (2, pytest.approx(0.2**2 * 0.8**8))
    share = np.linspace(0, 1, 1001)
    assert (share**2 * (1 - share) ** 8).max() == pytest.approx(found.p[0], rel=1e-4)


def test_a_first_block_is_no_warm_up_unless_it_is_twice_as_far_off_as_any_later_one() -> None:
    series = noise(12, 3)
    series[0, 1] += 0.5
    series[7, 2] += 0.3
    assert warm_ups(series).p.tolist() == [1, 1, 1]
    series[7, 2] -= 0.2
    assert warm_ups(series).p.tolist() == [1, pytest.approx(1 / 12 * (11 / 12) ** 11), 1]


def test_a_fast_first_block_is_no_warm_up() -> None:
    series = noise(12)
    series[0] -= 0.5
    assert warm_ups(series).p[0] == 1


@pytest.mark.parametrize("n_blocks", [5, 20, 100])
def test_the_autocorrelation_is_that_of_statsmodels(n_blocks: int) -> None:
    series = noise(n_blocks, 10)
    expected = [acf(column, nlags=1, fft=False)[1] for column in series.T]
    np.testing.assert_allclose(lag_one(series).r, expected, rtol=1e-9)


def test_the_threshold_of_the_autocorrelation_is_where_five_in_a_hundred_begin() -> None:
    found = lag_one(noise(20, 500))
    np.testing.assert_array_equal(found.r > found.threshold, found.p < 0.05)


def test_two_clusters_are_split_between_them() -> None:
    fast, slow = [0.00, 0.01, 0.03, 0.04, 0.02], [0.40, 0.43, 0.41, 0.44, 0.42]
    found = two_modes(columns([*slow, *fast]))
    assert found.p[0] < 1e-4
    assert found.low[0] == pytest.approx(0.02)
    assert found.high[0] == pytest.approx(0.42)
    assert found.split[0] == pytest.approx(0.22)


def test_the_chance_of_a_gap_is_that_of_the_spacings_of_uniform_values() -> None:
    series = columns([0.0, 0.1, 0.2, 0.3, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0])
    share = 0.4 - 0.05  # the smallest step is what the values resolve
    assert two_modes(series).p[0] == pytest.approx(2.5 * 5 * (1 - share) ** 8)


def test_one_or_two_values_far_off_are_no_mode() -> None:
    found = two_modes(columns([0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 5.0, 5.01]))
    assert found.p[0] == 1


def test_values_of_two_adjacent_digits_are_no_modes_no_outliers_and_no_warm_up() -> None:
    rounded = np.log(columns([3.2, 3.1, 3.1, 3.1, 3.1, 3.1, 3.1, 3.1, 3.1, 3.1], [3.1, 3.2] * 5))
    assert two_modes(rounded).p.min() == 1
    assert not outliers(rounded).is_outlier.any()
    assert warm_ups(rounded).p.min() > 0.01


def test_an_outlier_is_named_by_its_block_and_the_others_are_not() -> None:
    series = noise(12, 3)
    series[7, 1] += 0.5
    found = outliers(series)
    assert np.argwhere(found.is_outlier).tolist() == [[7, 1]]
    assert found.p[1] < 0.001
    assert found.centre[1] == pytest.approx(np.median(series[:, 1]))


def test_two_outliers_do_not_hide_each_other() -> None:
    series = noise(12)
    series[[3, 9]] += 0.6
    assert np.flatnonzero(outliers(series).is_outlier[:, 0]).tolist() == [3, 9]


@pytest.mark.parametrize(("n_blocks", "untested"), [(4, True), (5, False)])
def test_four_blocks_are_too_few_for_any_of_it(n_blocks: int, untested: bool) -> None:
    series = noise(n_blocks, 3)
    tests = mann_kendall(series), theil_sen(series), lag_one(series).p, outliers(series).p
    assert all(np.isnan(found).all() == untested for found in tests)


@pytest.mark.parametrize(("n_blocks", "untested"), [(9, True), (10, False)])
def test_nine_blocks_are_too_few_for_modes_and_for_a_warm_up(n_blocks: int, untested: bool) -> None:
    assert np.isnan(two_modes(noise(n_blocks)).p[0]) == untested
    assert np.isnan(warm_ups(noise(n_blocks)).p[0]) == untested


def test_gaps_change_nothing_but_where_the_values_came_from() -> None:
    series = noise(11, 4)
    gapped = np.insert(series, [0, 3, 3, 11], np.nan, axis=0)
    for test in (mann_kendall, lambda one: warm_ups(one).p, lambda one: lag_one(one).r):
        np.testing.assert_array_equal(test(gapped), test(series))
    series[5, 2] = gapped[8, 2] = 1
    assert np.argwhere(outliers(gapped).is_outlier).tolist() == [[8, 2]]


def test_series_of_different_lengths_are_each_taken_whole() -> None:
    series = noise(9, 6)
    series[2, 1] = series[5, 1] = series[0, 4] = np.nan
    found = {len(alike.values): alike.columns.tolist() for alike in by_length(series)}
    assert found == {7: [1], 8: [4], 9: [0, 2, 3, 5]}


def test_the_resolution_is_the_smallest_step_between_different_values() -> None:
    assert resolution(columns([3, 1, 1, 8], [2, 2, 2, 2])).tolist() == [2, 0]
