"""Verdicts of figures as programs print them: rounded, equal, or zero."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest

from support.scales import make_application, usl
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, Rule, RuleSource
from tare.analysis.scales.scaling import scalings
from tare.analysis.trust.quality import quality
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.variability import variabilities
from tare.core.attempt import Series
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.report.checks.words import why_words
from truth.campaigns import Figure, Truth, by_level, campaign
from truth.claims import tally
from truth.noise import lognormal

LATENCY = Figure(name="latency", unit="us", level=0.2149)


def fails(text: str) -> Rule:
    return parse_rule(RuleSource(text=text, kind=Kind.FAIL_IF, where="--fail-if"))


def test_a_difference_of_a_fifth_of_a_percent_printed_as_one_step_is_no_sure_effect() -> None:
    truth = Truth(
        workloads={"osu": (LATENCY,)},
        slowing=by_level("network", {"overlay": 0.2153 / 0.2149}),
        noise=lognormal(0.0001),
        blocks=20,
        decimals=2,
    )
    one = campaign(truth)
    (row,) = aggregates(one)
    assert row.ratio == pytest.approx(0.22 / 0.21)
    assert row.verdict is Verdict.UNDECIDED
    assert "rounding of what was printed" in row.note
    assert row.p_value is not None
    assert row.p_value > 0.05
    assert check(one, [fails("overhead(latency) > 1 %")]).outcome is Outcome.UNDECIDED


@pytest.mark.slow
def test_rounded_figures_of_equal_sides_seldom_differ() -> None:
    for decimals in (1, 2, 3):
        truth = Truth(workloads={"osu": (LATENCY,)}, noise=lognormal(0.01), decimals=decimals)
        assert tally(truth, 200, aggregates).difference_rate <= 0.08


def test_identical_values_show_no_difference_and_ranks_do_not_disagree() -> None:
    for blocks in (3, 5, 20):
        truth = Truth(noise=lambda random, shape: np.ones(shape), blocks=blocks)
        (row,) = aggregates(campaign(truth))
        assert row.p_value == pytest.approx(1.0)
        assert "ranks" not in row.note


def test_a_zero_among_many_values_leaves_an_interval_and_check_fails() -> None:
    truth = Truth(slowing=by_level("network", {"overlay": 9.44}), noise=lognormal(0.02), blocks=20)
    one = campaign(truth)
    first = next(attempt for attempt in one.attempts if one.cases[attempt.case].network == "host")
    first.series[0].values[0] = 0.0
    for answer in (aggregates, comparisons):
        (row,) = answer(one)
        assert row.verdict is Verdict.WORSE
        assert row.low is not None
        assert 5 < row.low < 9.5
        assert "arithmetic means" in row.note
    assert check(one, [fails("overhead(time) > 100 %")]).outcome is Outcome.FAIL


@pytest.mark.slow
@pytest.mark.parametrize("zeros", [0.05, 0.2])
def test_zeros_here_and_there_make_no_difference_of_equal_sides(zeros: float) -> None:
    truth = Truth(noise=lognormal(0.1), blocks=20, zeros=zeros)
    assert tally(truth, 300, aggregates).difference_rate <= 0.08
    clear = dataclasses.replace(truth, slowing=by_level("network", {"overlay": 4.0}))
    (row,) = aggregates(campaign(clear))
    assert row.verdict is Verdict.WORSE


def rounded(one: Campaign, workload: str, decimals: int) -> Campaign:
    """Return the campaign with a workload that prints so many decimals."""
    own = {case.id for case in one.plan.cases if case.workload == workload}

    def printed(series: Series) -> Series:
        values = [None if value is None else round(value, decimals) for value in series.values]
        return msgspec.structs.replace(series, values=values)

    attempts = (
        msgspec.structs.replace(attempt, series=[printed(series) for series in attempt.series])
        if attempt.case in own
        else attempt
        for attempt in one.attempts
    )
    return msgspec.structs.replace(one, attempts=tuple(attempts))


def test_what_another_workload_prints_finely_does_not_hide_the_rounding_of_this_one() -> None:
    truth = Truth(
        workloads={"imb": (LATENCY,), "osu": (LATENCY,)},
        slowing=by_level("network", {"overlay": 0.2153 / 0.2149}),
        noise=lognormal(0.0001),
        blocks=20,
    )
    coarse = aggregates(rounded(campaign(truth), "osu", 2))
    widths = {row.reference_case: (row.high or 0) / (row.low or 1) for row in coarse}
    fine, wide = sorted(widths.values())
    assert fine < 1.001
    assert wide > 1.04


def test_an_efficiency_allows_for_the_rounding_of_what_was_printed() -> None:
    one = make_application({"host": usl(6, 0.0, 0.0)}, (1, 16), blocks=8, noise=0.00001)
    coarse = rounded(one, one.plan.cases[0].workload, 0)
    (curve,) = scalings(coarse)
    told = curve.points[-1].efficiency
    assert told is not None
    assert told.low is not None
    assert told.high is not None
    assert told.low < 0.93
    assert told.high > 1.07
    (judged,) = check(coarse, [fails("efficiency(nodes=16) < 98 %")]).verdicts[0].judged
    assert (judged.low, judged.high) == pytest.approx((told.low, told.high))


def test_a_scatter_that_rounding_makes_is_no_claim() -> None:
    """Both sides scatter by 3 %. Of 0.055 s two decimals leave 0.05 and 0.06, which are far apart."""
    truth = Truth(
        workloads={"app": (Figure(name="time", level=0.055),)},
        slowing=by_level("network", {"overlay": 10}),
        noise=lognormal(0.03),
        blocks=30,
        decimals=2,
    )
    one = campaign(truth)
    (row,) = variabilities(one)
    assert row.ratio is not None
    assert row.ratio < 0.5
    assert row.verdict is Verdict.UNDECIDED
    assert row.low is None
    result = check(one, [fails("cv_ratio(time) < 0.9")])
    assert result.outcome is Outcome.UNDECIDED
    (judged,) = result.verdicts[0].judged
    assert judged.value == pytest.approx(row.ratio)
    assert (judged.low, judged.high) == (None, None)
    assert why_words(judged, result.confidence) == (
        "no interval: rounding of what was printed may have made or hidden all of a scatter"
    )


def test_a_scatter_that_many_digits_show_is_claimed() -> None:
    truth = Truth(noise=lognormal(0.01), contender_noise=lognormal(0.1), blocks=30, decimals=3)
    one = campaign(truth)
    (row,) = variabilities(one)
    assert row.verdict is Verdict.WORSE
    (judged,) = check(one, [fails("cv_ratio() > 1.2")]).verdicts[0].judged
    assert (judged.low, judged.high) == pytest.approx((row.low, row.high))
    assert judged.outcome is Outcome.FAIL


def test_equal_printed_values_are_no_proof_that_nothing_scatters() -> None:
    truth = Truth(
        workloads={"app": (Figure(name="time", level=0.05),)}, noise=lognormal(0.01), blocks=12, decimals=2
    )
    for one in quality(campaign(truth)).scatters:
        assert one.cv == 0
        assert one.high is not None
        assert one.high >= 0.01
