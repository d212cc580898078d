"""What is told of networks that nothing crosses, and of those that are not proven."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from report.studies import content_of, part_of, words_of
from support.synthetic import make_campaign, make_case, make_plan
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.proofs import NOTHING_CROSSED, Uncrossed, Weakness, uncrossed
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import headlines
from tare.core.attempt import Attempt, Proof, State
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.verdict import Verdict
from tare.report.sections.overview import Overview

ONE, TWO = Layout(1, 2, 2), Layout(2, 2, 1)


def campaign(cases: Sequence[Case], *proofs: Proof | None) -> Campaign:
    """Return a campaign in which the second case has a run with each of the proofs."""
    attempts = tuple(
        Attempt(case=cases[1].id, block=block, attempt=1, state=State.DONE, started_at=0.0, proof=proof)
        for block, proof in enumerate(proofs, 1)
    )
    return Campaign(folder=Path("c"), plan=make_plan(cases), attempts=attempts)


def on(layout: Layout) -> list[Case]:
    """Return a case over each of two networks."""
    return [msgspec.structs.replace(make_case(name), layout=layout) for name in ("host", "overlay")]


def test_on_one_node_nothing_crosses_a_network_that_differs() -> None:
    cases = on(ONE)
    assert uncrossed(campaign(cases)) == (Uncrossed(case=cases[1].id, weakness=Weakness.ONE_NODE),)
    assert uncrossed(campaign(on(TWO))) == ()


def test_runs_that_are_not_proven_are_counted_among_those_that_had_to_be() -> None:
    cases = on(TWO)
    found = uncrossed(
        campaign(cases, Proof.COUNTED, Proof.NOT_PROVEN, Proof.REPORTED, None, Proof.NOT_PROVEN)
    )
    assert found == (Uncrossed(case=cases[1].id, weakness=Weakness.NOT_PROVEN, n_runs=2, n_measured=4),)


def test_proven_runs_and_those_with_nothing_to_prove_weaken_nothing() -> None:
    assert uncrossed(campaign(on(TWO), Proof.COUNTED, Proof.REPORTED, None)) == ()


ALONE = [make_case(network, workload="ring", nodes=n) for n in (1, 2) for network in ("host", "overlay")]


def alone(*sending: str) -> Campaign:
    """Return a campaign at one and at two nodes, with the overlay slower by half at either."""
    found = make_campaign(ALONE, ratio=1.5, noise=0.002, sizes=(65536,), blocks=6)
    return msgspec.structs.replace(found, plan=msgspec.structs.replace(found.plan, sending=sending))


def test_at_one_node_networks_are_not_compared_and_the_reason_is_reported() -> None:
    campaign = alone("ring")
    for rows in (aggregates(campaign), comparisons(campaign)):
        for one in rows:
            at_one = one.contender_case == ALONE[1].id
            assert one.is_uncrossed == at_one
            assert (one.ratio is None) == at_one
            assert one.verdict is (Verdict.UNDECIDED if at_one else Verdict.WORSE)
            assert one.family == 2  # what nothing crossed is no question
            assert one.note == (NOTHING_CROSSED if at_one else "")
    assert {case for one in headlines(campaign) for _, case in one.cases} == {ALONE[3].id}


def test_data_that_ranks_do_not_send_each_other_are_compared_on_one_node_too() -> None:
    for one in aggregates(alone()):
        assert not one.is_uncrossed
        assert one.verdict is Verdict.WORSE
    assert uncrossed(alone()) == ()


def test_where_more_than_the_network_differs_one_node_is_compared() -> None:
    cases = [make_case("host", nodes=1), make_case("overlay", nodes=1, platform="pods")]
    found = make_campaign(cases, reference={"network": "host", "platform": "bare"}, noise=0.002)
    plan = msgspec.structs.replace(found.plan, sending=("synthetic.pingpong",))
    for one in aggregates(msgspec.structs.replace(found, plan=plan)):
        assert one.verdict is Verdict.WORSE


def test_a_rule_on_what_nothing_crossed_is_undecided_and_gives_the_reason() -> None:
    source = RuleSource(text="overhead(latency, nodes=1) <= 10 %", kind=Kind.PASS_IF, where="--pass-if")
    (verdict,) = check(alone("ring"), [parse_rule(source)]).verdicts
    assert verdict.outcome is Outcome.UNDECIDED
    assert [NOTHING_CROSSED in one.why for one in verdict.judged] == [True]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("overhead(latency, network=overlay, nodes=2) > 5 %", "on 3 of 12 runs it is not proven"),
        ("value(latency, network=host, nodes=2) > 1 s", "on 1 of 6 runs it is not proven"),
        ("value(latency, network=overlay, nodes=2) > 1 s", "on 2 of 6 runs it is not proven"),
        ("overhead(latency, network=overlay, nodes=1) > 5 %", ""),
    ],
)
def test_a_rule_whose_runs_did_not_prove_their_network_notes_it(rule: str, told: str) -> None:
    """Its verdict stands, but nobody is to read into it which network was measured."""
    unproven = {(ALONE[2].id, 1), (ALONE[3].id, 1), (ALONE[3].id, 4)}
    found = alone()
    attempts = tuple(
        msgspec.structs.replace(
            one, proof=Proof.NOT_PROVEN if (one.case, one.block) in unproven else Proof.COUNTED
        )
        for one in found.attempts
    )
    source = RuleSource(text=rule, kind=Kind.FAIL_IF, where="--fail-if")

    (verdict,) = check(msgspec.structs.replace(found, attempts=attempts), [parse_rule(source)]).verdicts

    (one,) = verdict.judged
    assert ("not proven" in one.why) == bool(told)
    assert told in one.why
    assert f"on {one.n_not_proven} of {one.n_to_prove} runs" in one.why or not told
    assert verdict.outcome in (Outcome.FAIL, Outcome.PASS)


def test_the_sentence_notes_that_one_node_is_left_out_and_a_side_of_one_node_has_no_other() -> None:
    (answer,) = words_of(alone("ring"))
    assert "at 2 nodes" in answer.text
    assert "1 node" not in answer.text
    assert "At 1 node nothing crosses the network, so the networks are not compared there." in answer.beside
    campaign = alone("ring")
    plan = msgspec.structs.replace(campaign.plan, cases=tuple(ALONE[:2]))
    attempts = tuple(one for one in campaign.attempts if one.case in (ALONE[0].id, ALONE[1].id))
    (answer,) = words_of(msgspec.structs.replace(campaign, plan=plan, attempts=attempts))
    assert answer.text == (
        "is not compared with host: all ranks were on one node, and nothing that they send each other "
        "crosses a network."
    )


def test_a_heat_map_shows_what_nothing_crossed_without_a_number() -> None:
    campaign = alone("ring")
    cells = [
        cell for row in part_of(content_of(campaign), Overview).maps[0].rows for cell in row.cells if cell
    ]
    bare = [cell for cell in cells if cell.paint == "missing"]
    assert len(bare) == 2
    assert {cell.details for cell in bare} == {(("Result", NOTHING_CROSSED),)}
