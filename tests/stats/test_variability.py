"""Coefficients of variation, and how often their intervals hold the truth, whatever the noise is."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from tare.stats.intervals import Floats
from tare.stats.variability import MIN_FOR_CV, scatters
from truth.noise import Noise

N_STUDIES = 4000
PROMISED = 0.025
TWO_ERRORS = 0.005
SPREAD = 0.02


def _slow(times: float) -> Noise:
    return lambda random, shape: (
        SPREAD * random.standard_normal(shape) + np.log(times) * (random.random(shape) < 0.1)
    )


NOISES: dict[str, Noise] = {
    "normal": lambda random, shape: np.log(1 + SPREAD * random.standard_normal(shape)),
    "log-normal": lambda random, shape: 0.4 * random.standard_normal(shape),
    "t3": lambda random, shape: SPREAD * random.standard_t(3, shape),
    "exponential": lambda random, shape: np.log(1 + 0.1 * random.standard_exponential(shape)),
    "one in ten 1.5 times slower": _slow(1.5),
    "one in ten 3 times slower": _slow(3),
}


def drawn(noise: str, n_blocks: int, n_studies: int = N_STUDIES) -> Floats:
    """Return logarithms, blocks × studies."""
    return NOISES[noise](np.random.default_rng(n_blocks), (n_blocks, n_studies))


@functools.cache
def truth_of(noise: str) -> float:
    variance = 3 * SPREAD**2 if noise == "t3" else drawn(noise, 1000, 400).var()
    return float(np.sqrt(np.expm1(variance)))


SHAPES = ("normal", "log-normal", "exponential", "t3")
SLOW = ("one in ten 1.5 times slower", "one in ten 3 times slower")


def missed(noise: str, n_blocks: int) -> tuple[float, float]:
    """Return how many lower ends are above the truth, and how many upper ends below it."""
    truth, found = truth_of(noise), scatters(drawn(noise, n_blocks))
    return float((found.low > truth).mean()), float((found.high < truth).mean())


@pytest.mark.parametrize("n_blocks", [5, 6, 8, 10, 20, 50])
@pytest.mark.parametrize("noise", [*SHAPES, *SLOW])
def test_a_scatter_is_not_called_larger_than_it_is(noise: str, n_blocks: int) -> None:
    assert missed(noise, n_blocks)[0] <= PROMISED + TWO_ERRORS


@pytest.mark.parametrize("n_blocks", [5, 6, 8, 10, 20, 50])
@pytest.mark.parametrize("noise", SHAPES)
def test_a_scatter_is_not_called_smaller_than_it_is(noise: str, n_blocks: int) -> None:
    is_without_a_fourth_moment = noise == "t3" and n_blocks == 50
    assert missed(noise, n_blocks)[1] <= (0.07 if is_without_a_fourth_moment else PROMISED + TWO_ERRORS)


@pytest.mark.parametrize("noise", SLOW)
def test_no_interval_knows_of_slow_runs_that_were_not_met(noise: str) -> None:
    """Honest limits: what the documentation says."""
    assert 0.3 < missed(noise, 10)[1] < 0.4, "0.9 to the tenth power never met one"
    assert missed(noise, 50)[1] <= PROMISED


@pytest.mark.parametrize("confidence", [0.995, 0.9995])
def test_an_interval_adjusted_for_many_comparisons_keeps_its_promise(confidence: float) -> None:
    for noise in SHAPES:
        found = scatters(drawn(noise, 10), confidence)
        assert (found.low > truth_of(noise)).mean() <= (1 - confidence) / 2 + 0.001


@pytest.mark.parametrize("correlation", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("n_blocks", [20, 50, 100])
def test_a_state_that_lasts_does_not_make_an_interval_too_narrow(n_blocks: int, correlation: float) -> None:
    """As a machine that is slow for some blocks: of 100 with a correlation of 0.7, 9 % missed the truth."""
    found = scatters(lasting(n_blocks, correlation))
    truth = float(np.sqrt(np.expm1(SPREAD**2)))
    assert (found.low > truth).mean() + (found.high < truth).mean() <= 2 * PROMISED + TWO_ERRORS


def lasting(n_blocks: int, correlation: float) -> Floats:
    """Return logarithms, blocks × studies, of which each resembles the one before."""
    random = np.random.default_rng(n_blocks)
    values = [random.standard_normal(N_STUDIES)]
    for _ in range(n_blocks - 1):
        fresh = random.standard_normal(N_STUDIES)
        values.append(correlation * values[-1] + np.sqrt(1 - correlation**2) * fresh)
    return SPREAD * np.array(values)


def test_more_confidence_is_a_wider_interval_also_beyond_what_few_blocks_can_give() -> None:
    logs = drawn("normal", 5)
    ends = [scatters(logs, confidence) for confidence in (0.9, 0.95, 0.99, 0.999, 1 - 1e-7)]
    for one, wider in itertools.pairwise(ends):
        assert (wider.low <= one.low).all()
        assert (wider.high >= one.high).all()
    assert (ends[-1].low == 0).all(), "five blocks cannot say that much"


def test_the_coefficient_is_that_of_the_plain_values_while_it_is_small() -> None:
    values = np.random.default_rng(3).normal(100, 3, (12, 50))
    plain = values.std(axis=0, ddof=1) / values.mean(axis=0)
    np.testing.assert_allclose(scatters(np.log(values)).cv, plain, rtol=0.03)


def test_two_blocks_have_no_scatter_and_four_have_no_interval() -> None:
    assert np.isnan(scatters(np.random.default_rng(2).normal(size=(2, 5))).cv).all()
    few = scatters(np.random.default_rng(2).normal(size=(MIN_FOR_CV - 1, 5)))
    assert np.isfinite(few.cv).all()
    assert np.isnan(few.low).all()
    assert np.isnan(few.high).all()


def test_values_that_are_all_the_same_scatter_by_nothing_and_gaps_change_nothing() -> None:
    same = scatters(np.full((6, 1), 2.0))
    assert (same.cv[0], same.low[0], same.high[0]) == (0, 0, 0)
    logs = drawn("normal", 8, 3)
    gappy = np.vstack([logs, np.full((1, 3), np.nan)])
    np.testing.assert_allclose(scatters(gappy).high, scatters(logs).high)
    assert np.isnan(scatters(np.full((6, 1), np.nan)).cv).all()
