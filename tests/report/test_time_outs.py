"""Runs that were ended at their time-out were slow: nothing that favours their side is claimed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from report.studies import content_of, plain
from report.studies import said_of as said
from support.planned import ELAPSED, about, make_planned
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.scales.scaling import scalings
from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.variability import variabilities
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.scaling import ScalingCurve
from tare.core.verdict import Verdict
from tare.core.workload import Fom
from tare.report.formats.page import render
from tare.report.history import history
from tare.report.sections.stop_reason import ending_sentences
from tare.report.words.scaling import sentences
from truth.campaigns import Truth
from truth.campaigns import campaign as campaign_of
from truth.noise import lognormal

Sides = dict[str, dict[Fom, Sequence[float | None]]]


def ending(overlay: Sequence[float | None], *, host: Sequence[float | None] | None = None) -> Campaign:
    """Return a campaign in which runs without a value were ended at their time-out."""
    sides: Sides = {"host": {ELAPSED: host or about(5.0, 10)}, "overlay": {ELAPSED: overlay}}
    return make_planned(sides, check="timeout")


SURVIVORS: list[float | None] = [*about(5.0, 7), None, None, None]
FASTER = [None if one is None else 0.8 * one for one in SURVIVORS]


def test_survivors_of_a_time_out_are_not_equivalent() -> None:
    text = said(ending(SURVIVORS))
    assert text.startswith("overlay is undecided in planned’s elapsed (0.0 % [")
    why = "3 runs of the contender were ended at their time-out and do not count"
    assert f"On planned’s elapsed: {why}." in text
    assert "blocks would" not in text
    [row] = aggregates(ending(SURVIVORS))
    assert (row.verdict, row.timed_out, row.more_blocks) == (Verdict.UNDECIDED, (0, 3), None)
    assert why in row.note


def test_survivors_of_a_time_out_are_not_better_but_may_be_worse() -> None:
    assert aggregates(ending(FASTER))[0].verdict is Verdict.UNDECIDED
    slower = [None if one is None else 1.5 * one for one in SURVIVORS]
    assert aggregates(ending(slower))[0].verdict is Verdict.WORSE
    assert aggregates(ending(about(7.5, 10), host=SURVIVORS))[0].verdict is Verdict.UNDECIDED
    assert aggregates(ending(about(4.0, 10), host=SURVIVORS))[0].verdict is Verdict.BETTER


def test_runs_that_failed_otherwise_withhold_nothing() -> None:
    sides: Sides = {"host": {ELAPSED: about(5.0, 10)}, "overlay": {ELAPSED: SURVIVORS}}
    [row] = aggregates(make_planned(sides, check="exit code"))
    assert (row.verdict, row.timed_out) == (Verdict.EQUIVALENT, (0, 0))


@pytest.mark.parametrize(
    ("rule", "overlay", "outcome"),
    [
        ("overhead(elapsed) > 5 %", SURVIVORS, Outcome.UNDECIDED),
        ("overhead(elapsed) > 5 %", [None if one is None else 2 * one for one in SURVIVORS], Outcome.FAIL),
        ("value(elapsed, network=overlay) > 6 s", SURVIVORS, Outcome.UNDECIDED),
        ("value(elapsed, network=overlay) > 4 s", SURVIVORS, Outcome.FAIL),
        ("value(elapsed, network=host) > 6 s", SURVIVORS, Outcome.PASS),
        ("overhead(elapsed) < -10 %", FASTER, Outcome.UNDECIDED),
    ],
)
def test_rules_are_not_kept_by_survivors_of_a_time_out(
    rule: str, overlay: Sequence[float | None], outcome: Outcome
) -> None:
    campaign = ending(overlay)
    parsed = parse_rule(RuleSource(text=rule, kind=Kind.FAIL_IF, where="--fail-if"))
    found = check(campaign, [parsed])
    assert found.outcome is outcome
    if outcome is Outcome.UNDECIDED:
        [one] = found.verdicts[0].judged
        assert re.fullmatch(r"3 runs (of the contender )?were ended at .* not count", one.why)


def test_one_run_that_timed_out_is_singular() -> None:
    [row] = aggregates(ending([*about(5.0, 9), None]))
    assert row.note == "1 run of the contender was ended at its time-out and does not count"


def scaling_with(n_timed_out: Mapping[int, int]) -> ScalingCurve:
    """Return a curve of twelve blocks, whose slowest runs timed out: so many at each scale."""
    truth = Truth(
        factors={"network": ("host",), "nodes": (1, 2, 4, 8)},
        reference={},
        noise=lognormal(0.1),
        slowing=lambda settings, fom: 1 / float(settings["nodes"]) ** 0.95,
        blocks=12,
    )
    found = campaign_of(truth)
    (curve,) = scalings(ended_at_time_outs(found, n_timed_out))
    return curve


def ended_at_time_outs(found: Campaign, n_timed_out: Mapping[int, int]) -> Campaign:
    """Return a campaign whose slowest runs at some numbers of nodes were ended at their time-out."""
    slow = set()
    for case in found.plan.cases:
        runs = [one for one in found.attempts if one.case == case.id]
        runs.sort(key=lambda one: -one.series[0].values[0])
        slow |= {id(one) for one in runs[: n_timed_out.get(case.layout.nodes, 0)]}
    attempts = tuple(
        msgspec.structs.replace(one, state=State.FAILED, check="timeout", series=[])
        if id(one) in slow
        else one
        for one in found.attempts
    )
    return msgspec.structs.replace(found, attempts=attempts)


def test_scaling_names_the_scales_whose_slow_runs_do_not_count() -> None:
    text = plain(" ".join(sentences(scaling_with({1: 4, 8: 1}))))
    ended = "ended at their time-out and do not count: it is slower than shown"
    assert f"On 1 node, 4 runs were {ended}, and speedups over it are too small." in text
    assert "On 8 nodes, 1 run was ended at its time-out and does not count: it is slower than shown, " in text
    assert "its speedup is too large" in text
    assert "time-out" not in " ".join(sentences(scaling_with({})))
    assert [point.timed_out for point in scaling_with({1: 4, 8: 1}).points] == [4, 0, 0, 1]


def test_survivors_of_a_time_out_do_not_surely_reach_an_efficiency() -> None:
    assert "surely" not in " ".join(sentences(scaling_with({})))
    text = plain(" ".join(sentences(scaling_with({8: 3}))))
    assert "stays at 70 % or more to the last (surely up to 4)" in text


def test_survivors_of_a_time_out_are_not_surely_super_linear() -> None:
    truth = Truth(
        factors={"network": ("host",), "nodes": (1, 2)},
        reference={},
        noise=lognormal(0.01),
        slowing=lambda settings, fom: 1 / float(settings["nodes"]) ** 1.2,
        blocks=12,
    )
    found = campaign_of(truth)
    for n_timed_out, is_said in (({}, True), ({2: 1}, False), ({1: 1}, True)):
        (curve,) = scalings(ended_at_time_outs(found, n_timed_out))
        assert ("Super-linear" in " ".join(sentences(curve))) is is_said


def test_what_timed_out_at_the_scale_before_is_not_surely_faster() -> None:
    truth = Truth(
        factors={"network": ("host",), "nodes": (1, 2)},
        reference={},
        noise=lognormal(0.01),
        slowing=lambda settings, fom: 1.1 if settings["nodes"] == 2 else 1.0,
        blocks=12,
    )
    found = campaign_of(truth)
    for n_timed_out, is_said in (({}, True), ({1: 1}, False), ({2: 1}, True)):
        (curve,) = scalings(ended_at_time_outs(found, n_timed_out))
        assert ("Scaling is negative" in " ".join(sentences(curve))) is is_said


def test_survivors_of_a_time_out_do_not_scatter_less() -> None:
    slow = [
        value * (3.0 if block % 4 == 0 else 1 + 0.01 * (block % 3))
        for block, value in enumerate(about(5.0, 24))
    ]
    quiet = [value * (1 + 0.001 * (block % 3)) for block, value in enumerate(about(5.0, 24))]
    calm = make_planned({"host": {ELAPSED: slow}, "overlay": {ELAPSED: quiet}})
    assert variabilities(calm)[0].verdict is Verdict.BETTER
    survived = [None if block in (3, 11) else value for block, value in enumerate(quiet)]
    [row] = variabilities(ending(survived, host=slow))
    assert row.verdict is Verdict.UNDECIDED
    assert "2 runs of the contender were ended at their time-out and do not count" in row.note
    [worse] = variabilities(ending([*slow[:22], None, None], host=quiet))
    assert worse.verdict is Verdict.WORSE


def test_the_stopping_rule_says_that_it_knows_nothing_of_runs_that_timed_out() -> None:
    campaign = ending(SURVIVORS)
    repeats = msgspec.structs.replace(campaign.plan.repeats, until=0.05)
    campaign = msgspec.structs.replace(campaign, plan=msgspec.structs.replace(campaign.plan, repeats=repeats))
    text = plain(" ".join(ending_sentences(campaign, history(campaign))))
    assert "By now it is, without the 3 runs that were ended at their time-out." in text


def test_no_survivors_of_a_time_out_are_marked_as_the_best() -> None:
    page = render(ending(FASTER), content_of(ending(FASTER)))
    cells = [plain(one) for one in re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)]
    assert any("‡" in one and "★" not in one for one in cells)
    assert "‡ without the runs that were ended at their time-out" in page
