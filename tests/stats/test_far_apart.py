"""Values as far apart as figures may be have intervals without an end, and no warning of numpy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tare.core.comparison import Mean
from tare.core.values import LEAST_FIGURE, MOST_FIGURE
from tare.stats.power import detectable_effects
from tare.stats.ratios import ratios
from tare.stats.variability import logarithms, scatters

LEAST, MOST = LEAST_FIGURE, MOST_FIGURE
REFERENCE = np.array([[MOST], [LEAST], [LEAST]])
CONTENDER = np.array([[LEAST], [MOST], [MOST]])


@pytest.mark.parametrize("mean", list(Mean))
@pytest.mark.parametrize("is_paired", [True, False])
def test_the_ends_of_intervals_are_infinite_without_a_warning(mean: Mean, *, is_paired: bool) -> None:
    sides = REFERENCE, CONTENDER
    if not is_paired:
        nothing = np.full((3, 1), np.nan)
        sides = np.vstack([REFERENCE, nothing]), np.vstack([nothing, CONTENDER])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ratios(*sides, mean=mean, rounding=np.ones(1))
        detectable_effects(found, 0.05)
    if is_paired and mean is Mean.GEOMETRIC:
        assert found.high.tolist() == [np.inf]


def test_scatters_are_infinite_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scatters(logarithms(np.array([[MOST], [LEAST]] * 5)))
    assert found.high.tolist() == [np.inf]
