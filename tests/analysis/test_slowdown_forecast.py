"""What a network of known latency or bandwidth is predicted to cost a program whose truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.curves import Wire, curves_campaign, joined
from support.profiled import Truth, profiled_campaign
from tare.analysis.causes.attribution import attributions
from tare.analysis.predictions.slowdown_forecast import with_bandwidth, with_latency
from tare.analysis.predictions.tolerance import narrowing, tolerances
from tare.core.campaign import Campaign

_HOST = Wire(10e-6, 1e9)
_CALLS, _BYTES = 10_000, 1 << 16


def _truth(wire: Wire) -> Truth:
    return {
        ("computation", 0): 8.0,
        ("MPI_Allreduce", 8): _CALLS * 2 * wire.seconds(8),
        ("MPI_Recv", _BYTES): _CALLS * wire.seconds(_BYTES),
        ("files", 0): 0.1,
    }


def _program(folder: Path, other: Wire, *, seed: int = 1, noise: float = 0.01) -> Campaign:
    both = (_truth(_HOST), _truth(other))
    program = profiled_campaign(folder, *both, blocks=4, seed=seed, noise=noise)
    return joined(program, curves_campaign({"host": _HOST}))


@pytest.mark.parametrize("added_s", [20e-6, 50e-6, 100e-6, 400e-6])
def test_added_latency_is_predicted_with_the_true_slowdown_inside(tmp_path: Path, added_s: float) -> None:
    slower = Wire(_HOST.latency_s + added_s, _HOST.bytes_per_s)
    campaign = _program(tmp_path, slower)
    (found,) = tolerances(campaign)
    predicted = with_latency(campaign, found, added_s)
    true = sum(_truth(slower).values()) / sum(_truth(_HOST).values())
    assert predicted.value == pytest.approx(true, rel=0.02)
    assert predicted.low is not None
    assert predicted.high is not None
    assert predicted.low < true < predicted.high


def test_a_narrow_network_is_between_its_bytes_alone_and_its_bytes_after_the_computation(
    tmp_path: Path,
) -> None:
    campaign = _program(tmp_path, _HOST)
    (found,) = tolerances(campaign)
    assert found.link_bytes_per_s is not None
    rate = 40e6
    most, least = narrowing(found, found.link_bytes_per_s, rate)
    assert most == pytest.approx(found.n_bytes * (1 / rate - 1 / found.link_bytes_per_s) / found.wall_s)
    assert least == pytest.approx(found.n_bytes / rate / found.wall_s - 1)
    predicted = with_bandwidth(campaign, found, rate)
    assert predicted is not None
    assert predicted.low is not None
    assert predicted.high is not None
    assert predicted.low < 1 + least < 1 + most < predicted.high


def test_a_rate_that_the_program_does_not_reach_may_cost_nothing(tmp_path: Path) -> None:
    campaign = _program(tmp_path, _HOST)
    (found,) = tolerances(campaign)
    rate = 3 * found.n_bytes / found.wall_s
    predicted = with_bandwidth(campaign, found, rate)
    assert predicted is not None
    assert predicted.low is not None
    assert predicted.low < 1 < predicted.value


def test_of_many_campaigns_the_measured_slowdown_is_inside_in_about_nine_of_ten(tmp_path: Path) -> None:
    added_s, n_inside, n = 50e-6, 0, 40
    for seed in range(n):
        slower = Wire(_HOST.latency_s + added_s, _HOST.bytes_per_s)
        campaign = _program(tmp_path / str(seed), slower, seed=seed, noise=0.05)
        (found,) = tolerances(campaign)
        predicted = with_latency(campaign, found, added_s)
        measured = _measured(campaign)
        n_inside += (predicted.low or 0) <= measured <= (predicted.high or 0)
    assert 0.80 <= n_inside / n <= 0.97


def _measured(campaign: Campaign) -> float:
    (found,) = attributions(campaign)
    assert found.ratio is not None
    return found.ratio.value
