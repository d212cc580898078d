"""Figures that were printed to few digits: nothing is claimed that rounding alone may have made."""

from __future__ import annotations

import dataclasses

import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.estimate import estimates
from tare.analysis.scales.curves import curves
from tare.core.campaign import Campaign
from tare.core.workload import Better
from truth.campaigns import RATE, TIME, Figure, Truth, campaign
from truth.noise import lognormal

SECONDS = 2.6
"""Printed as 3."""


def source(rule: str) -> RuleSource:
    return RuleSource(text=rule, kind=Kind.FAIL_IF, where="test")


def whole_seconds(blocks: int, spread: float = 0.01, level: float = SECONDS) -> Campaign:
    truth = Truth(
        workloads={"solver": (dataclasses.replace(TIME, level=level),)},
        blocks=blocks,
        noise=lognormal(spread),
        decimals=0,
    )
    return campaign(truth)


@pytest.mark.parametrize(
    ("rule", "blocks"),
    [
        ("value(time) > 2.9 s", 8),
        ("value(time) >= 3 s", 8),
        ("median(time) > 2.9 s", 24),
        ("p90(time) > 2.9 s", 110),
        ("cv(time) < 0.5 %", 24),
    ],
)
def test_a_rule_does_not_fail_for_what_rounding_makes_of_a_value(rule: str, blocks: int) -> None:
    (verdict,) = check(whole_seconds(blocks), parse_rules([source(rule)])).verdicts
    assert {one.outcome for one in verdict.judged} == {Outcome.UNDECIDED}


def test_a_scatter_that_the_clock_is_too_coarse_for_does_not_pass_as_none() -> None:
    rule = source("cv(time) > 3 %")
    (verdict,) = check(whole_seconds(24, 0.04, 3.0), parse_rules([rule])).verdicts
    assert {one.outcome for one in verdict.judged} == {Outcome.UNDECIDED}


def test_that_more_runs_narrow_it_is_not_said_of_what_rounding_made_wide() -> None:
    rule = source("value(time) > 2.9 s")
    (verdict,) = check(whole_seconds(8), parse_rules([rule])).verdicts
    assert all("by which rounding may have moved it" in one.why for one in verdict.judged)


def test_the_interval_of_a_value_holds_what_was_rounded() -> None:
    for one in estimates(whole_seconds(8)):
        assert one.low is not None
        assert one.high is not None
        assert one.low <= SECONDS <= one.high


def of_threads(figure: Figure, times: dict[int, float], blocks: int = 8) -> Campaign:
    truth = Truth(
        factors={"network": ("host", "overlay"), "threads": tuple(times)},
        workloads={"solver": (dataclasses.replace(figure, level=1.0),)},
        slowing=lambda settings, _: times[int(settings["threads"])],
        decimals=0,
        blocks=blocks,
        noise=lognormal(0.002),
    )
    return campaign(truth)


def test_no_saturation_is_sure_that_rounding_may_have_made() -> None:
    """The rates of 2.6 and 3.4 are both printed as 3; the time of 3.4 is 30 % longer than that of 2.6."""
    rates = of_threads(RATE, {1: 1 / 2.6, 2: 1 / 3.4, 4: 1 / 3.45})
    times = of_threads(TIME, {1: 3.4, 2: 2.6, 4: 2.55})
    for one in (*curves(rates).saturations, *curves(times).saturations):
        assert one.certain_x is None
        assert one.plateau.low is not None
        assert one.plateau.low < one.plateau.value


def test_where_curves_cross_is_not_certain_if_rounding_may_have_moved_it() -> None:
    """The truth crosses near 1.1 threads; what is printed, 2 and 4 against 3 and 3, near 1.5."""
    rises = {("host", 1): 2.45, ("host", 2): 4.4, ("overlay", 1): 2.55, ("overlay", 2): 3.4}
    truth = Truth(
        factors={"network": ("host", "overlay"), "threads": (1, 2)},
        workloads={"solver": (dataclasses.replace(TIME, level=1.0),)},
        slowing=lambda settings, _: rises[str(settings["network"]), int(settings["threads"])],
        decimals=0,
        blocks=8,
        noise=lognormal(0.002),
    )
    assert not [one for one in curves(campaign(truth)).crossovers if one.is_certain]


def test_the_line_of_times_printed_to_few_digits_holds_the_true_latency() -> None:
    sizes = (1, 256, 4096, 65536, 1048576)
    figure = Figure(
        name="latency",
        unit="us",
        better=Better.LOWER,
        level=1.4,
        at={"bytes": sizes},
        curve=lambda _settings, point: 1 + float(point["bytes"]) / 20_000,
    )
    truth = Truth(workloads={"pingpong": (figure,)}, decimals=0, blocks=8, noise=lognormal(0.001))
    for line in curves(campaign(truth)).hockney:
        assert line.latency is not None
        assert line.latency.low is not None
        assert line.latency.high is not None
        assert line.latency.low <= 1.4 <= line.latency.high
