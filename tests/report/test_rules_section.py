"""What the report says of Hoefler's and Belli's rules is true of the campaign, and not said of another."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from analysis.test_bounds import limited
from report.studies import content_of, part_of
from support.scales import make_application, usl
from support.synthetic import make_attempt, make_campaign, make_case
from tare.core.attempt import Source, State
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.plan import LeftOut
from tare.core.study import Scaling
from tare.report.sections.methods import Methods
from tare.report.sections.rules import Keeping, ReportingRule
from tare.stats.normality import normality_p_values


def rule(campaign: Campaign, number: int) -> ReportingRule:
    found = part_of(content_of(campaign), Methods).rules
    assert [one.number for one in found] == list(range(1, 13))
    return found[number - 1]


def text_of(campaign: Campaign, number: int) -> str:
    return rule(campaign, number).what.replace("\u202f", " ").replace("\xa0", " ")


def recorded(campaign: Campaign, *, n_without: int = 0) -> Campaign:
    """Return `campaign` with the environment of all runs but the last `n_without`."""
    n = len(campaign.attempts) - n_without
    attempts = [msgspec.structs.replace(one, environment="e") for one in campaign.attempts[:n]]
    return msgspec.structs.replace(
        campaign,
        attempts=(*attempts, *campaign.attempts[n:]),
        environments={"e": {"n1": {"cpu.cores": "64"}, "n2": {"cpu.cores": "64"}}},
    )


def test_without_scaling_no_base_is_claimed() -> None:
    assert rule(make_campaign(), 1).keeping is Keeping.NOT_APPLICABLE


def test_the_base_of_each_speedup_is_named_with_its_value() -> None:
    scaling = Scaling(strong=("nodes",))
    sentence = text_of(make_application({"host": usl(), "overlay": usl(gamma=5.0)}, scaling=scaling), 1)
    assert re.search(r"at 1\Wnode: (5|6)\.\d\d ns/day", sentence), sentence


def test_a_base_is_the_smallest_scale_that_was_measured_not_the_smallest_that_was_planned() -> None:
    laws = {"host": usl(), "overlay": usl()}
    sentence = text_of(make_application(laws, missing=[("overlay", 1)]), 1)
    assert sentence.startswith("The bases are synthetic.application · host at 2 nodes: ")
    assert "planned" not in sentence


def test_the_settings_of_a_base_have_their_names() -> None:
    cases = [
        make_case(workload="synthetic.application", nodes=nodes, parameters={"threads_of_io": threads})
        for nodes in (1, 2)
        for threads in (1, 4)
    ]
    sentence = text_of(make_application({"host": usl()}, cases=cases), 1)
    assert "threads of io 4 at 1 node" in sentence


def test_how_much_of_a_node_is_used_is_reported_where_its_cores_are_known() -> None:
    assert "Cases ask for 1 core of a node (ranks × threads); nodes have 64." in text_of(
        recorded(make_campaign()), 2
    )
    assert "not recorded" in text_of(make_campaign(), 2)


def test_what_is_left_out_is_reported_with_its_reason_or_that_none_is_given() -> None:
    campaign = recorded(make_campaign())
    assert "No exclusion is recorded" in text_of(campaign, 2)
    for because, keeping in (("4 ranks do not fit", Keeping.KEPT), ("", Keeping.PARTLY)):
        left_out = (LeftOut(condition="nodes == 4", because=because, n_cases=3),)
        plan = msgspec.structs.replace(campaign.plan, left_out=left_out)
        found = rule(msgspec.structs.replace(campaign, plan=plan), 2)
        assert found.keeping is keeping
        assert f"3 cases where nodes == 4 ({because or 'no reason is given'})" in found.what


def test_intervals_are_claimed_only_where_there_are_any() -> None:
    assert rule(make_campaign(), 5).keeping is Keeping.KEPT
    few = make_campaign(blocks=2)
    assert rule(few, 5).keeping is Keeping.PARTLY
    assert "2 ratios have none." in text_of(few, 5)


def test_a_ratio_that_never_varies_is_reported_as_such() -> None:
    assert "the same value in every block" in text_of(make_campaign(noise=0.0), 5)
    assert "the same value" not in text_of(make_campaign(), 5)


def test_normality_is_not_claimed_of_too_few_blocks() -> None:
    assert "No quoted ratio has what its diagnostic takes: five blocks that differ" in text_of(
        make_campaign(blocks=4), 6
    )
    assert "2 quoted ratios were tested" in text_of(make_campaign(blocks=10), 6)


def test_one_run_in_ten_that_is_slow_is_seen_to_depart_from_normality() -> None:
    campaign = make_campaign(blocks=30, noise=0.005)
    overlay = campaign.plan.cases[1]
    slowed = tuple(
        make_attempt(overlay, one.block, [3 * value for value in one.series[0].values])
        if one.case == overlay.id and one.block % 10 == 0
        else one
        for one in campaign.attempts
    )
    assert "depart" in text_of(msgspec.structs.replace(campaign, attempts=slowed), 6)
    assert "none is seen to depart" in text_of(campaign, 6)


def test_the_environment_is_recorded_with_every_run_only_where_it_is() -> None:
    assert "recorded with every run" in text_of(recorded(make_campaign()), 9)
    partly = text_of(recorded(make_campaign(), n_without=1), 9)
    assert "with 9 of 10 runs" in partly
    assert "was not recorded" in text_of(make_campaign(), 9)


def test_factors_are_reported_with_their_levels() -> None:
    assert "network (host and overlay)" in text_of(make_campaign(), 9)


def test_bounds_are_claimed_where_one_is_known() -> None:
    assert "of the link's 10 Gbit/s" in text_of(limited(rate=10e9), 11)
    assert "No bound is known" in text_of(make_campaign(), 11)


def test_nothing_is_claimed_of_a_campaign_without_a_run() -> None:
    campaign = make_campaign()
    nothing = msgspec.structs.replace(
        campaign,
        attempts=tuple(msgspec.structs.replace(one, state=State.FAILED) for one in campaign.attempts),
    )
    for number in (1, 4, 5, 6, 7, 8):
        assert rule(nothing, number).keeping is Keeping.NOT_APPLICABLE
    assert "Changes are relative" not in text_of(nothing, 1)
    assert "quoted ratio" not in text_of(nothing, 3)


def test_ratios_without_an_interval_are_not_counted_among_those_that_have_one() -> None:
    assert text_of(make_campaign(blocks=2), 5).startswith("0 quoted ratios have intervals over blocks.")
    assert text_of(make_campaign(), 5).startswith("2 quoted ratios have intervals over blocks.")
    assert "No ratio has blocks enough for a test" in text_of(make_campaign(blocks=2), 7)


def test_means_and_their_tests_are_named_as_they_were_asked_for() -> None:
    plain, median = (
        make_campaign(blocks=8),
        msgspec.structs.replace(make_campaign(blocks=8), mean=Mean.MEDIAN),
    )
    assert "where its t test holds" in text_of(plain, 7)
    assert "where its sign test holds" in text_of(median, 7)
    assert text_of(plain, 8).startswith("Means are compared.")
    assert text_of(median, 8).startswith("Medians are compared.")
    assert text_of(median, 4).startswith("Ratios are medians of those within blocks; the costs")


def test_a_mode_is_not_looked_for_where_there_is_no_interval() -> None:
    few = text_of(make_campaign(blocks=2), 8)
    assert few.startswith("Means are compared. The bad runs")
    assert "With 5 blocks a slow mode of up to 45 % of the runs" in text_of(make_campaign(), 8)


def test_runs_that_were_not_paired_are_reported_as_such() -> None:
    source = Source(path="log", sha256="0")
    found = make_campaign()
    apart = msgspec.structs.replace(
        found, attempts=tuple(msgspec.structs.replace(one, source=source) for one in found.attempts)
    )
    assert text_of(apart, 4).startswith("Ratios are those of the geometric means of all runs of each side")
    assert "over blocks or runs" in text_of(apart, 5)
    assert "With 5 runs a slow mode" in text_of(apart, 8)
    assert "These runs were made elsewhere" in text_of(apart, 10)
    assert "elsewhere" not in text_of(found, 10)


@pytest.mark.parametrize(
    ("draw", "least", "most"),
    [
        (lambda random, shape: random.normal(size=shape), 0.02, 0.08),
        (lambda random, shape: random.exponential(size=shape), 0.6, 1.0),
    ],
)
def test_the_diagnostic_keeps_its_level_and_sees_skew(
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray], least: float, most: float
) -> None:
    p_values = normality_p_values(draw(np.random.default_rng(1), (20, 400)))
    assert least <= float((p_values <= 0.05).mean()) <= most
