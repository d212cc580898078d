"""Adjusted p values, against hand-computed cases and statsmodels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from statsmodels.stats.multitest import multipletests

from tare.stats.intervals import Floats
from tare.stats.multiplicity import benjamini_hochberg, holm

P_VALUES = arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


def test_holms_p_values_are_computed_as_by_hand() -> None:
    # ranked 0.01, 0.02, 0.03: 3 · 0.01, 2 · 0.02, and 1 · 0.03 raised to the one before
    np.testing.assert_allclose(holm(np.array([0.03, 0.01, 0.02])), [0.04, 0.03, 0.04])


def test_benjamini_and_hochbergs_are_too() -> None:
    # ranked 0.01, 0.03, 0.04: 3/1 · 0.01, then 3/2 · 0.03 lowered to 3/3 · 0.04
    np.testing.assert_allclose(benjamini_hochberg(np.array([0.04, 0.01, 0.03])), [0.04, 0.03, 0.04])


@pytest.mark.slow
@given(P_VALUES)
def test_both_agree_with_statsmodels(p_values: Floats) -> None:
    for ours, theirs in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        expected = multipletests(p_values, method=theirs)[1]
        np.testing.assert_allclose(ours(p_values), expected, rtol=1e-12, atol=1e-15)


@given(P_VALUES, st.data())
def test_what_has_no_p_value_does_not_count(p_values: Floats, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(p_values)), max_size=5))
    sparse = np.insert(p_values, sorted(places), np.nan)
    for adjust in (holm, benjamini_hochberg):
        found = adjust(sparse)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(sparse))
        np.testing.assert_allclose(found[~np.isnan(sparse)], adjust(p_values), rtol=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_a_single_p_value_stays_as_it_is_and_none_give_none(adjust: Callable[[Floats], Floats]) -> None:
    np.testing.assert_array_equal(adjust(np.array([0.04])), [0.04])
    assert adjust(np.array([])).size == 0
    assert np.isnan(adjust(np.array([np.nan]))).all()
