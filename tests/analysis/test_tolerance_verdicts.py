"""Which networks are good enough for a program, and which not: what is not sure makes no verdict."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.curves import Wire, curves_campaign
from support.profiled import Truth, profiled_campaign
from tare.analysis.predictions.slowdown_forecast import with_latency
from tare.analysis.predictions.tolerance import tolerances
from tare.core.interval import Bounded
from tare.core.prediction import Prediction, Tolerance
from tare.report.words.network_need import prediction_sentence, tolerance_sentence
from tare.terminal.output import plain

_HOST = Wire(10e-6, 1e9)
_REST: Truth = {("computation", 0): 8.0, ("files", 0): 0.1}
_CALLS = 10_000


def _found(folder: Path, truth: Truth, other: Wire) -> Tolerance:
    campaign = profiled_campaign(folder, {**_REST, **truth}, {**_REST, **truth}, blocks=5)
    measured_nowhere = msgspec.structs.replace(
        campaign,
        attempts=tuple(
            one for one in campaign.attempts if campaign.plan.is_reference(campaign.cases[one.case])
        ),
    )
    (found,) = tolerances(measured_nowhere, curves_campaign({"host": _HOST, "other": other}))
    return found


def _verdict(found: Tolerance) -> str:
    return plain(tolerance_sentence(found)).rpartition(") is ")[2]


def test_bytes_that_may_pass_while_ranks_compute_make_no_network_bad(tmp_path: Path) -> None:
    """They take 6.6 s of 8.2 at a fifth of the rate; they may come before they are waited for."""
    narrow = Wire(_HOST.latency_s, 2e8)
    found = _found(tmp_path / "some", {("MPI_Recv", 1 << 16): 0.1}, narrow)
    assert found.networks[0].slowdown.value > 0.5
    assert _verdict(found) == "undecided"
    found = _found(tmp_path / "more", {("MPI_Recv", 1 << 16): 0.1}, Wire(_HOST.latency_s, 5e7))
    assert _verdict(found) == "not good enough", "the link takes longer than the run"


def test_what_more_bandwidth_saves_makes_up_for_no_latency(tmp_path: Path) -> None:
    found = _found(tmp_path, {("MPI_Recv", 1 << 16): 1.0}, Wire(_HOST.latency_s + 50e-6, 1e11))
    assert found.networks[0].slowdown.value < 0
    assert _verdict(found) == "undecided"


def test_a_network_on_which_the_program_was_measured_not_to_be_slower_is_not_bad(tmp_path: Path) -> None:
    found = _found(tmp_path, {("MPI_Allreduce", 8): 1.0}, Wire(1e-3, 1e9))
    assert _verdict(found) == "not good enough"
    (network,) = found.networks
    measured = msgspec.structs.replace(network, measured=Bounded(1.01, 1.0, 1.02))
    text = plain(tolerance_sentence(msgspec.structs.replace(found, networks=(measured,))))
    assert text.endswith("is undecided")


def test_large_messages_may_take_three_latencies(tmp_path: Path) -> None:
    truth = {**_REST, ("MPI_Recv", 1 << 20): 1.0}
    campaign = profiled_campaign(tmp_path, truth, truth, blocks=5)
    (found,) = tolerances(campaign)
    assert found.announced == found.messages == _CALLS
    latency = found.limits[1].latency_s
    assert latency is not None
    assert latency.low == pytest.approx(latency.value / 3, rel=0.05)
    text = plain(tolerance_sentence(found))
    assert "(messages of more than 64 KiB may take three latencies)" in text
    added_s = 20e-6
    predicted = with_latency(campaign, found, added_s)
    assert predicted.high is not None
    assert predicted.high > 1 + 3 * _CALLS * added_s / found.wall_s


def test_small_messages_take_one(tmp_path: Path) -> None:
    truth = {**_REST, ("MPI_Recv", 1 << 16): 1.0}
    (found,) = tolerances(profiled_campaign(tmp_path, truth, truth, blocks=5))
    assert found.announced == 0
    assert "three latencies" not in plain(tolerance_sentence(found))


def test_sides_of_one_network_are_named_by_their_platforms(tmp_path: Path) -> None:
    found = _found(tmp_path, {("MPI_Allreduce", 8): 1.0}, _HOST)
    (network,) = found.networks
    boxed = msgspec.structs.replace(network, platform="podman", network="host")
    text = plain(tolerance_sentence(msgspec.structs.replace(found, networks=(boxed,))))
    assert "host (podman, " in text
    predicted = Prediction(
        workload="lj",
        case="a",
        reference="host",
        contender="host",
        reference_platform="bare",
        contender_platform="podman",
        ratio=Bounded(1.2, 1.15, 1.22),
    )
    text = plain(prediction_sentence(predicted))
    assert text.startswith(
        "lj on host (podman) is predicted to take 20 % [15, 22] longer than on host (bare)"
    )
