"""Receives that wait for two messages, one after the other: predictions and tolerances hold them."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from support.curves import Wire, curves_campaign
from support.profiled import Truth, profiled_campaign
from tare.analysis.predictions.message_chains import chained_messages, chained_share
from tare.analysis.predictions.network_costs import NetworkCosts
from tare.analysis.predictions.prediction import predictions
from tare.analysis.predictions.profiled_programs import profiled_programs
from tare.analysis.predictions.tolerance import tolerances
from tare.core.campaign import Campaign
from tare.core.interval import Bounded
from tare.report.words.network_need import tolerance_sentence

_CALLS = 10_000
_HOST, _OVERLAY = Wire(20e-6, 1e9), Wire(220e-6, 1e9)
_CURVES = {"host": _HOST, "overlay": _OVERLAY}


def _truth(wire: Wire, messages: float, *, sends: bool) -> Truth:
    """Return what a program takes whose receives wait for so many messages of 8 bytes each."""
    sent: Truth = {("MPI_Send", 8): 1e-3} if sends else {}
    waited = {("MPI_Recv", 8): _CALLS * messages * wire.seconds(8)}
    return {("computation", 0): 4.0, ("files", 0): 0.1, **waited, **sent}


def _program(folder: Path, messages: float, *, sends: bool = True) -> Campaign:
    sides = (_truth(wire, messages, sends=sends) for wire in (_HOST, _OVERLAY))
    return profiled_campaign(folder, *sides, blocks=5, noise=0.003)


def _ratio(campaign: Campaign) -> tuple[Bounded, Bounded, bool | None]:
    (found,) = predictions(campaign, curves_campaign(_CURVES))
    assert found.ratio is not None
    assert found.measured_ratio is not None
    return found.ratio, found.measured_ratio, found.is_inside


def test_a_ping_pong_is_inside_its_interval(tmp_path: Path) -> None:
    """Its receives wait for its own message and for the answer; by the curves, each is one message."""
    ratio, measured, is_inside = _ratio(_program(tmp_path, 2))
    assert ratio.high is not None
    assert ratio.value < 1.5 < measured.value <= ratio.high
    assert is_inside


def test_an_exchange_has_no_wider_interval_than_receives_alone(tmp_path: Path) -> None:
    ratio, _, is_inside = _ratio(_program(tmp_path / "both", 1))
    alone, _, _ = _ratio(_program(tmp_path / "alone", 1, sends=False))
    assert ratio.high is not None
    assert alone.high is not None
    assert ratio.high == pytest.approx(alone.high, rel=0.02)
    assert is_inside


def test_there_are_no_more_messages_to_wait_for_than_blocking_sends() -> None:
    """Receives that took five times as long as a message: some rank was late, too."""
    assert chained_share("MPI_Recv", 5.0, 1.0, 0.25) == 0.25
    assert chained_share("MPI_Recv", 0.5, 1.0, 1.0) == 0.0
    assert chained_share("MPI_Irecv", 5.0, 1.0, 1.0) == 0.0
    assert chained_share("MPI_Allreduce", 5.0, 1.0, 1.0) == 0.0


@pytest.mark.filterwarnings("error")
def test_a_curve_without_a_time_says_nothing_of_chains(tmp_path: Path) -> None:
    """Every run of the curves failed at the sizes that the program sends."""
    curves = curves_campaign(_CURVES)
    attempts = []
    for one in curves.attempts:
        series = [msgspec.structs.replace(each, values=[math.nan] * len(each.values)) for each in one.series]
        attempts.append(msgspec.structs.replace(one, series=series))
    nothing = msgspec.structs.replace(curves, attempts=tuple(attempts))
    campaign = _program(tmp_path, 2)
    (program,) = profiled_programs(campaign)
    assert chained_messages(program.runs[0].profile, NetworkCosts(nothing), ("bare", "host")) == 0


def test_a_ping_pong_stands_half_of_what_its_receives_say(tmp_path: Path) -> None:
    (chained,) = tolerances(_program(tmp_path / "chain", 2), curves_campaign(_CURVES))
    (alone,) = tolerances(_program(tmp_path / "alone", 2, sends=False), curves_campaign(_CURVES))
    assert chained.chained == pytest.approx(_CALLS, rel=0.02)
    assert alone.chained == 0
    lows = [one.limits[1].latency_s for one in (chained, alone)]
    assert lows[0] is not None
    assert lows[1] is not None
    assert lows[0].low is not None
    assert lows[1].low is not None
    assert lows[0].low == pytest.approx(lows[1].low / 2, rel=0.05)
    assert "receives may wait for several messages, one after the other" in tolerance_sentence(chained)
    assert "one after the other" not in tolerance_sentence(alone)
