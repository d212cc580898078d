"""Coordinates that are words tell figures apart: what is written and what is read are never averaged."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import headlines
from tare.core.attempt import Series
from tare.core.campaign import Campaign
from tare.core.values import Scalar
from tare.core.verdict import Verdict
from tare.core.workload import Better, Fom

RATE = Fom(name="rate", unit="MiB/s", better=Better.HIGHER, by=("operation", "bytes"), is_primary=True)


def reads_and_writes(
    ratio: Mapping[str, float], name: str = "operation", sizes: tuple[int, ...] = (0,), blocks: int = 6
) -> Campaign:
    """Return a campaign whose contender has `ratio` of the rate of each value of a coordinate."""
    cases = [make_case(network, workload="disks") for network in ("host", "overlay")]
    campaign = make_campaign(cases, blocks=blocks)
    random = np.random.default_rng(3)
    attempts = []
    for one in campaign.attempts:
        at: dict[str, list[Scalar]] = {name: [word for word in ratio for _ in sizes]}
        if len(sizes) > 1:
            at["bytes"] = [*sizes] * len(ratio)
        values = [
            (1.0 if one.case == cases[0].id else share) * 100 * np.exp(random.normal(0, 0.003))
            for share in ratio.values()
            for _ in sizes
        ]
        series = Series(fom="rate", unit="MiB/s", better=Better.HIGHER, at=at, values=values)
        attempts.append(msgspec.structs.replace(one, series=[series]))
    plan = msgspec.structs.replace(campaign.plan, foms={"disks": (RATE,)})
    return msgspec.structs.replace(campaign, plan=plan, attempts=tuple(attempts))


def test_what_is_written_and_what_is_read_are_two_figures_with_a_verdict_each() -> None:
    campaign = reads_and_writes({"write": 0.5, "read": 2.0}, sizes=(65536, 1048576))
    found = {one.at["operation"]: one for one in aggregates(campaign)}
    assert {name: one.verdict for name, one in found.items()} == {
        "write": Verdict.WORSE,
        "read": Verdict.BETTER,
    }
    assert found["write"].ratio == pytest.approx(0.5, rel=0.01)
    assert {one.over for one in found.values()} == {("bytes",)}


def test_a_figure_of_one_word_is_the_same_row_in_the_table_of_points_and_in_the_sentence() -> None:
    campaign = reads_and_writes({"write": 0.5, "read": 1.0}, name="phase")
    assert comparisons(campaign) == aggregates(campaign)
    rows = {one.at["phase"]: one for one in aggregates(campaign)}
    told = {one.at["phase"]: one for one in headlines(campaign)}
    for phase, row in rows.items():
        assert told[phase].p_adjusted == row.p_adjusted
        assert told[phase].verdict == row.verdict
        assert row.reference_level is not None


def test_percentiles_are_no_places_to_average_over() -> None:
    campaign = reads_and_writes({"50": 1.0, "99": 0.5})
    attempts = tuple(
        msgspec.structs.replace(
            one, series=[msgspec.structs.replace(one.series[0], at={"percentile": [50.0, 99.0]})]
        )
        for one in campaign.attempts
    )
    found = aggregates(msgspec.structs.replace(campaign, attempts=attempts))
    assert [one.at["percentile"] for one in found] == [50.0, 99.0]


def test_a_rule_holds_each_word_against_its_limit() -> None:
    campaign = reads_and_writes({"write": 0.5, "read": 2.0})
    found = check(
        campaign,
        [parse_rule(RuleSource(text="overhead(rate) <= 10 %", kind=Kind.PASS_IF, where="--pass-if"))],
    )
    assert [(one.match.at["operation"], one.outcome) for one in found.verdicts[0].judged] == [
        ("write", Outcome.FAIL),
        ("read", Outcome.PASS),
    ]
