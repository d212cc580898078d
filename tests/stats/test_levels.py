"""The level of each side is the mean of its values of the kind whose ratio stands beside it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tare.core.comparison import Mean
from tare.stats.estimates import estimate
from tare.stats.intervals import CONFIDENCE
from tare.stats.levels import Level, levels
from tare.stats.ratios import ratios

NO_ROUNDING = (np.zeros(1), np.zeros(1))
BELOW = np.array([[2.0], [3.0], [2.0], [1.0], [2.0], [2.0], [1.0], [1.0]])
ABOVE = np.array([[3.0], [4.0], [3.0], [2.0], [3.0], [3.0], [1.0], [5.0]])
WITH_ZERO = np.array([[3.0], [0.0], [3.0], [2.0], [3.0], [3.0], [1.0], [5.0]])


def of(mean: Mean, above: np.ndarray = ABOVE) -> tuple[Level, Level]:
    return levels(BELOW, above, NO_ROUNDING, mean, CONFIDENCE)


@pytest.mark.parametrize("mean", [Mean.GEOMETRIC, Mean.ARITHMETIC, Mean.HARMONIC])
@pytest.mark.parametrize("above", [ABOVE, WITH_ZERO])
def test_the_level_of_the_contender_over_that_of_the_reference_is_the_ratio(
    mean: Mean, above: np.ndarray
) -> None:
    (reference, *_), (contender, *_) = of(mean, above)
    assert contender / reference == pytest.approx(ratios(BELOW, above, mean=mean).ratio)


def test_a_zero_of_one_side_makes_both_levels_arithmetic() -> None:
    (reference, *_), (contender, *_) = of(Mean.GEOMETRIC, WITH_ZERO)
    assert (reference[0], contender[0]) == pytest.approx((14 / 8, 20 / 8))


def test_harmonic_levels_are_one_over_the_mean_of_the_inverse() -> None:
    (reference, low, high), _ = of(Mean.HARMONIC)
    assert reference[0] == pytest.approx(1 / np.mean(1 / BELOW))
    assert low[0] < reference[0] < high[0]


def test_a_rate_whose_time_may_be_zero_has_no_interval() -> None:
    values = np.array([[1.0], [1.0], [1000.0]])
    (_, low, high), _ = levels(values, values, NO_ROUNDING, Mean.HARMONIC, CONFIDENCE)
    assert np.isnan(low[0])
    assert np.isnan(high[0])


def test_a_median_lies_between_two_of_the_values_and_six_give_an_interval() -> None:
    assert [float(end[0]) for end in of(Mean.MEDIAN)[1]] == pytest.approx([3.0, 1.0, 5.0])
    few = levels(BELOW[:5], ABOVE[:5], NO_ROUNDING, Mean.MEDIAN, CONFIDENCE)
    assert few[1][0][0] == pytest.approx(3.0)
    assert np.isnan(few[1][1][0])


def test_a_column_without_a_value_has_no_level_and_warns_nobody() -> None:
    """A figure with a zero has arithmetic means on both sides, also where a side has no value."""
    values = np.array([[np.nan, 0.0], [np.nan, 1.0], [np.nan, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate(values, is_arithmetic=np.array([True, True]))
    assert found.value.tolist() == pytest.approx([np.nan, 1.0], nan_ok=True)
