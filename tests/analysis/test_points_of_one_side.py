"""Sides that were measured at other sizes: a mean is over those of both, and says so."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from support.synthetic import make_attempt, make_campaign
from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, overview_of
from tare.analysis.verdicts.headline import headlines
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.report.variants import lay_out
from tare.report.words.answer import answer_all

SMALL, MIDDLE, LARGE = (1, 64), (256, 1024, 4096), (65536, 1048576)


def measured_at(
    host: Sequence[int], overlay: Sequence[int], lost: Sequence[int] = (), blocks: int = 6
) -> Campaign:
    """Return a campaign whose sides have these sizes; run n of each side loses size n of `lost`."""
    campaign = make_campaign(blocks=blocks)
    sizes_of = dict(zip((case.id for case in campaign.plan.cases), (host, overlay), strict=True))
    attempts = []
    for number, one in enumerate(campaign.attempts):
        gone = lost[one.block % len(lost)] if lost else None
        sizes = [size for size in sizes_of[one.case] if size != gone]
        slower = 1 + 0.0001 * number
        case = campaign.cases[one.case]
        latency = [(20 + size / 1000) * slower for size in sizes]
        attempts.append(make_attempt(case, one.block, latency, sizes, started_at=1e9 + number))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def latency(campaign: Campaign) -> Comparison:
    return next(one for one in aggregates(campaign) if one.fom == "latency")


def said(campaign: Campaign) -> str:
    rows = aggregates(campaign)
    (found,) = answer_all(headlines(campaign), overview_of(rows), lay_out(campaign, rows), 0.02)
    return f"{found.sentence} {found.beside}"


def test_a_mean_over_the_sizes_of_both_sides_counts_those_of_one() -> None:
    one = latency(measured_at((*SMALL, *MIDDLE), (*MIDDLE, *LARGE)))
    assert one.ratio is not None
    assert one.note == "4 of 7 points left out: only one side has them"


def test_a_sentence_on_some_sizes_counts_those_of_one_side() -> None:
    text = said(measured_at((*SMALL, *MIDDLE), (*MIDDLE, *LARGE)))
    assert "latency up to 1\u202fKiB: 2 of 4 points left out: only one side has them." in text
    assert "bandwidth: 4 of 7 points left out: only one side has them." in text


def test_too_few_blocks_are_told_of_beside_points_of_one_side() -> None:
    found = measured_at((*SMALL, *MIDDLE), (*MIDDLE, *LARGE), blocks=2)
    assert "2 comparisons lack three blocks with values of both sides." in said(found)


def test_sides_without_a_common_size_are_not_called_unmeasured() -> None:
    found = measured_at(SMALL, LARGE)
    assert latency(found).note == "not measured on both sides: they have no point in common"
    assert "has not been measured beside host: they have no point in common." in said(found)


def test_a_size_that_each_run_lacks_in_turn_is_not_one_that_no_run_has() -> None:
    sizes = (*SMALL, *MIDDLE, *LARGE)
    one = latency(measured_at(sizes, sizes, lost=sizes, blocks=7))
    assert one.ratio is None
    assert "host has none, since no run has all of its points" in one.note


def test_equal_sizes_of_both_sides_need_no_remark() -> None:
    assert "left out" not in said(measured_at(MIDDLE, MIDDLE))


def why(campaign: Campaign, rule: str) -> str:
    asked = parse_rule(RuleSource(text=rule, kind=Kind.FAIL_IF, where="--fail-if"))
    return check(campaign, [asked]).verdicts[0].judged[0].why


def test_a_rule_on_a_mean_counts_the_points_of_one_side_once() -> None:
    found = measured_at((*SMALL, *MIDDLE), (*MIDDLE, *LARGE))
    text = why(found, "overhead(latency) > 5 %")
    assert text.count("4 of 7 points left out: only one side has them") == 1
    assert "left out" not in why(found, "overhead(latency, bytes=256) > 5 %")


def test_a_rule_on_sides_without_a_common_size_says_so() -> None:
    text = why(measured_at(SMALL, LARGE), "overhead(latency) > 5 %")
    assert text == "not measured on both sides: they have no point in common"
