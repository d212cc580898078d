"""What is said of each part of a rule that joins several limits, or negates one."""

from __future__ import annotations

import dataclasses

import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.report.checks.words import why_words
from truth.campaigns import Truth, by_level, campaign
from truth.noise import lognormal

SLOWER = Truth(slowing=by_level("network", {"overlay": 1.1}), noise=lognormal(0.002))
"""The host takes 10 s, and overlay 11 s."""


@pytest.mark.parametrize(
    ("rule", "outcome", "whys"),
    [
        ("not value(time, network=host) > 20 s", Outcome.FAIL, ["“{} <= 20 s” holds for certain"]),
        ("not (value(time, network=host) < 20 s)", Outcome.PASS, ["“{} >= 20 s” certainly does not hold"]),
        (
            "value(time, network=host) > 9 s and value(time, network=host) < 5 s",
            Outcome.PASS,
            ["“{} > 9 s” holds for certain", "“{} < 5 s” certainly does not hold"],
        ),
        ("value(time, network=host) > 9 s", Outcome.FAIL, ["the whole interval is beyond the limit"]),
    ],
)
def test_a_part_says_whether_it_holds(rule: str, outcome: Outcome, whys: list[str]) -> None:
    source = RuleSource(text=rule, kind=Kind.FAIL_IF, where="test")
    (verdict,) = check(campaign(SLOWER), parse_rules([source])).verdicts
    assert verdict.outcome is outcome
    assert [one.why for one in verdict.judged] == [why.format("value(time, network=host)") for why in whys]


@pytest.mark.parametrize(
    ("rule", "may_miss"),
    [
        ("value(time, network=host) < 20 s", True),
        ("value(time, network=host) > 1 s", False),
        ("cv(time, network=host) < 50 %", True),
        ("median(time, network=host) < 20 s", False),
        ("overhead(time, network=overlay) < 50 %", True),
        ("ratio(time, network=overlay) > 0.5", True),
        ("not value(time, network=host) >= 20 s", True),
    ],
)
def test_what_passes_says_what_a_slow_mode_that_no_run_met_could_change(rule: str, may_miss: bool) -> None:
    """Of 20 runs, one in seven may be slow although none was seen: it changes means and scatter."""
    source = RuleSource(text=rule, kind=Kind.PASS_IF, where="test")
    found = check(campaign(dataclasses.replace(SLOWER, blocks=20)), parse_rules([source]))
    (one,) = found.verdicts[0].judged
    assert one.outcome is Outcome.PASS
    assert one.may_miss == (pytest.approx(0.139, abs=0.001) if may_miss else None)
    told = why_words(one, found.confidence).endswith("; may miss a slow mode of up to 14 % of the runs")
    assert told is may_miss


def test_what_fails_is_not_doubted_for_a_slow_mode() -> None:
    source = RuleSource(text="value(time, network=host) > 9 s", kind=Kind.FAIL_IF, where="test")
    (verdict,) = check(campaign(SLOWER), parse_rules([source])).verdicts
    assert [one.may_miss for one in verdict.judged] == [None]
