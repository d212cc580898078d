"""Ratios and verdicts, against hand-computed cases and scipy."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from tare.core.verdict import Verdict, verdict_of
from tare.core.workload import Better
from tare.stats.intervals import Floats
from tare.stats.ratios import Design, Ratios, ratios, separate_unpaired

NAN = math.nan
T_2 = (
    4.302652729911275  # two-sided 95 % quantile of Student's t, 2 degrees of freedom (printed tables: 4.303)
)


@st.composite
def two_sides(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Return positive values of both sides, some missing."""
    shape = draw(st.tuples(st.integers(3, 10), st.integers(1, 4)))
    elements = st.floats(1e-2, 1e4, allow_subnormal=False) | st.just(NAN)
    values = arrays.arrays(np.float64, shape, elements=elements)
    return draw(values), draw(values)


def columns(reference: list[float], contender: list[float]) -> tuple[Floats, Floats]:
    return np.array(reference)[:, np.newaxis], np.array(contender)[:, np.newaxis]


def test_a_paired_ratio_is_computed_as_by_hand() -> None:
    # ratios 2, 4, 8: logs L, 2L, 3L with L = ln 2; mean 2L, s = L
    found = ratios(*columns([1, 10, 100], [2, 40, 800]))
    half = T_2 * math.log(2) / math.sqrt(3)
    assert found.n_blocks[0] == 3
    assert found.design[0] == Design.PAIRED
    assert found.ratio[0] == pytest.approx(4, rel=1e-12)
    assert found.low[0] == pytest.approx(4 * math.exp(-half), rel=1e-9)
    assert found.high[0] == pytest.approx(4 * math.exp(half), rel=1e-9)


def test_paired_ratios_agree_with_scipy() -> None:
    source = np.random.default_rng(3)
    reference, contender = source.lognormal(2, 0.2, (8, 5)), source.lognormal(2.1, 0.2, (8, 5))
    found = ratios(reference, contender, 0.9)
    for index in range(5):
        test = stats.ttest_rel(np.log(contender[:, index]), np.log(reference[:, index]))
        interval = test.confidence_interval(0.9)
        assert found.low[index] == pytest.approx(math.exp(interval.low), rel=1e-9)
        assert found.high[index] == pytest.approx(math.exp(interval.high), rel=1e-9)


def test_sides_without_three_common_blocks_are_compared_unpaired_as_scipy_does() -> None:
    reference = [1.0, 1.1, 0.9, 1.05, NAN, NAN, NAN]
    contender = [NAN, NAN, NAN, 1.6, 1.5, 1.4, 1.7]
    found = ratios(*columns(reference, contender))
    interval = stats.ttest_ind(
        np.log(contender[3:]), np.log(reference[:4]), equal_var=False
    ).confidence_interval(0.95)
    assert found.design[0] == Design.UNPAIRED
    assert found.low[0] == pytest.approx(math.exp(interval.low), rel=1e-9)
    assert found.high[0] == pytest.approx(math.exp(interval.high), rel=1e-9)


@pytest.mark.parametrize(
    ("reference", "contender", "ratio", "n_blocks"),
    [
        ([1, 2, NAN, NAN], [2, 8, NAN, NAN], math.sqrt(8), 2),
        ([1, NAN, NAN, NAN], [NAN, 3, NAN, NAN], 3, 1),
        ([1, 1, 1, NAN], [NAN, NAN, 2, 2], 2, 1),
    ],
)
def test_fewer_than_three_blocks_give_a_ratio_and_never_an_interval(
    reference: list[float], contender: list[float], ratio: float, n_blocks: int
) -> None:
    found = ratios(*columns(reference, contender))
    assert found.ratio[0] == pytest.approx(ratio)
    assert found.n_blocks[0] == n_blocks
    assert np.isnan(found.low[0])
    assert np.isnan(found.high[0])


def test_a_side_that_was_never_measured_gives_no_ratio() -> None:
    found = ratios(*columns([1, 2, 3], [NAN, NAN, NAN]))
    assert found.design[0] == Design.NONE
    assert found.n_blocks[0] == 0
    assert np.isnan(found.ratio[0])


def test_values_of_zero_give_a_ratio_of_arithmetic_means_and_no_interval() -> None:
    found = ratios(*columns([0, 2, 4], [3, 3, 6]))
    assert found.design[0] == Design.ARITHMETIC
    assert found.ratio[0] == pytest.approx(2)
    assert np.isnan(found.low[0])


@pytest.mark.parametrize("reference", [[0.0, 0.0, 0.0], [-1.0, -2.0, -3.0]])
def test_nothing_is_a_multiple_of_zero_or_of_less(reference: list[float]) -> None:
    assert np.isnan(ratios(*columns(reference, [1, 1, 1])).ratio[0])


def test_equal_sides_have_the_ratio_one_and_are_equivalent_at_any_margin() -> None:
    values = np.random.default_rng(1).lognormal(3, 1, (5, 3))
    found = ratios(values, values.copy())
    for name in ("ratio", "low", "high"):
        assert getattr(found, name).tolist() == [1, 1, 1]
    assert verdict_of(1, 1, margin=0, better=Better.LOWER) is Verdict.EQUIVALENT


def test_constant_sides_have_an_interval_of_width_zero_paired_or_not() -> None:
    paired = ratios(*columns([2, 2, 2], [3, 3, 3]))
    apart = ratios(*columns([2, 2, 2, NAN, NAN, NAN], [NAN, NAN, NAN, 3, 3, 3]))
    for found in (paired, apart):
        assert found.ratio[0] == pytest.approx(1.5)
        assert found.low[0] == found.ratio[0] == found.high[0]


def test_each_cell_is_answered_as_if_it_were_alone() -> None:
    source = np.random.default_rng(9)
    reference, contender = source.lognormal(0, 1, (6, 40)), source.lognormal(0, 1, (6, 40))
    reference[source.random((6, 40)) < 0.4] = NAN
    contender[source.random((6, 40)) < 0.4] = NAN
    contender[0, ::7] = 0
    together = ratios(reference, contender)
    for index in range(40):
        alone = ratios(reference[:, [index]], contender[:, [index]])
        for name in ("n_blocks", "ratio", "low", "high", "design"):
            np.testing.assert_allclose(getattr(together, name)[index], getattr(alone, name)[0], rtol=1e-12)


@given(two_sides())
def test_swapping_the_sides_inverts_the_ratio_and_its_interval(sides: tuple[Floats, Floats]) -> None:
    once, swapped = ratios(*sides), ratios(sides[1], sides[0])
    np.testing.assert_allclose(swapped.ratio, 1 / once.ratio, rtol=1e-8)
    np.testing.assert_allclose(swapped.low, 1 / once.high, rtol=1e-8)
    np.testing.assert_allclose(swapped.high, 1 / once.low, rtol=1e-8)


@given(two_sides(), st.floats(1e-2, 1e2))
def test_the_unit_of_the_values_does_not_matter(sides: tuple[Floats, Floats], scale: float) -> None:
    _assert_same(ratios(*sides), ratios(sides[0] * scale, sides[1] * scale))


@given(two_sides(), st.randoms(use_true_random=False))
def test_the_order_of_blocks_does_not_matter(sides: tuple[Floats, Floats], source: random.Random) -> None:
    order = list(range(len(sides[0])))
    source.shuffle(order)
    _assert_same(ratios(*sides), ratios(sides[0][order], sides[1][order]))


@given(two_sides(), st.data())
def test_what_slows_a_whole_block_on_both_sides_does_not_matter(
    sides: tuple[Floats, Floats], data: st.DataObject
) -> None:
    drift = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=len(sides[0]), max_size=len(sides[0]))))[
        :, np.newaxis
    ]
    steady, drifting = ratios(*sides), ratios(sides[0] * drift, sides[1] * drift)
    is_paired = steady.design == Design.PAIRED
    np.testing.assert_allclose(drifting.low[is_paired], steady.low[is_paired], rtol=1e-8)
    np.testing.assert_allclose(drifting.ratio[is_paired], steady.ratio[is_paired], rtol=1e-8)


def _assert_same(one: Ratios, other: Ratios) -> None:
    for name in ("ratio", "low", "high"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-8)


@pytest.mark.parametrize(
    ("low", "high", "better", "expected"),
    [
        (1.61, 1.75, Better.LOWER, Verdict.WORSE),
        (1.61, 1.75, Better.HIGHER, Verdict.BETTER),
        (0.75, 0.81, Better.LOWER, Verdict.BETTER),
        (0.75, 0.81, Better.HIGHER, Verdict.WORSE),
        (0.99, 1.01, Better.LOWER, Verdict.EQUIVALENT),
        (1.005, 1.015, Better.LOWER, Verdict.EQUIVALENT),
        (0.99, 1.03, Better.LOWER, Verdict.UNDECIDED),
        (1.0, 1.03, Better.LOWER, Verdict.UNDECIDED),
        (1.01, 1.03, Better.LOWER, Verdict.WORSE),
        (0.9802, 1.0, Better.LOWER, Verdict.UNDECIDED),  # 1/1.02 = 0.98039
        (1 / 1.02, 1.02, Better.HIGHER, Verdict.EQUIVALENT),
        (1.61, 1.75, None, Verdict.UNDECIDED),
        (0.99, 1.01, None, Verdict.EQUIVALENT),
        (None, None, Better.LOWER, Verdict.UNDECIDED),
    ],
)
def test_the_verdict_follows_from_the_interval(
    low: float | None, high: float | None, better: Better | None, expected: Verdict
) -> None:
    assert verdict_of(low, high, margin=0.02, better=better) is expected


@pytest.mark.parametrize(
    ("low", "high", "can_differ", "can_be_equivalent", "expected"),
    [
        (1.61, 1.75, False, True, Verdict.UNDECIDED),
        (0.99, 1.01, True, False, Verdict.UNDECIDED),
        (1.005, 1.015, True, False, Verdict.WORSE),  # too small to matter is not proven, worse is
        (1.005, 1.015, False, True, Verdict.EQUIVALENT),
        (1.005, 1.015, False, False, Verdict.UNDECIDED),
    ],
)
def test_among_many_a_verdict_needs_more_than_its_interval(
    low: float, high: float, can_differ: bool, can_be_equivalent: bool, expected: Verdict
) -> None:
    found = verdict_of(
        low,
        high,
        margin=0.02,
        better=Better.LOWER,
        can_differ=can_differ,
        can_be_equivalent=can_be_equivalent,
    )
    assert found is expected


def test_the_standard_error_and_its_freedom_give_the_interval_back() -> None:
    source = np.random.default_rng(5)
    values = source.lognormal(0, 0.1, (6, 4)), source.lognormal(0, 0.3, (6, 4))
    for is_paired in (True, False):
        found = ratios(*separate_unpaired(*values, np.full(4, is_paired)))
        half = stats.t.isf(0.025, found.freedom) * found.error
        np.testing.assert_allclose(found.ratio * np.exp(half), found.high, rtol=1e-9)


def test_sides_that_are_set_apart_share_no_block_and_lose_no_value() -> None:
    source = np.random.default_rng(6)
    reference, contender = source.lognormal(0, 1, (5, 3)), source.lognormal(0, 1, (5, 3))
    below, above = separate_unpaired(reference, contender, np.array([True, False, True]))
    assert ratios(below, above).design.tolist() == [Design.PAIRED, Design.UNPAIRED, Design.PAIRED]
    np.testing.assert_allclose(np.nansum(below, axis=0), reference.sum(axis=0))
    np.testing.assert_allclose(np.nansum(above, axis=0), contender.sum(axis=0))


@given(st.floats(0.2, 5), st.floats(1, 2), st.floats(0, 0.2), st.sampled_from(Better))
def test_swapping_the_sides_gives_the_opposite_verdict(
    low: float, width: float, margin: float, better: Better
) -> None:
    opposite = {Verdict.WORSE: Verdict.BETTER, Verdict.BETTER: Verdict.WORSE}
    high = low * width
    on_edge = any(
        math.isclose(end, edge, rel_tol=1e-9)
        for end in (low, high)
        for edge in (1, 1 + margin, 1 / (1 + margin))
    )
    one = verdict_of(low, high, margin=margin, better=better)
    other = verdict_of(1 / high, 1 / low, margin=margin, better=better)
    assert on_edge or other is opposite.get(one, one)
