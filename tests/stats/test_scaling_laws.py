"""The laws recover the parameters that made the data, and say how surely."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.interval import Bounded
from tare.core.scaling import Law
from tare.report.words.scaling import law_words
from tare.stats.intervals import Floats
from tare.stats.laws import fit_law
from tare.terminal.output import plain
from truth.noise import autocorrelated

P = np.array([1.0, 2, 4, 8, 16, 32])


def usl(p: Floats, gamma: float, sigma: float, kappa: float) -> Floats:
    found: Floats = gamma * p / (1 + sigma * (p - 1) + kappa * p * (p - 1))
    return found


def holds(one: Bounded | None, truth: float) -> bool:
    assert one is not None
    assert one.low is not None
    return one.low <= truth and (one.high is None or truth <= one.high)


def noisy(truth: Floats, seed: int, n_blocks: int = 5, noise: float = 0.02) -> Floats:
    random = np.random.default_rng(seed)
    found: Floats = (
        truth * random.lognormal(0, 0.1, (n_blocks, 1)) * random.lognormal(0, noise, (n_blocks, len(truth)))
    )
    return found


@given(
    gamma=st.floats(1e-3, 1e6),
    sigma=st.floats(0.001, 0.9),
    kappa=st.floats(1e-4, 0.1),
)
def test_the_usl_recovers_an_exact_law_in_any_unit(gamma: float, sigma: float, kappa: float) -> None:
    fit = fit_law(Law.USL, P, usl(P, gamma, sigma, kappa)[np.newaxis])
    assert fit.gamma is not None
    assert fit.gamma.value == pytest.approx(gamma, rel=1e-4)
    assert fit.parameters["sigma"].value == pytest.approx(sigma, rel=1e-3, abs=1e-5)
    assert fit.parameters["kappa"].value == pytest.approx(kappa, rel=1e-3, abs=1e-6)
    assert fit.knee is not None
    assert fit.knee.value == pytest.approx(math.sqrt((1 - sigma) / kappa), rel=1e-2)
    assert fit.misfit == pytest.approx(0, abs=1e-5)


@given(sigma=st.floats(0, 1))
def test_amdahl_recovers_the_serial_share_of_the_work(sigma: float) -> None:
    times = 100 * (sigma + (1 - sigma) / P)
    fit = fit_law(Law.AMDAHL, P, 1 / times[np.newaxis])
    assert fit.parameters["sigma"].value == pytest.approx(sigma, abs=1e-5)


@given(sigma=st.floats(0, 1))
def test_gustafson_recovers_the_serial_share_of_the_time(sigma: float) -> None:
    fit = fit_law(Law.GUSTAFSON, P, 3 * (sigma + (1 - sigma) * P)[np.newaxis])
    assert fit.parameters["sigma"].value == pytest.approx(sigma, abs=1e-5)


def test_parameters_stay_where_they_have_a_meaning() -> None:
    super_linear = P**1.1
    fit = fit_law(Law.USL, P, super_linear[np.newaxis])
    assert fit.parameters["sigma"].value == 0
    assert fit.parameters["kappa"].value == 0
    assert fit.knee is None


@pytest.mark.parametrize(("law", "n_scales"), [(Law.AMDAHL, 2), (Law.GUSTAFSON, 2), (Law.USL, 3)])
def test_a_law_is_refused_where_it_would_pass_through_every_point(law: Law, n_scales: int) -> None:
    few = fit_law(law, P[:n_scales], usl(P[:n_scales], 1, 0.1, 0.01)[np.newaxis])
    assert few.refusal == f"{n_scales} scales were measured; {law} takes {n_scales + 1} or more"
    assert few.gamma is None
    enough = P[: n_scales + 1]
    assert not fit_law(law, enough, usl(enough, 1, 0.1, 0.01)[np.newaxis]).refusal


def test_a_scale_without_any_value_does_not_count() -> None:
    values = usl(P[:4], 1, 0.1, 0.01)[np.newaxis].copy()
    values[0, 1] = np.nan
    assert "3 scales were measured" in fit_law(Law.USL, P[:4], values).refusal


def test_fewer_than_three_complete_blocks_give_a_fit_without_intervals() -> None:
    fit = fit_law(Law.USL, P, noisy(usl(P, 5, 0.05, 0.002), 1, n_blocks=2))
    assert fit.parameters["sigma"].low is None
    assert fit.knee is not None
    assert (fit.knee.low, fit.knee.high) == (None, None)


def test_runs_without_common_blocks_are_fitted_by_their_means() -> None:
    apart = np.full((6, 6), np.nan)
    np.fill_diagonal(apart, usl(P, 5, 0.05, 0.002))
    fit = fit_law(Law.USL, P, apart)
    assert fit.parameters["sigma"].value == pytest.approx(0.05, rel=1e-3)


def test_a_wrong_law_shows_in_its_misfit() -> None:
    values = usl(P, 5, 0.05, 0.02)[np.newaxis]
    amdahl, right = (fit_law(law, P, values).misfit for law in (Law.AMDAHL, Law.USL))
    assert amdahl is not None
    assert right is not None
    assert amdahl > 0.2 > 0.001 > right


def test_intervals_contain_the_true_value_in_95_of_100_studies_whatever_the_drift() -> None:
    gamma, sigma, kappa = 5.0, 0.03, 0.0008
    fits = [fit_law(Law.USL, P, noisy(usl(P, gamma, sigma, kappa), seed)) for seed in range(400)]
    assert 0.92 <= np.mean([holds(fit.gamma, gamma) for fit in fits]) <= 0.98
    assert 0.92 <= np.mean([holds(fit.parameters["sigma"], sigma) for fit in fits]) <= 0.98
    assert 0.92 <= np.mean([holds(fit.parameters["kappa"], kappa) for fit in fits]) <= 0.98
    knee = math.sqrt((1 - sigma) / kappa)
    assert 0.92 <= np.mean([holds(fit.knee, knee) for fit in fits if fit.knee]) <= 0.985


def test_the_knee_has_no_upper_end_where_throughput_may_grow_for_ever() -> None:
    found = [fit_law(Law.USL, P, noisy(usl(P, 5, 0.1, 1e-5), seed, noise=0.05)).knee for seed in range(20)]
    knees = [knee for knee in found if knee is not None]
    assert knees
    assert np.mean([knee.high is None for knee in knees]) >= 0.8


def test_the_intervals_of_a_law_hold_where_blocks_resemble_the_one_before() -> None:
    """Without allowance, 4 of 10 miss; with 20 blocks and an autocorrelation of 0.7, fewer than 1 in 10."""
    noise = autocorrelated(0.02)
    fits = [
        fit_law(Law.USL, P, usl(P, 6, 0.05, 0.003) * noise(np.random.default_rng(seed), (20, len(P))))
        for seed in range(100)
    ]
    for name, truth in (("sigma", 0.05), ("kappa", 0.003)):
        assert sum(not holds(fit.parameters[name], truth) for fit in fits) <= 15
    assert sum(not holds(fit.knee, math.sqrt(0.95 / 0.003)) for fit in fits) <= 15


def test_a_parameter_beyond_its_bound_has_no_interval_and_is_told() -> None:
    """Throughput that grows as a power of the scale bends less than the USL, with κ below 0."""
    fit = fit_law(Law.USL, P, noisy(0.1 * P**0.9, 1, noise=1e-4))
    assert fit.parameters["kappa"] == Bounded(0.0)
    assert fit.parameters["sigma"].low is not None
    assert "κ = 0 (the least that the law allows, which does not fit)" in plain(law_words(fit))


def test_a_share_above_its_bound_is_told_as_the_most() -> None:
    """Throughput that falls with the scale falls faster than a serial share of 1 allows."""
    fit = fit_law(Law.AMDAHL, P, noisy(5 * P**-0.5, 1, noise=1e-4))
    assert fit.parameters["sigma"].low is None
    assert "σ = 1.0 (the most that the law allows, which does not fit)" in plain(law_words(fit))
