"""Speedup, efficiency and what deserves a name."""

from __future__ import annotations

import numpy as np
import pytest

from tare.core.interval import Bounded
from tare.core.scaling import Remark, ScalingResult
from tare.stats.intervals import Floats
from tare.stats.ratios import Design
from tare.stats.scaling import bounded, claims, lasting, remarks, scaled
from truth.noise import NOISES, autocorrelated

SCALES = (1, 2, 4, 8)
NAN = float("nan")


def test_speedup_efficiency_and_gain_by_hand() -> None:
    throughput = 1 / np.array([[100.0, 50.0, 40.0, 80.0]])
    found = scaled(throughput, SCALES, 0)
    np.testing.assert_allclose(found.speedup.ratio, [1, 2, 2.5, 1.25])
    np.testing.assert_allclose(found.speedup.ratio * found.share, [1, 1, 0.625, 0.15625])
    np.testing.assert_allclose(found.gain.ratio, [NAN, 2, 1.25, 0.5])


def test_a_single_run_has_no_interval() -> None:
    found = scaled(np.array([[1.0, 2.0]]), (1, 2), 0)
    assert bounded(found.speedup, 1) == Bounded(2.0, None, None)


def test_what_slows_a_whole_block_does_not_widen_a_speedup() -> None:
    slow = np.array([[1.0], [0.5], [2.0], [0.7]])
    found = scaled(slow * np.array([[1.0, 1.9, 3.5, 6.0]]), SCALES, 0)
    np.testing.assert_allclose(found.speedup.low, [1, 1.9, 3.5, 6.0])
    np.testing.assert_allclose(found.speedup.high, [1, 1.9, 3.5, 6.0])


def test_a_missing_scale_stays_missing_and_the_gain_is_over_the_measured_scale_before() -> None:
    throughput = np.array([[1.0, 2.0, NAN, 3.0]] * 3)
    found = scaled(throughput, SCALES, 0)
    assert bounded(found.speedup, 2) is None
    assert bounded(found.gain, 2) is None
    np.testing.assert_allclose([found.gain.ratio[3], found.gain.low[3], found.gain.high[3]], 1.5)


def test_without_a_reference_scale_there_is_no_speedup_but_a_gain() -> None:
    found = scaled(np.array([[1.0, 2.0]] * 3), (2, 4), None)
    assert bounded(found.speedup, 1) is None
    assert bounded(found.gain, 1) is not None


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        (Bounded(0.9, 0.85, 0.95), (Remark(ScalingResult.NEGATIVE, is_certain=True),)),
        (Bounded(0.9, 0.75, 1.05), ()),
        (Bounded(0.9), (Remark(ScalingResult.NEGATIVE, is_certain=False),)),
        (Bounded(1.1), ()),
        (None, ()),
    ],
)
def test_scaling_is_negative_where_the_whole_interval_is(
    gain: Bounded | None, expected: tuple[Remark, ...]
) -> None:
    assert remarks(gain, None) == expected


def test_an_efficiency_is_super_linear_only_when_its_interval_lies_above_one() -> None:
    assert remarks(None, Bounded(1.1, 1.02, 1.2)) == (Remark(ScalingResult.SUPER_LINEAR, is_certain=True),)
    assert remarks(None, Bounded(1.1, 0.98, 1.2)) == ()


def test_an_efficiency_lasts_until_it_first_falls_below_the_floor() -> None:
    efficiencies = [
        Bounded(1.0, 1.0, 1.0),
        Bounded(0.8, 0.65, 0.95),
        Bounded(0.6, 0.5, 0.7),
        Bounded(0.75, 0.72, 0.78),
    ]
    found = lasting(0.7, SCALES, efficiencies)
    assert found is not None
    assert (found.scale, found.certain_scale) == (2, 1)


def test_an_efficiency_passes_over_what_was_not_measured() -> None:
    found = lasting(0.5, SCALES, [Bounded(1.0), None, Bounded(0.6), None])
    assert found is not None
    assert (found.scale, found.certain_scale) == (4, None)


@pytest.mark.slow
def test_the_interval_of_an_efficiency_contains_the_true_value_in_95_of_100_studies() -> None:
    random = np.random.default_rng(5)
    n_studies, truth = 2000, 0.8
    drift = random.lognormal(0, 0.2, (5, 1, n_studies))
    runs = np.array([1.0, 2 * truth])[:, np.newaxis] * drift * random.lognormal(0, 0.03, (5, 2, n_studies))
    inside = 0
    for study in range(n_studies):
        values: Floats = runs[:, :, study]
        one = bounded(scaled(values, (1, 2), 0).speedup, 1, 0.5)
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        inside += one.low <= truth <= one.high
    assert 0.93 <= inside / n_studies <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n_blocks", [5, 10])
@pytest.mark.parametrize("name", ["log-normal", "t3", "one in ten slow"])
def test_a_curve_that_is_neither_reports_negative_or_super_linear_in_at_most_five_of_a_hundred(
    name: str, n_blocks: int
) -> None:
    scales, n_curves = (1, 2, 4, 8, 16, 32, 64), 400
    noise = NOISES[name](np.random.default_rng(n_blocks), (n_blocks, len(scales), n_curves))
    is_beyond = np.array(scales) > 1
    n_said = {"flat": 0, "linear": 0}
    for curve in range(n_curves):
        for shape, truth in (("flat", np.ones(len(scales))), ("linear", np.array(scales))):
            grown = scaled(truth * noise[:, :, curve], scales, 0)
            told = claims(grown, is_beyond)
            n_said[shape] += any(
                remarks(
                    bounded(grown.gain, column),
                    bounded(grown.speedup, column, grown.share[column]) if is_beyond[column] else None,
                    can_be_negative=told.gain[column],
                    can_be_super_linear=told.efficiency[column],
                )
                for column in range(len(scales))
            )
    assert max(n_said.values()) / n_curves <= 0.05 + 2 * (0.05 * 0.95 / n_curves) ** 0.5


def test_efficiencies_of_blocks_that_resemble_the_one_before_contain_the_true_value() -> None:
    runs = autocorrelated()(np.random.default_rng(1), (20, 300))
    missed = 0
    for curve in range(300):
        noise = np.column_stack([np.ones(20), runs[:, curve]])
        one = bounded(scaled(noise * (1.0, 2.0), (1, 2), 0).speedup, 1, 0.5)
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        missed += not one.low <= 1 <= one.high
    assert missed / 300 < 0.15  # more than a third without the allowance


@pytest.mark.parametrize("seed", range(3))
def test_a_claim_of_an_efficiency_is_about_the_efficiency_where_a_time_was_zero(seed: int) -> None:
    """All scale ideally, so that speedups surely differ from 1 and efficiencies do not."""
    noise = np.random.default_rng(seed).lognormal(0, 0.1, (12, 4))
    times = noise / np.array(SCALES)
    times[3, 2] = 0.0
    with np.errstate(divide="ignore"):
        found = scaled(1 / times, SCALES, 0)
    assert found.speedup.design[2] == Design.ARITHMETIC
    assert not claims(found, np.array([False, True, True, True])).efficiency.any()
