"""Whether an interval that ended a campaign holds the truth, by simulating 20,000 campaigns at each noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tare.stats.intervals import Floats, t_factors
from tare.stats.sequential import blocks_until, caution

UNTIL = math.log1p(0.02)
MOST = 80
N_BLOCKS = np.arange(1, MOST + 1)
NOISES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06)


def half_widths_so_far(noise: Floats) -> tuple[Floats, Floats]:
    """Return the mean and its Student half width after each block, campaigns × blocks."""
    mean = noise.cumsum(axis=1) / N_BLOCKS
    variance = (np.square(noise).cumsum(axis=1) - N_BLOCKS * np.square(mean)) / np.maximum(N_BLOCKS - 1, 1)
    factors = t_factors(np.asarray(N_BLOCKS - 1, np.float64), 0.95)
    half: Floats = factors * np.sqrt(np.maximum(variance, 0) / N_BLOCKS)
    return mean, half


def stopped_at(half: Floats, least: int, *, is_cautious: bool = True) -> Floats:
    """Return the block at which each campaign stops, as an index into its blocks."""
    counted = half * caution(N_BLOCKS) if is_cautious else half
    is_enough = (counted <= UNTIL) & (least <= N_BLOCKS)
    found: Floats = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), MOST - 1)
    return found


def simulate(deviation: float, least: int, *, is_cautious: bool = True) -> tuple[float, float, float]:
    """Return coverage, mean number of blocks, and the share that reached the precision."""
    random = np.random.default_rng(round(deviation * 1000) + least)
    mean, half = half_widths_so_far(random.normal(0, deviation, (20_000, MOST)))
    rows, stops = np.arange(len(mean)), stopped_at(half, least, is_cautious=is_cautious)
    holds = np.abs(mean[rows, stops]) <= half[rows, stops]
    return float(holds.mean()), float(stops.mean() + 1), float((half[rows, stops] <= UNTIL).mean())


@pytest.mark.parametrize("least", [3, 5])
@pytest.mark.parametrize("deviation", NOISES)
def test_the_interval_at_which_a_campaign_stops_contains_the_true_value(deviation: float, least: int) -> None:
    coverage, _, reached = simulate(deviation, least)
    assert coverage >= 0.926, "93 %, less the error of the simulation"
    assert reached > 0.999


def test_without_caution_it_would_not() -> None:
    assert min(simulate(deviation, 5, is_cautious=False)[0] for deviation in NOISES) < 0.926
    assert min(simulate(deviation, 3, is_cautious=False)[0] for deviation in NOISES) < 0.91


def fewest_blocks(deviation: float, least: int) -> int:
    """Return the blocks after which Student's interval is narrow enough when the noise is known."""
    half = t_factors(np.asarray(N_BLOCKS - 1, np.float64), 0.95) * deviation / np.sqrt(N_BLOCKS)
    return int(N_BLOCKS[(half <= UNTIL) & (least <= N_BLOCKS)][0])


def test_caution_costs_few_blocks_over_somebody_who_knows_the_noise() -> None:
    needed = sum(simulate(deviation, 5)[1] for deviation in NOISES)
    optimum = sum(fewest_blocks(deviation, 5) for deviation in NOISES)
    assert needed <= 1.10 * optimum


@pytest.mark.parametrize("deviation", NOISES)
def test_the_expected_blocks_are_those_that_it_takes_in_the_mean(deviation: float) -> None:
    _, mean, _ = simulate(deviation, 5)
    assert blocks_until(deviation, UNTIL, 5, MOST) == pytest.approx(mean, abs=2.5)


def test_what_no_number_of_blocks_can_narrow_takes_all_of_them() -> None:
    assert blocks_until(1.0, UNTIL, 5, 30) == 30
    assert blocks_until(0.0, UNTIL, 2, 2) == 2
