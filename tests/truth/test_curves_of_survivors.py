"""Curves of cases of which slow runs were ended at their time-out: what is left is faster than the case."""

from __future__ import annotations

import msgspec

from tare.analysis.scales.curves import curves
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.report.words.curves import crossover_words, misfit_words, saturation_words
from tare.report.words.scaling import measured
from truth.campaigns import Figure, Truth, campaign
from truth.noise import bimodal, lognormal

ENDED = "runs were ended at their time-out and do not count"
_SIZES = (1, 64, 1024, 16384, 65536, 262144)


def ended_above(found: Campaign, limit: float, network: str, **settings: int) -> Campaign:
    """Return a campaign of which each run of a network that took longer was ended at its time-out."""

    def ended(one: Attempt) -> Attempt:
        case = found.cases[one.case]
        is_asked = case.network == network and settings.items() <= case.settings.items()
        if not is_asked or one.series[0].values[0] <= limit:
            return one
        return msgspec.structs.replace(one, state=State.FAILED, check="timeout", series=[])

    return msgspec.structs.replace(found, attempts=tuple(map(ended, found.attempts)))


def of_threads(host: dict[int, float], overlay: dict[int, float], spread: float) -> Campaign:
    times = {"host": host, "overlay": overlay}
    truth = Truth(
        factors={"network": ("host", "overlay"), "threads": tuple(host)},
        slowing=lambda settings, _: times[str(settings["network"])][int(settings["threads"])],
        noise=lognormal(spread),
        blocks=16,
    )
    return campaign(truth)


def test_a_line_of_survivors_says_so() -> None:
    figure = Figure(
        name="latency",
        unit="us",
        at={"bytes": _SIZES},
        curve=lambda _settings, point: 1 + float(point["bytes"]) / 20_000,
    )
    truth = Truth(workloads={"pingpong": (figure,)}, noise=bimodal(slower=3.0), blocks=10)
    host, overlay = curves(ended_above(campaign(truth), 20.0, "overlay")).hockney
    assert host.timed_out == 0
    assert ENDED not in misfit_words(host)
    assert overlay.timed_out > 1
    assert misfit_words(overlay).endswith(f"; {overlay.timed_out} {ENDED}")
    assert measured(overlay.latency, overlay.unit)


def test_no_crossover_is_certain_where_the_slow_runs_of_a_side_are_missing() -> None:
    """The sides are alike on one thread; overlay is slower on four. Its slow runs on one thread are gone."""
    found = of_threads({1: 1.0, 4: 0.5}, {1: 1.0, 4: 0.6}, spread=0.1)
    cut = ended_above(found, 10.0, "overlay", threads=1)
    for one in curves(cut).crossovers:
        assert not one.is_certain
        assert one.x.low is None
        assert one.x.high is None
        assert ENDED in crossover_words(one, {})
        assert "too few blocks" not in crossover_words(one, {})
    assert curves(cut).crossovers


def test_no_saturation_is_sure_at_a_point_of_which_the_slow_runs_are_missing() -> None:
    """One thread takes 15 % longer than four, but its runs above their limit are gone."""
    alike = {1: 1.15, 2: 1.0, 4: 1.0}
    cut = ended_above(of_threads(alike, alike, spread=0.1), 10.5, "overlay", threads=1)
    host, overlay = curves(cut).saturations
    assert ENDED not in saturation_words(host, {})
    assert overlay.certain_x != 1
    assert saturation_words(overlay, {}).endswith(ENDED)
