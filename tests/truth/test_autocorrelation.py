"""Blocks that resemble the one before are fewer than they seem; what both sides share harms nothing."""

from __future__ import annotations

import numpy as np
import pytest

from tare.analysis.trust.quality import quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.analysis.verdicts.compare import aggregates
from tare.stats.autocorrelation import allow_for
from tare.stats.ratios import ratios
from tare.stats.trend import drift_p_values
from truth.campaigns import Truth, campaign, campaigns
from truth.noise import Noise, autocorrelated, lognormal, sides

N_STUDIES = 2000


def excluding(noise: Noise, n_blocks: int) -> tuple[float, float]:
    """Return how many intervals of studies of nothing exclude 1, and how much wider they are."""
    reference, contender = sides(noise, n_blocks, N_STUDIES, seed=n_blocks)
    plain = ratios(reference, contender)
    found, _ = allow_for(plain, reference, contender, 0.95)
    wider = np.log(found.high / found.low) / np.log(plain.high / plain.low)
    return float(((found.low > 1) | (found.high < 1)).mean()), float(np.median(wider))


@pytest.mark.parametrize("n_blocks", [20, 30, 40])
def test_runs_that_resemble_the_one_before_on_one_side_are_no_difference(n_blocks: int) -> None:
    assert excluding(autocorrelated(0.02, r=0.7), n_blocks)[0] <= 0.07


@pytest.mark.parametrize("r", [0.3, 0.5, 0.7, 0.85])
@pytest.mark.parametrize("n_blocks", [30, 60, 100])
def test_intervals_of_many_blocks_are_right_however_alike_they_are(n_blocks: int, r: float) -> None:
    assert excluding(autocorrelated(0.02, r=r), n_blocks)[0] <= 0.08


@pytest.mark.parametrize("n_blocks", [30, 60])
def test_many_blocks_that_seem_alike_by_chance_count_as_more_than_one(n_blocks: int) -> None:
    """One study in twenty seems alike. Its interval is that of a few blocks, not of a single one."""
    reference, contender = sides(lognormal(0.02), n_blocks, N_STUDIES, seed=n_blocks)
    plain = ratios(reference, contender)
    found, _ = allow_for(plain, reference, contender, 0.95)
    wider = np.log(found.high / found.low) / np.log(plain.high / plain.low)
    assert 0.02 < (wider > 1.5).mean() < 0.1, "those that seem alike"
    assert np.median(wider[wider > 1.5]) < 3.5, "a single block would be 12 times as wide as 30"


@pytest.mark.parametrize("n_blocks", [5, 10, 20, 40])
def test_independent_runs_keep_their_intervals(n_blocks: int) -> None:
    missed, wider = excluding(lognormal(0.02), n_blocks)
    assert 0.025 <= missed <= 0.065
    assert wider == pytest.approx(1.0)


def test_ten_blocks_help_a_little_and_five_tell_nothing() -> None:
    """Honest limits: what the documentation says is assumed."""
    assert 0.08 < excluding(autocorrelated(0.02, r=0.7), 10)[0] < 0.25
    assert 0.25 < excluding(autocorrelated(0.02, r=0.7), 5)[0] < 0.45


def test_a_row_whose_blocks_resemble_each_other_says_so() -> None:
    found = campaign(Truth(noise=autocorrelated(0.02, r=0.9), blocks=40))
    (row,) = aggregates(found)
    assert "blocks resemble the one before" in row.note


def test_what_lasts_on_both_sides_alike_is_no_doubt() -> None:
    shared = Truth(together=autocorrelated(0.05, r=0.7), noise=lognormal(0.005), blocks=20)
    doubted = [
        any(one.kind is RepeatabilityWarning.AUTOCORRELATION for one in quality(each).warnings)
        for each in campaigns(shared, 100)
    ]
    assert np.mean(doubted) <= 0.1
    own = Truth(noise=autocorrelated(0.05, r=0.8), blocks=40)
    assert any(one.kind is RepeatabilityWarning.AUTOCORRELATION for one in quality(campaign(own)).warnings)


@pytest.mark.parametrize("n_blocks", [10, 20])
@pytest.mark.parametrize("lasting", [0.0, 0.7])
def test_a_machine_that_wanders_does_not_drift(n_blocks: int, lasting: float) -> None:
    """The share at the 2.5 % that the question whether all cases do it alike has."""
    series = np.log(autocorrelated(0.02, r=lasting)(np.random.default_rng(4), (n_blocks, N_STUDIES)))
    assert (drift_p_values(series) <= 0.025).mean() <= (0.06 if lasting else 0.025)


def test_a_drift_is_found_in_what_wanders_not() -> None:
    noise = np.log(lognormal(0.02)(np.random.default_rng(5), (20, N_STUDIES)))
    rising = noise + np.linspace(0, 0.08, 20)[:, np.newaxis]
    assert (drift_p_values(rising) <= 0.025).mean() > 0.8


def test_few_campaigns_of_a_wandering_machine_are_said_to_drift() -> None:
    wandering = Truth(together=autocorrelated(0.05, r=0.7), noise=lognormal(0.005), blocks=15)
    drifts = [
        any(one.kind is RepeatabilityWarning.DRIFT for one in quality(each).warnings)
        for each in campaigns(wandering, 100)
    ]
    assert np.mean(drifts) <= 0.08
