"""What blocks can find, against scipy, statsmodels and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import nctdtr
from statsmodels.stats.power import TTestPower

from tare.stats.intervals import Floats
from tare.stats.power import Levels, detectable_effects, more_blocks, power_of_t
from tare.stats.ratios import Ratios, ratios, separate_unpaired


def with_logs(*logs: float) -> Ratios:
    return ratios(np.ones((len(logs), 1)), np.exp(np.array(logs))[:, np.newaxis])


def scattered(centre: float, scatter: float, n_blocks: int) -> Ratios:
    """Return a column whose log ratios have just this mean and this standard deviation."""
    raw = np.arange(n_blocks) - (n_blocks - 1) / 2
    return with_logs(*(centre + scatter * raw / raw.std(ddof=1)))


@pytest.mark.parametrize("freedom", [2.0, 3.0, 4.0, 9.0, 40.0, 400.0])
@pytest.mark.parametrize("noncentrality", [0.0, 0.7, 2.9, 5.0])
def test_the_power_of_t_is_scipys(freedom: float, noncentrality: float) -> None:
    critical = float(stats.t.isf(0.025, freedom))
    theirs = 1 - nctdtr(freedom, noncentrality, critical) + nctdtr(freedom, noncentrality, -critical)
    assert power_of_t(freedom, noncentrality, critical) == pytest.approx(theirs, rel=1e-9)


def test_the_power_at_far_quantiles_is_that_of_simulation() -> None:
    source = np.random.default_rng(1)
    t = (source.normal(20, 1, 200_000)) / np.sqrt(source.chisquare(4, 200_000) / 4)
    critical = float(stats.t.isf(0.05 / 2000 / 2, 4))
    assert power_of_t(4.0, 20.0, critical) == pytest.approx((np.abs(t) > critical).mean(), abs=0.005)


@pytest.mark.parametrize("n_blocks", [3, 5, 10, 30])
def test_the_detectable_effect_is_that_of_statsmodels(n_blocks: int) -> None:
    found = scattered(0.02, 0.03, n_blocks)
    size = TTestPower().solve_power(nobs=n_blocks, alpha=0.05, power=0.8)  # in standard deviations
    assert detectable_effects(found, 0.05)[0] == pytest.approx(math.expm1(size * 0.03), rel=1e-6)


def test_a_detectable_effect_is_found_in_eighty_of_a_hundred_studies() -> None:
    n_blocks, scatter = 6, 0.02
    effect = detectable_effects(scattered(0, scatter, n_blocks), 0.05)[0]
    noise = np.random.default_rng(2).normal(0, scatter, (n_blocks, 20_000))
    found = ratios(np.ones_like(noise), np.exp(noise) * (1 + effect))
    assert (found.low > 1).mean() == pytest.approx(0.8, abs=0.01)


def decides(centre: float, scatter: float, n_blocks: int, margin: float, level: float) -> bool:
    found = scattered(centre, scatter, n_blocks)
    half = stats.t.isf(level / 2, n_blocks - 1) * found.error[0]
    wide = stats.t.isf(min(0.025, level), n_blocks - 1) * found.error[0]
    return bool(half < abs(centre) or abs(centre) + wide < math.log1p(margin))


@pytest.mark.parametrize("level", [0.05, 0.05 / 24])
@pytest.mark.parametrize("centre", [0.0, 0.005, 0.03, -0.05])
@pytest.mark.parametrize("n_blocks", [3, 5, 7])
def test_so_many_more_blocks_decide_and_one_less_does_not(n_blocks: int, centre: float, level: float) -> None:
    scatter = 0.06
    more = more_blocks(scattered(centre, scatter, n_blocks), 0.02, Levels(level, level), 0.95)[0]
    assert decides(centre, scatter, n_blocks + int(more), 0.02, level)
    assert not decides(centre, scatter, n_blocks + int(more) - 1, 0.02, level)


def test_few_blocks_need_fewer_more_than_the_root_of_n_predicts() -> None:
    # ± 0.149 at 3 blocks must become ± 0.1: the root says 4 more, but t falls from 4.30 to 3.18 with one
    found = scattered(0.1, 0.06, 3)
    assert more_blocks(found, 0.001, Levels(0.05, 0.05), 0.95)[0] == 1


def test_what_no_sensible_number_of_blocks_decides_has_none() -> None:
    assert np.isnan(more_blocks(scattered(math.log(1.02), 2.0, 5), 0.02, Levels(0.05, 0.05), 0.95)[0])
    assert np.isnan(more_blocks(with_logs(0.1, 0.2), 0.02, Levels(0.05, 0.05), 0.95)[0])


def test_broken_degrees_of_freedom_are_rounded_down() -> None:
    sides: tuple[Floats, Floats] = (
        np.random.default_rng(1).lognormal(0, 0.1, (5, 1)),
        np.random.default_rng(2).lognormal(0, 0.2, (5, 1)),
    )
    found = ratios(*separate_unpaired(*sides, np.zeros(1, np.bool_)))
    assert not found.freedom[0].is_integer()
    critical = float(stats.t.isf(0.025, np.floor(found.freedom[0])))
    noncentrality = math.log1p(detectable_effects(found, 0.05)[0]) / found.error[0]
    assert power_of_t(float(np.floor(found.freedom[0])), noncentrality, critical) == pytest.approx(0.8)
