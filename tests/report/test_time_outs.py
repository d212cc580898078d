"""Runs that were ended at their time-out were slow: nothing that favours their side is claimed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from report.studies import said_of as said
from support.planned import ELAPSED, about, make_planned
from tare.analysis.check import Outcome, check
from tare.analysis.compare import aggregates
from tare.analysis.rule_parser import parse_rule
from tare.analysis.rules import Kind, RuleSource
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.core.workload import Fom

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
