"""What a program prints is not what it measured: rounding is no effect."""

from __future__ import annotations

import numpy as np
import pytest

from tare.stats.equivalence import difference_p_values, equivalence_p_values
from tare.stats.intervals import Floats, moments
from tare.stats.ratios import ratios
from tare.stats.rounding import printed_steps, rounding_shifts

N_STUDIES = 2000


@pytest.mark.parametrize(
    ("printed", "step"),
    [
        ([0.21, 0.22, 1.5], 0.01),
        ([0.21, 0.2, 1000.55], 0.01),
        ([100.0, 200.0], 1.0),
        ([12.0, 13.0, 14.0], 1.0),
        ([2.1e-7, 2.2e-7], 1e-8),
        ([0.21 * 1e-6, 0.22 * 1e-6], 1e-8),
        ([0.1234567891234, 0.2], 0.0),
        ([0.0, 0.0], 0.0),
    ],
)
def test_the_step_is_found_from_the_decimals_of_all_that_was_printed(
    printed: list[float], step: float
) -> None:
    (found,) = printed_steps(np.array([printed[0]]), np.array(printed))
    assert found == pytest.approx(step, rel=1e-6)


def test_of_many_numbers_with_as_many_digits_the_step_follows_their_size() -> None:
    values = np.array([float(f"{value:.3g}") for value in np.geomspace(0.1, 1e6, 60)])
    found = printed_steps(np.array([0.5, 5.0, 5000.0]), values)
    np.testing.assert_allclose(found, [0.001, 0.01, 10.0], rtol=1e-6)


def shifts(*sides: Floats, step: float) -> Floats:
    steps = np.full(sides[0].shape[1], step)
    found: Floats = np.sum([rounding_shifts(moments(side), steps) for side in sides], axis=0)
    return found


@pytest.mark.parametrize("spread", [0.001, 0.003, 0.005, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("n_blocks", [5, 20])
def test_rounding_makes_no_difference_out_of_noise_of_any_size(n_blocks: int, spread: float) -> None:
    """Levels anywhere between two printed ones, equal on both sides to within a fiftieth of a step."""
    random = np.random.default_rng(n_blocks)
    level = 0.21 + 0.01 * random.random(N_STUDIES)
    reference, contender = (
        (level * random.lognormal(0, spread, (n_blocks, N_STUDIES))).round(2) for _ in range(2)
    )
    found = ratios(reference, contender, rounding=shifts(reference, contender, step=0.01))
    assert ((found.low > 1) | (found.high < 1)).mean() <= 0.06
    assert (difference_p_values(found) <= 0.05).mean() <= 0.06


@pytest.mark.parametrize("n_blocks", [5, 20])
def test_an_effect_that_rounding_hides_is_undecided_and_a_large_one_is_not(n_blocks: int) -> None:
    reference = np.full((n_blocks, 2), 0.21)
    contender = np.column_stack([np.full(n_blocks, 0.22), np.full(n_blocks, 0.25)])
    found = ratios(reference, contender, rounding=shifts(reference, contender, step=0.01))
    assert found.low[0] <= 1.0 + 1e-4
    assert found.low[1] > 1.1
    p = difference_p_values(found)
    assert p[0] > 0.5
    assert 0 < p[1] < 1e-6
    assert (equivalence_p_values(found, 0.02) > 0.5).all()


def test_identical_values_are_no_evidence_of_a_difference() -> None:
    same = np.full((5, 1), 3.0)
    found = ratios(same, same)
    assert difference_p_values(found)[0] == pytest.approx(1.0)
    assert 0 < equivalence_p_values(found, 0.02)[0] < 1e-6
    assert 0 < difference_p_values(ratios(same, 1.5 * same))[0] < 1e-6


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-12, 1e-15, 1e-40])
def test_small_numbers_are_no_rounded_zeros(scale: float) -> None:
    values = scale * np.random.default_rng(1).lognormal(0, 0.1, 6)
    assert (printed_steps(values, values) < 1e-6 * scale).all()
