"""The paired ratio by ranks, against hand-computed cases and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tare.stats import hodges_lehmann
from tare.stats.hodges_lehmann import (
    EXACT_UP_TO,
    disagreements,
    rank_ratios,
    signed_rank_distribution,
    signed_rank_tail,
)
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios

NAN = math.nan


def one_side(*logs: float) -> tuple[Floats, Floats]:
    """Return a reference of ones and the contender whose log ratios are `logs`."""
    contender = np.exp(np.array(logs))[:, np.newaxis]
    return np.where(np.isnan(contender), NAN, 1.0), contender


def test_the_estimate_is_the_median_of_walsh_averages_computed_by_hand() -> None:
    # averages of 0, 1, 5: 0, 0.5, 1, 2.5, 3, 5; their median is 1.75, and the whole range [0, 5]
    found = rank_ratios(*one_side(0, 1, 5))
    assert found.ratio[0] == pytest.approx(math.exp(1.75))
    assert (found.low[0], found.high[0]) == pytest.approx((1, math.exp(5)))


@pytest.mark.parametrize(
    ("n", "confidence", "reached"),
    [(3, 0.95, 0.75), (5, 0.95, 0.9375), (6, 0.95, 0.96875), (5, 0.9, 0.9375), (8, 0.95, 0.9609375)],
)
def test_few_blocks_reach_what_they_can_and_note_it(n: int, confidence: float, reached: float) -> None:
    # P(T = 0) = 2⁻ⁿ: 1 − 2/2⁵ = 0.9375. With 8 blocks P(T ≤ 3) = 5/256: 1 − 10/256
    found = rank_ratios(*one_side(*range(n)), confidence)
    assert found.confidence[0] == pytest.approx(reached)


def test_the_critical_ranks_are_those_of_the_printed_table() -> None:
    # Hollander, Wolfe and Chicken 2014, table A.4: P(T ≤ 8 | n = 10) = 0.024, P(T ≤ 52 | n = 20) = 0.024
    for n, most in ((10, 8), (20, 52)):
        below = np.cumsum(signed_rank_distribution(n))
        assert below[most] <= 0.025 < below[most + 1]


@pytest.mark.parametrize("n", [5, 9, 14])
def test_the_interval_holds_just_the_ratios_that_wilcoxons_test_does_not_reject(n: int) -> None:
    logs = np.random.default_rng(n).normal(0.1, 0.2, n)
    found = rank_ratios(*one_side(*logs), 0.9)
    for end, inward in ((found.low[0], 1), (found.high[0], -1)):
        inside, outside = (math.log(end) + sign * inward * 1e-9 for sign in (1, -1))
        assert stats.wilcoxon(logs - inside, method="exact").pvalue > 0.1
        assert stats.wilcoxon(logs - outside, method="exact").pvalue <= 0.1


def test_the_distribution_of_the_statistic_sums_to_one_and_is_symmetric() -> None:
    for n in (1, 2, 30, 150):
        chances = signed_rank_distribution(n)
        assert chances.sum() == pytest.approx(1, rel=1e-12)
        np.testing.assert_allclose(chances, chances[::-1], rtol=1e-9)


def test_each_column_is_answered_as_if_it_were_alone_whatever_it_lacks() -> None:
    source = np.random.default_rng(4)
    reference, contender = source.lognormal(0, 1, (9, 30)), source.lognormal(0, 1, (9, 30))
    reference[source.random((9, 30)) < 0.3] = NAN
    together = rank_ratios(reference, contender)
    for index in range(30):
        has_value = np.isfinite(reference[:, index])
        alone = rank_ratios(reference[has_value][:, [index]], contender[has_value][:, [index]])
        for name in ("ratio", "low", "high", "confidence"):
            np.testing.assert_allclose(getattr(together, name)[index], getattr(alone, name)[0], rtol=1e-12)


def test_fewer_than_three_common_blocks_have_no_estimate() -> None:
    assert np.isnan(rank_ratios(*one_side(1, 2, NAN)).ratio[0])


def flagged(*logs: float) -> bool:
    sides = one_side(*logs)
    return bool(disagreements(ratios(*sides), rank_ratios(*sides))[0])


def test_one_odd_block_makes_ranks_and_t_disagree() -> None:
    steady = (0.10, 0.11, 0.09, 0.10, 0.12, 0.08, 0.11)
    assert not flagged(*steady)
    assert flagged(*steady, 3.0)  # t: 0.46 ± 0.86 holds ratio 1; ranks say 0.105 and exclude it


def test_both_are_held_to_the_confidence_that_ranks_reach() -> None:
    # five blocks on one side of 1: the range, at 93.75 %, excludes 1, and t has p = 0.0594: 95 % would not
    logs = (0.005, 0.05, 0.06, 0.2, 0.15)
    assert stats.ttest_1samp(logs, 0).pvalue == pytest.approx(0.0594, abs=1e-4)
    assert not flagged(*logs)
    assert flagged(0.001, 0.05, 0.06, 0.2, 0.25)  # p = 0.0787


def test_equal_blocks_agree() -> None:
    assert not flagged(*[math.log(1.2345)] * 5)


@pytest.mark.parametrize("n", [120, 200, EXACT_UP_TO])
def test_the_series_for_many_blocks_gives_the_exact_chances(n: int) -> None:
    below = np.cumsum(signed_rank_distribution(n))
    for share in (0.3, 0.4, 0.45, 0.5):
        k = int(share * len(below))
        assert signed_rank_tail(n, k) == pytest.approx(below[k], abs=1e-7)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_series_for_many_blocks_gives_the_exact_ranks(
    monkeypatch: pytest.MonkeyPatch, confidence: float
) -> None:
    logs = np.random.default_rng(1).normal(0.1, 1, (EXACT_UP_TO, 1))
    sides = np.ones_like(logs), np.exp(logs)
    exact = rank_ratios(*sides, confidence)
    hodges_lehmann.least_rank.cache_clear()
    monkeypatch.setattr(hodges_lehmann, "EXACT_UP_TO", 100)
    found = rank_ratios(*sides, confidence)
    hodges_lehmann.least_rank.cache_clear()
    assert (found.low[0], found.high[0]) == (exact.low[0], exact.high[0])
    assert found.confidence[0] == pytest.approx(exact.confidence[0], abs=1e-7)
    assert found.confidence[0] != exact.confidence[0]  # it was found in another way


def test_thousands_of_blocks_have_an_interval_about_that_of_student() -> None:
    logs = np.random.default_rng(2).normal(0.1, 1, (5000, 1))
    sides = np.ones_like(logs), np.exp(logs)
    by_ranks, by_t = rank_ratios(*sides), ratios(*sides)
    assert np.log(by_ranks.high / by_ranks.low) == pytest.approx(np.log(by_t.high / by_t.low), rel=0.05)
    assert by_ranks.confidence[0] == pytest.approx(0.95, abs=1e-5)
