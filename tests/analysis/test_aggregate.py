"""One number a block out of many cases, of which some are missing."""

from __future__ import annotations

import numpy as np
import pytest

from tare.analysis.aggregate import block_levels, block_means
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios

N_STUDIES = 500
NAN = np.nan


def test_with_nothing_missing_it_is_the_geometric_mean() -> None:
    reference, contender = np.random.default_rng(1).lognormal(0, 1, (2, 6, 5))
    found = block_levels(reference, contender, is_paired=True)
    (below, above), _ = block_means(reference, contender)
    np.testing.assert_allclose(found.reference, below, rtol=1e-12)
    np.testing.assert_allclose(found.contender, above, rtol=1e-12)
    assert (found.left_out, found.n_missing, found.n_pairs) == (0, 0, 30)


def test_a_missing_run_is_what_its_case_and_its_block_make_it_where_both_are_all_there_is() -> None:
    # every value is case × block, so that the fit is exact: blocks are 1, 2, 4 times 10 and 1000
    whole = np.outer([1.0, 2.0, 4.0, 8.0], [10.0, 1000.0, 30.0])
    holed = whole.copy()
    holed[1, 0] = NAN
    found = block_levels(holed, whole, is_paired=True)
    np.testing.assert_allclose(found.reference, np.exp(np.log(whole).mean(axis=1)), rtol=1e-9)
    assert (found.n_missing, found.n_pairs) == (1, 12)


def test_a_block_with_no_more_than_half_of_the_cases_does_not_count() -> None:
    reference = np.ones((4, 4))
    reference[2, :2] = NAN
    found = block_levels(reference, np.ones((4, 4)), is_paired=True)
    assert np.isnan(found.reference).tolist() == [False, False, True, False]
    assert np.isnan(found.contender).tolist() == [False, False, True, False]


def test_a_case_that_one_side_lacks_is_left_out_of_both() -> None:
    reference, contender = np.ones((4, 3)), np.full((4, 3), 2.0)
    contender[:, 1] = NAN
    found = block_levels(reference, contender, is_paired=True)
    assert (found.left_out, found.n_missing) == (1, 0)
    np.testing.assert_allclose(found.contender / found.reference, 2)


@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_intervals_contain_the_true_value_whatever_is_missing(share: float, n_blocks: int) -> None:
    """500 studies of 20 cases with costs of their own, under drift: 95 % ± 2 % (two standard errors)."""
    random = np.random.default_rng(n_blocks)
    held = 0
    for _ in range(N_STUDIES):
        drift = random.lognormal(0, 0.1, (n_blocks, 1))
        sides = [drift * random.lognormal(0, 0.02, (n_blocks, 20)) for _ in range(2)]
        sides[1] *= 1.3 * np.exp(np.linspace(-0.5, 0.5, 20))
        for side in sides:
            side[random.random(side.shape) < share / 2] = NAN
        found = block_levels(sides[0], sides[1], is_paired=True)
        interval = ratios(column(found.reference), column(found.contender))
        held += bool(interval.low[0] <= 1.3 <= interval.high[0])
    assert 0.925 <= held / N_STUDIES <= 0.975


def column(values: Floats) -> Floats:
    return values[:, np.newaxis]
