"""Bootstrap intervals of medians and tails, against scipy with the same resamples."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from tare.stats.bootstrap import quantile_acceleration, quantile_intervals

N_RESAMPLES = 999


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n_values", [5, 24, 101])
def test_quantiles_and_their_intervals_are_those_of_scipy(n_values: int, quantile: float) -> None:
    # in order, so that the same draws are the same values: ranks are drawn here, places by scipy
    sample = np.sort(np.random.default_rng(1).lognormal(0, 0.5, n_values))
    found = quantile_intervals(
        sample[:, np.newaxis], quantile, np.random.default_rng(7), confidence=0.9, n_resamples=N_RESAMPLES
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        theirs = stats.bootstrap(
            (sample,),
            lambda values, axis: np.quantile(values, quantile, axis=axis),
            confidence_level=0.9,
            n_resamples=N_RESAMPLES,
            rng=np.random.default_rng(7),
        ).confidence_interval
    assert found.centre[0] == pytest.approx(np.quantile(sample, quantile), rel=1e-12)
    assert found.low[0] == pytest.approx(theirs.low, rel=1e-9)
    assert found.high[0] == pytest.approx(theirs.high, rel=1e-9)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_values", [4, 5, 12])
def test_the_acceleration_is_that_of_the_jackknife_step_by_step(n_values: int, quantile: float) -> None:
    ranked = np.sort(np.random.default_rng(4).lognormal(0, 1, n_values))
    left = np.array([np.quantile(np.delete(ranked, index), quantile) for index in range(n_values)])
    influence = left.mean() - left
    expected = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    assert quantile_acceleration(ranked[:, np.newaxis], quantile)[0] == pytest.approx(expected, rel=1e-9)


def test_columns_with_as_many_values_share_their_resamples() -> None:
    source = np.random.default_rng(2)
    samples = source.lognormal(0, 1, (40, 6))
    samples[30:, ::2] = np.nan
    together = quantile_intervals(samples, 0.5, np.random.default_rng(3))
    first = quantile_intervals(samples[:30, ::2], 0.5, np.random.default_rng(3))
    np.testing.assert_array_equal(together.low[::2], first.low)
    np.testing.assert_array_equal(together.high[::2], first.high)


def test_the_same_seed_gives_the_same_interval_and_scale_does_not_matter() -> None:
    samples = np.random.default_rng(5).lognormal(0, 1, (25, 3))
    once, scaled = (quantile_intervals(samples * by, 0.9, np.random.default_rng(1)) for by in (1, 1000))
    np.testing.assert_allclose(scaled.low, once.low * 1000, rtol=1e-12)
    np.testing.assert_allclose(scaled.high, once.high * 1000, rtol=1e-12)


def test_two_values_have_a_median_and_no_interval_and_none_have_nothing() -> None:
    found = quantile_intervals(
        np.array([[1.0, np.nan], [3.0, np.nan]]), 0.5, np.random.default_rng(1), n_resamples=9
    )
    assert found.centre[0] == 2
    assert np.isnan([found.low[0], found.high[0], found.centre[1]]).all()
    assert found.n_blocks.tolist() == [2, 0]


def test_equal_values_have_an_interval_of_width_zero() -> None:
    found = quantile_intervals(np.full((10, 1), 3.5), 0.5, np.random.default_rng(1), n_resamples=99)
    assert (found.low[0], found.centre[0], found.high[0]) == (3.5, 3.5, 3.5)
