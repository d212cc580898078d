"""What is predicted of programs whose short bursts fit into the token bucket of a shaped link."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.curves import Wire, curves_campaign
from support.profiled import Truth, profiled_campaign
from tare.analysis.predictions.prediction import predictions
from tare.core.bounds import Link
from tare.core.campaign import Campaign
from tare.core.prediction import Prediction
from tare.report.words.network_need import prediction_sentence
from tare.terminal.output import plain

_HOST = Wire(10e-6, 1e9)
_STEPS, _BYTES, _COMPUTED_S = 10_000, 1 << 16, 8.0
_BURST = 256 << 10


def _waited_s(rate: float, burst: int, n_bytes: int = 2 * _BYTES) -> float:
    """Return how long a program waits for a token bucket that starts full, in all of its steps.

    In each step both ranks of a node compute, and then their bytes pass together.
    """
    tokens, waited = float(burst), 0.0
    for _ in range(_STEPS):
        tokens = min(burst, tokens + rate * _COMPUTED_S / _STEPS)
        missing = max(0.0, n_bytes - tokens)
        waited += missing / rate
        tokens = max(0.0, tokens - n_bytes)
    return waited


def _predicted(folder: Path, rate: float, *, burst: int | None) -> Prediction:
    """Return what curves of long streams predict of a program that sends bursts."""
    message_s = _HOST.seconds(_BYTES)
    received = ("MPI_Recv", _BYTES)
    host: Truth = {("computation", 0): _COMPUTED_S, received: _STEPS * message_s, ("files", 0): 0.1}
    more = _waited_s(rate, burst or 0)
    slow = {**host, received: _STEPS * message_s + more}
    program = profiled_campaign(folder, host, slow, blocks=5, noise=0.005)
    curves = curves_campaign({"host": _HOST, "overlay": Wire(_HOST.latency_s, rate / 2)})  # two ranks a node
    (found,) = predictions(program, _shaped(curves, rate, burst))
    return found


def _shaped(curves: Campaign, rate: float, burst: int | None) -> Campaign:
    links = {"overlay": Link(interface="fab1", rate_bits_per_s=8 * rate, burst_bytes=burst)}
    return msgspec.structs.replace(curves, plan=msgspec.structs.replace(curves.plan, links=links))


def _is_inside(one: Prediction) -> bool:
    assert one.ratio is not None
    assert one.measured_ratio is not None
    return (one.ratio.low or 0) <= one.measured_ratio.value <= (one.ratio.high or 0)


@pytest.mark.parametrize("rate", [250e6, 170e6, 125e6, 60e6])
def test_bursts_that_pass_at_once_are_inside_the_interval(tmp_path: Path, rate: float) -> None:
    found = _predicted(tmp_path, rate, burst=_BURST)
    assert _is_inside(found)
    assert found.shaped == ("overlay",)
    assert "overlay may let bursts pass faster than the curves say" in plain(prediction_sentence(found))


def test_without_a_known_bucket_the_curves_are_believed(tmp_path: Path) -> None:
    found = _predicted(tmp_path, 60e6, burst=None)
    assert found.shaped == ()
    assert found.ratio is not None
    assert (found.ratio.low or 0) > 0.9 * found.ratio.value


def test_a_link_takes_its_time_for_all_bytes_even_if_each_burst_fits(tmp_path: Path) -> None:
    rate = 60e6
    found = _predicted(tmp_path, rate, burst=_BURST)
    assert found.ratio is not None
    least = 2 * _STEPS * _BYTES / rate / found.reference_s
    assert found.ratio.low == pytest.approx(least, rel=0.05)
