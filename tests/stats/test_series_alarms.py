"""How often each flag is raised: on clean noise in at most 5 of 100 cases, on real trouble nearly always."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tare.stats.autocorrelation import lag_one
from tare.stats.intervals import Floats
from tare.stats.modes import two_modes
from tare.stats.multiplicity import holm
from tare.stats.outliers import outliers
from tare.stats.trend import mann_kendall
from tare.stats.warmup import warm_ups
from truth.noise import NOISES

N_CASES = 8000
SIGMA = 0.02

N_STUDIES = 800


def warm_up_alarms(series: Floats, n_series: int) -> Floats:
    """Return the smallest p value of each study of `n_series` series, since they are judged together."""
    studies = series[:, : N_STUDIES * n_series].reshape(len(series), -1, n_series)
    return np.array([warm_ups(studies[:, study]).p.min() for study in range(studies.shape[1])])


Test = Callable[[Floats], Floats]
TESTS: dict[str, Test] = {
    "drift": mann_kendall,
    "warm-up": lambda series: warm_up_alarms(series, 1),
    "autocorrelation": lambda series: lag_one(series).p,
    "modes": lambda series: two_modes(series).p,
    "outliers": lambda series: outliers(series).p,
}


def clean(n_blocks: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(0, SIGMA, (n_blocks, N_CASES))


def share(p: Floats, alpha: float = 0.05) -> float:
    return float((p <= alpha).mean())


@pytest.mark.parametrize("n_blocks", [5, 10, 20])
@pytest.mark.parametrize("name", TESTS)
def test_clean_noise_raises_a_flag_in_at_most_five_of_a_hundred_cases(name: str, n_blocks: int) -> None:
    chance = 3 * (0.05 * 0.95 / N_CASES) ** 0.5  # three standard errors of a simulated share
    assert share(TESTS[name](clean(n_blocks))) <= 0.05 + chance


@pytest.mark.parametrize("name", TESTS)
def test_coarsely_rounded_noise_raises_no_more_flags(name: str) -> None:
    rounded = np.log(np.round(40 * np.exp(clean(10))))
    assert share(TESTS[name](rounded)) <= 0.055


def test_the_gap_test_holds_for_every_unimodal_shape_that_was_tried() -> None:
    random = np.random.default_rng(5)
    shapes = [
        random.uniform(size=(12, N_CASES)),
        random.exponential(size=(12, N_CASES)),
        random.laplace(size=(12, N_CASES)),
        random.standard_t(3, size=(12, N_CASES)),
    ]
    assert max(share(two_modes(shape).p) for shape in shapes) <= 0.055


@pytest.mark.parametrize("n_blocks", [10, 15, 20])
def test_the_gap_test_holds_for_skewed_noise_in_each_of_many_cases(n_blocks: int) -> None:
    random = np.random.default_rng(n_blocks)
    p = two_modes(random.exponential(size=(n_blocks, 40_000))).p
    assert share(p, 0.05 / 20) <= 0.05 / 20 + 3 * (0.05 / 20 / 40_000) ** 0.5


def test_looking_at_a_hundred_cases_cries_wolf_on_no_more_pages_than_looking_at_one() -> None:
    p = mann_kendall(clean(10)).reshape(80, 100)
    assert np.mean([(holm(page) <= 0.05).any() for page in p]) <= 0.1
    assert np.mean([(page <= 0.05).any() for page in p]) > 0.9


@pytest.mark.parametrize(("n_blocks", "a_block"), [(5, 0.06), (10, 0.01), (20, 0.004)])
def test_a_strong_drift_is_found(n_blocks: int, a_block: float) -> None:
    drift = a_block * np.arange(n_blocks)[:, np.newaxis]
    assert share(mann_kendall(clean(n_blocks) + drift)) > 0.8


@pytest.mark.parametrize(("n_blocks", "n_first"), [(10, 1), (10, 2), (20, 4)])
def test_slow_first_blocks_are_found_and_counted(n_blocks: int, n_first: int) -> None:
    series = clean(n_blocks)[:, :200]
    series[:n_first] += 0.2
    found = [warm_ups(series[:, [study]]) for study in range(200)]
    assert np.mean([one.p[0] <= 0.05 for one in found]) > 0.9
    assert np.mean([one.n_first[0] == n_first for one in found]) > 0.9


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("n_blocks", "n_series"), [(10, 1), (10, 4), (20, 2)])
@pytest.mark.parametrize("is_of_block", [False, True])
def test_a_warm_up_is_found_where_there_is_none_in_at_most_five_of_a_hundred_studies(
    name: str, n_blocks: int, n_series: int, is_of_block: bool
) -> None:
    random = np.random.default_rng(n_blocks)
    shape = (n_blocks, 1 if is_of_block else n_series, N_STUDIES)
    logs = np.log(NOISES[name](random, shape)) + random.normal(0, 0.002, (n_blocks, n_series, N_STUDIES))
    alarms = warm_up_alarms(logs.swapaxes(1, 2).reshape(n_blocks, -1), n_series)
    assert share(alarms) <= 0.05 + 3 * (0.05 * 0.95 / N_STUDIES) ** 0.5


def test_blocks_that_resemble_their_neighbours_are_found() -> None:
    series = clean(30)
    for block in range(1, len(series)):
        series[block] += 0.7 * series[block - 1]
    assert share(lag_one(series).p) > 0.8


@pytest.mark.parametrize(("n_blocks", "apart"), [(10, 0.25), (20, 0.15)])
def test_two_modes_are_found(n_blocks: int, apart: float) -> None:
    series = clean(n_blocks)
    series[::2] += apart
    assert share(two_modes(series).p) > 0.9


@pytest.mark.parametrize(("n_blocks", "apart"), [(5, 0.8), (10, 0.3), (20, 0.2)])
def test_a_run_far_off_is_found(n_blocks: int, apart: float) -> None:
    series = clean(n_blocks)
    series[2] += apart
    found = outliers(series)
    assert found.is_outlier[2].mean() > 0.8
    assert found.is_outlier.any(axis=0).mean() < found.is_outlier[2].mean() + 0.05
