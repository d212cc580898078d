"""Programs whose messages are not all known, or may all be hidden: what is said of them is not too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.curves import Wire, curves_campaign
from support.profiled import Truth, profiled_campaign
from tare.analysis.predictions.collective_steps import base_name, has_unknown_steps, may_be_hidden, steps
from tare.analysis.predictions.prediction import predictions
from tare.analysis.predictions.tolerance import tolerances
from tare.core.campaign import Campaign
from tare.report.words.network_need import prediction_sentence, tolerance_sentence
from tare.terminal.output import plain

_HOST, _OVERLAY = Wire(10e-6, 1e9), Wire(60e-6, 2e8)
_CURVES = {"host": _HOST, "near": Wire(10.1e-6, 1e9), "overlay": _OVERLAY}
_REST = {("computation", 0): 8.0, ("files", 0): 0.1}


def _program(folder: Path, truth: Truth) -> Campaign:
    return profiled_campaign(folder, {**_REST, **truth}, {**_REST, **truth}, blocks=5)


@pytest.mark.parametrize("function", ["MPI_Iallreduce", "MPI_Allreduce_init", "MPI_Irecv", "MPI_Recv_init"])
def test_what_is_started_and_waited_for_may_be_hidden(tmp_path: Path, function: str) -> None:
    """A million messages that computation hides cost nothing on any network."""
    campaign = _program(tmp_path, {(function, 8): 1e-6})
    (tolerance,) = tolerances(campaign)
    assert tolerance.hidden == tolerance.messages > 0
    assert tolerance.limits[1].latency_s is not None
    assert tolerance.limits[1].latency_s.high is None
    for found in predictions(campaign, curves_campaign(_CURVES)):
        assert found.difference_s is not None
        assert found.difference_s.value == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("function", ["MPI_Neighbor_alltoall", "MPI_Get", "MPI_Put"])
def test_a_network_is_not_good_enough_for_messages_that_are_not_counted(
    tmp_path: Path, function: str
) -> None:
    campaign = _program(tmp_path, {("MPI_Allreduce", 8): 0.001, (function, 4096): 2.0})
    (found,) = tolerances(campaign, curves_campaign(_CURVES))
    assert found.uncounted == (function,)
    text = plain(tolerance_sentence(found))
    assert f"without messages of {function}, which are not counted" in text
    assert "good enough" not in text.replace("not good enough", "")


def test_without_them_the_same_network_is_good_enough(tmp_path: Path) -> None:
    (found,) = tolerances(_program(tmp_path, {("MPI_Allreduce", 8): 0.1}), curves_campaign(_CURVES))
    text = plain(tolerance_sentence(found))
    assert "not counted" not in text
    assert "near" in text.partition(" is good enough")[0]


def test_predictions_name_calls_whose_messages_are_not_known(tmp_path: Path) -> None:
    campaign = _program(tmp_path, {("MPI_Allreduce", 8): 0.1, ("MPI_Neighbor_alltoall", 4096): 2.0})
    for found in predictions(campaign, curves_campaign(_CURVES)):
        assert found.uncovered_s["MPI_Neighbor_alltoall"] == pytest.approx(2.0, rel=0.05)
        assert "no curve covers MPI_Neighbor_alltoall, in which it spent " in plain(
            prediction_sentence(found)
        )


def test_a_program_of_such_calls_alone_has_neither_prediction_nor_tolerance(tmp_path: Path) -> None:
    campaign = _program(tmp_path, {("MPI_Put", 4096): 2.0})
    for prediction in predictions(campaign, curves_campaign(_CURVES)):
        assert prediction.refusal == "no curve covers MPI_Put"
    (tolerance,) = tolerances(campaign)
    assert tolerance.refusal == "how many messages follow one another in MPI_Put is not known"


def test_runs_without_a_message_have_no_tolerance(tmp_path: Path) -> None:
    (found,) = tolerances(_program(tmp_path, {("MPI_Send", 4096): 2.0}))
    assert found.refusal == "none of its messages is known to cross the network"


def test_persistent_operations_have_the_steps_of_the_others() -> None:
    assert base_name("MPI_Alltoallv_init") == "Alltoall"
    assert steps("MPI_Allreduce_init", 8, 4) == steps("MPI_Allreduce", 8, 4) == steps("MPI_Iallreduce", 8, 4)
    assert steps("MPI_Recv_init", 8, 4) == steps("MPI_Recv", 8, 4)


def test_calls_that_send_nothing_have_no_unknown_steps() -> None:
    for function in ("MPI_Send", "MPI_Isend", "MPI_Waitall", "MPI_Win_free", "MPI_Comm_dup", "MPI_Iprobe"):
        assert not has_unknown_steps(function)
        assert not may_be_hidden(function)


def test_two_runs_say_nothing_of_how_much_latency_a_program_stands(tmp_path: Path) -> None:
    truth = {**_REST, ("MPI_Allreduce", 8): 0.1}
    (found,) = tolerances(profiled_campaign(tmp_path, truth, truth, blocks=2), curves_campaign(_CURVES))
    text = plain(tolerance_sentence(found))
    assert text.endswith("how much latency it stands is not known, because it has fewer than 3 profiled runs")


def test_no_network_is_good_enough_on_which_the_program_was_measured_to_be_slower(tmp_path: Path) -> None:
    """The overlay's messages are as fast, and its packets cost the cores a tenth of the time."""
    truth = {**_REST, ("MPI_Allreduce", 8): 0.1}
    slower = {**truth, ("computation", 0): 8.8}
    curves = curves_campaign({"host": _HOST, "overlay": Wire(10.1e-6, 1e9)})
    (found,) = tolerances(profiled_campaign(tmp_path / "slower", truth, slower), curves)
    text = plain(tolerance_sentence(found))
    assert "measured " in text
    assert text.endswith("longer) is not good enough")
    (found,) = tolerances(profiled_campaign(tmp_path / "same", truth, truth), curves)
    assert plain(tolerance_sentence(found)).endswith("is good enough")
