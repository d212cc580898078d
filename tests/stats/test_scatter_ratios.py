"""Which of two sides scatters less, whatever the shape of the noise is."""

from __future__ import annotations

import numpy as np
import pytest

from tare.stats.intervals import Floats
from tare.stats.scatter_ratios import ScatterRatios, scatter_ratios
from truth.noise import NOISES, Noise, autocorrelated, lognormal


def studies(
    noise: Noise,
    n_blocks: int,
    n_studies: int,
    *,
    common: float = 0.0,
    ratio: float = 1.0,
    slower: float = 1.0,
) -> tuple[Floats, Floats]:
    """Return logarithms of both sides, blocks × studies; a block shares `common` times such noise."""
    random = np.random.default_rng(n_blocks)
    own = [np.log(noise(random, (n_blocks, n_studies))) for _ in range(2)]
    block = common * np.log(noise(random, (n_blocks, n_studies)))
    return block + own[0], np.log(slower) + ratio * (block + own[1])


def coverage(found: ScatterRatios, truth: float) -> float:
    low, high = found.interval()
    return float(((low <= truth) & (truth <= high)).mean())


def differing(found: ScatterRatios) -> float:
    low, high = found.interval()
    return float(((low > 1) | (high < 1)).mean())


@pytest.mark.parametrize(
    ("n_blocks", "n_studies", "common"),
    [(5, 100, 0.0), (6, 4000, 0.0), (8, 4000, 1.0), (10, 4000, 0.0), (20, 1200, 1.0), (50, 800, 0.0)],
)
@pytest.mark.parametrize("name", NOISES)
def test_sides_that_scatter_alike_differ_in_at_most_five_of_a_hundred_studies(
    name: str, n_blocks: int, n_studies: int, common: float
) -> None:
    found = scatter_ratios(*studies(NOISES[name], n_blocks, n_studies, common=common, slower=1.4))
    assert differing(found) <= 0.05 + 3 * (0.05 * 0.95 / n_studies) ** 0.5


@pytest.mark.parametrize("name", ["log-normal", "t3", "exponential"])
@pytest.mark.parametrize(("n_blocks", "n_studies"), [(8, 2000), (20, 400)])
def test_the_interval_contains_the_true_value(name: str, n_blocks: int, n_studies: int) -> None:
    found = scatter_ratios(*studies(NOISES[name], n_blocks, n_studies, ratio=3.0, common=0.5))
    assert 0.935 <= coverage(found, 3.0) <= 0.995


@pytest.mark.parametrize("name", NOISES)
def test_without_common_blocks_it_holds_too(name: str) -> None:
    reference, contender = studies(NOISES[name], 8, 600)
    nothing = np.full_like(reference, np.nan)
    found = scatter_ratios(np.vstack([reference, nothing]), np.vstack([nothing, contender]))
    assert not found.is_paired.any()
    assert found.n_blocks.tolist() == [8] * 600
    assert differing(found) <= 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5


def test_a_side_that_scatters_three_times_as_much_is_found() -> None:
    assert differing(scatter_ratios(*studies(lognormal(), 12, 500, ratio=3.0))) > 0.6
    assert differing(scatter_ratios(*studies(lognormal(), 20, 300, ratio=3.0))) > 0.9
    assert differing(scatter_ratios(*studies(NOISES["t3"], 20, 300, ratio=3.0))) > 0.7


def test_the_interval_is_between_ratios_of_subsets_of_the_blocks() -> None:
    """By hand: at 3/8 beyond on either side, the third of 7 ratios, spread about ln(6/4) by √3."""
    reference, contender = np.array([[0.0], [1.0], [-3.0]]), np.array([[0.0], [2.0], [-4.0]])
    found = scatter_ratios(reference, contender)
    assert found.ratio[0] == pytest.approx(6 / 4)
    # Deviations 0, 1, 3 and 0, 2, 4: of the subsets 0/0 is not known, 2/1, 4/3, 2/1, 4/3, 6/4, 6/4.
    low, high = found.interval(1 - 2 * 3 / 8)
    assert low[0] == pytest.approx(1.5 * (4 / 3 / 1.5) ** 3**0.5)
    assert high[0] == pytest.approx(1.5 * (2 / 1.5) ** 3**0.5)


def test_an_end_of_the_interval_lies_where_its_p_value_does() -> None:
    reference, contender = studies(lognormal(), 9, 200, ratio=2.0)
    found = scatter_ratios(reference, contender)
    low, high = found.interval(0.9)
    np.testing.assert_array_equal((low > 1) | (high < 1), found.difference_p_values() <= 0.1)


def test_equivalence_is_what_the_interval_lies_within() -> None:
    found = scatter_ratios(*studies(lognormal(), 50, 50))
    low, high = found.interval(0.9)
    is_within = (low > 1 / 2) & (high < 2)
    np.testing.assert_array_equal(is_within, found.equivalence_p_values(1.0) <= 0.05)
    assert is_within.any()


def test_five_blocks_decide_nothing_and_six_can() -> None:
    for n_blocks, has_interval in ((5, False), (6, True)):
        low, high = scatter_ratios(*studies(lognormal(), n_blocks, 3, ratio=100.0)).interval()
        assert (np.isfinite(low) & np.isfinite(high)).all() == has_interval
    assert (low > 1).any()


def test_swapping_the_sides_turns_the_ratio_over() -> None:
    reference, contender = studies(lognormal(), 8, 20, common=0.4)
    one, other = scatter_ratios(reference, contender), scatter_ratios(contender, reference)
    np.testing.assert_allclose(one.interval()[0], 1 / other.interval()[1])
    np.testing.assert_allclose(one.ratio, 1 / other.ratio)


def test_two_blocks_have_no_ratio() -> None:
    found = scatter_ratios(*studies(lognormal(), 2, 3))
    assert np.isnan(found.ratio).all()
    assert np.isnan(found.difference_p_values()).all()


def test_gaps_of_one_side_leave_the_common_blocks() -> None:
    reference, contender = studies(lognormal(), 9, 5)
    gapped = reference.copy()
    gapped[2] = np.nan
    rest = np.delete(reference, 2, axis=0), np.delete(contender, 2, axis=0)
    found, expected = scatter_ratios(gapped, contender), scatter_ratios(*rest)
    np.testing.assert_allclose(found.ratio, expected.ratio)
    np.testing.assert_allclose(found.interval(), expected.interval())


def test_a_side_that_never_varies_has_no_ratio() -> None:
    reference, contender = studies(lognormal(), 7, 3)
    found = scatter_ratios(np.zeros_like(reference), contender)
    assert np.isnan(found.ratio).all()
    assert np.isnan(found.interval()).all()


def test_rows_that_are_no_blocks_are_not_paired() -> None:
    reference, contender = studies(autocorrelated(), 10, 20, common=3.0)
    found = scatter_ratios(reference, contender, may_pair=np.zeros(20, np.bool_))
    assert not found.is_paired.any()
    assert found.n_blocks.tolist() == [10] * 20


@pytest.mark.parametrize("is_paired", [True, False])
def test_typical_values_are_the_same_when_few_subsets_are_held_at_once(
    monkeypatch: pytest.MonkeyPatch, *, is_paired: bool
) -> None:
    sides = studies(lognormal(), 20, 7)
    may_pair = np.full(7, is_paired)
    whole = scatter_ratios(*sides, may_pair)
    monkeypatch.setattr("tare.stats.scatter_ratios._MOST_HELD", 3000)
    parts = scatter_ratios(*sides, may_pair)
    for one, other in zip(whole.typical, parts.typical, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
