"""What is said of each part of a rule that joins several limits, or negates one."""

from __future__ import annotations

import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
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
