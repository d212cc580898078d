"""Hockney's line, crossings and plateaus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from tare.stats.crossings import crossings, plateau
from tare.stats.hockney import Hockney, _lines, fit_hockney
from tare.stats.intervals import Floats

SIZES = [float(4**power) for power in range(11)]
M = np.array(SIZES)


def noisy(truth: Floats, seed: int, noise: float = 0.02, drift: float = 0.1, n_blocks: int = 5) -> Floats:
    random = np.random.default_rng(seed)
    found: Floats = (
        truth * random.lognormal(0, drift, (n_blocks, 1)) * random.lognormal(0, noise, (n_blocks, len(truth)))
    )
    return found


@given(latency=st.floats(0.1, 1e3), bandwidth=st.floats(1, 1e5))
def test_the_line_recovers_latency_and_bandwidth(latency: float, bandwidth: float) -> None:
    sizes = np.array([0.0, 1, 64, 4096, 65536, 4194304])
    found = fit_hockney(sizes.tolist(), (latency + sizes / bandwidth)[np.newaxis])
    assert isinstance(found, Hockney)
    assert found.latency.value == pytest.approx(latency, rel=1e-6)
    assert found.bandwidth.value == pytest.approx(bandwidth, rel=1e-6)
    assert found.half_size.value == pytest.approx(latency * bandwidth, rel=1e-6)
    assert found.latency.low is None


def test_small_messages_count_as_much_as_large_ones() -> None:
    times = 2 + M / 1000
    times[-1] *= 1.5
    found = fit_hockney(SIZES, times[np.newaxis])
    assert isinstance(found, Hockney)
    assert found.latency.value == pytest.approx(2, rel=0.05)


def test_the_line_is_refused_with_a_reason() -> None:
    assert (
        fit_hockney(SIZES[:2], np.ones((1, 2)))
        == "2 sizes were measured in every block; the line takes 3 or more"
    )
    assert fit_hockney(SIZES[:4], np.array([[4.0, 3, 2, 1]])) == "the time does not grow with the size"
    assert (
        fit_hockney([], np.empty((0, 0))) == "0 sizes were measured in every block; the line takes 3 or more"
    )


def test_a_change_of_protocol_shows_in_the_misfit() -> None:
    times = np.where(M < 10_000, 2 + M / 1000, 20 + M / 1000)
    found = fit_hockney(SIZES, times[np.newaxis])
    assert isinstance(found, Hockney)
    assert found.misfit > 0.2


def test_the_intervals_of_the_line_hold_the_truth() -> None:
    found = [fit_hockney(SIZES, noisy(2 + M / 1000, seed)) for seed in range(300)]
    fits = [one for one in found if isinstance(one, Hockney)]
    # A block as a whole is off by a factor whose median is 1, so that the truth of both is 2 and 1000.
    for name, truth in (("latency", 2.0), ("bandwidth", 1000.0), ("half_size", 2000.0)):
        inside = [one.low <= truth <= one.high for fit in fits for one in [getattr(fit, name)]]
        assert 0.91 <= np.mean(inside) <= 0.985, name


def test_two_lines_cross_where_they_are_equal() -> None:
    one, other = 1 + M / 100, 5 + M / 1000  # equal at 4/(1/100 − 1/1000) = 444.4
    (found,) = crossings(SIZES, one[np.newaxis].repeat(3, 0), other[np.newaxis].repeat(3, 0))
    assert found.x.value == pytest.approx(444.4, rel=0.1)
    assert not found.is_rising
    assert found.is_certain


def test_noise_about_equality_makes_no_crossing() -> None:
    one = 5 + M / 1000
    n_false = sum(
        bool(crossings(SIZES, noisy(one, seed, drift=0), noisy(one, seed + 1000, drift=0)))
        for seed in range(300)
    )
    assert n_false <= 3


def test_a_crossing_is_never_interpolated_from_one_side_only() -> None:
    one = np.array([[1.0, 1.0, 1.0]] * 4)
    assert crossings([1, 2, 4], one, 2 * one) == []
    assert crossings([1, 2, 4], one, np.full((4, 3), np.nan)) == []


def test_without_three_blocks_a_crossing_has_no_interval() -> None:
    (found,) = crossings([1, 4], np.array([[1.0, 1.0]]), np.array([[0.5, 2.0]]))
    assert found.x.value == pytest.approx(2)
    assert (found.x.low, found.x.high, found.is_certain, found.is_rising) == (None, None, False, True)


def test_the_interval_of_a_crossing_holds_the_truth() -> None:
    xs = np.array([1.0, 2, 4, 8, 16, 32, 64])
    truth = 10.0
    inside = []
    for seed in range(400):
        one = np.ones(len(xs))
        found = crossings(
            xs.tolist(), np.ones((5, len(xs))), noisy(one * (xs / truth) ** 0.2, seed, drift=0.02)
        )
        for crossing in found:
            assert crossing.x.low is not None
            assert crossing.x.high is not None
            inside.append(crossing.x.low <= truth <= crossing.x.high)
    assert len(inside) > 350
    assert 0.92 <= np.mean(inside) <= 0.985


def test_a_plateau_is_reached_where_a_point_comes_within_the_margin() -> None:
    bandwidth = np.array([[10.0, 19.0, 29.0, 30.0, 29.5]] * 3)
    found = plateau(bandwidth, 0.05)
    assert found is not None
    assert (found.first, found.first_certain, found.best) == (2, 2, 3)


def test_a_noisy_point_is_near_the_best_and_not_surely() -> None:
    bandwidth = np.array([[26.0, 30.0], [31.0, 30.0], [29.0, 30.0]])
    found = plateau(bandwidth, 0.05)
    assert found is not None
    assert (found.first, found.first_certain) == (0, None)


def test_what_was_not_measured_has_no_plateau() -> None:
    assert plateau(np.full((3, 4), np.nan), 0.05) is None


@given(st.integers(0, 2**32 - 1))
def test_the_line_is_the_one_that_non_negative_least_squares_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = np.sort(2.0 ** random.uniform(0, 26, random.integers(3, 30)))
    times = 10 ** random.uniform(-3, 3) + sizes * 10 ** random.uniform(-6, 1)
    rows = times * np.exp(random.normal(0, random.choice([0.001, 0.3, 2.0]), (3, len(sizes))))
    for row, (latency, slope) in zip(rows, _lines(sizes, rows), strict=True):
        scale = sizes.max()
        best, _ = nnls(np.column_stack([1 / row, sizes / scale / row]), np.ones(len(row)))
        miss = np.square((latency + sizes * slope) / row - 1).sum()
        assert latency >= 0 <= slope
        assert miss == pytest.approx(np.square((best[0] + sizes / scale * best[1]) / row - 1).sum(), rel=1e-8)
