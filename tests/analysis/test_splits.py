"""The sizes that a sentence tells of: a family of their own, with one verdict in every output."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.families import FamilyKind
from tare.analysis.verdicts.headline import headlines
from tare.analysis.verdicts.questions import questions
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Correction, Finding
from tare.core.verdict import Verdict

SIZES = (1, 4096, 16384, 32768, 1048576)
"""One of small messages, three between, and one of large ones."""

CONTENDERS = ("bridge", "ipvlan", "macvlan", "overlay")


def near(seed: int) -> Campaign:
    """Return a campaign whose effects are about as large as its blocks can tell."""
    cases = [make_case(network) for network in ("host", *CONTENDERS)]
    return make_campaign(cases, ratio=1.05, noise=0.012, sizes=SIZES, seed=seed)


def said(one: Finding) -> tuple[object, ...]:
    return one.verdict, one.family, one.correction, one.p_adjusted, one.low, one.high


def by_size(found: Campaign) -> dict[tuple[str, str, object], Comparison]:
    return {(one.contender_case, one.fom, one.at["bytes"]): one for one in comparisons(found)}


def test_a_split_of_a_single_size_has_one_verdict_in_sentence_table_and_check() -> None:
    n_near = 0
    for seed in range(12):
        found = near(seed)
        points = by_size(found)
        for one in headlines(found):
            size = 1 if one.fom == "latency" else 1048576
            ((_, case),) = one.cases
            row = points[case, one.fom, size]
            assert said(one) == said(row)
            assert row.correction is Correction.HOLM, "the sentence keeps its 5 %"
            rule = parse_rule(
                RuleSource(
                    text=f"overhead({one.fom}, bytes={size}) > 2 %", kind=Kind.FAIL_IF, where="--fail-if"
                )
            )
            judged = {each.match.case: each.verdict for each in check(found, [rule]).verdicts[0].judged}
            assert judged[case] is one.verdict
            n_near += one.verdict is Verdict.UNDECIDED
    assert n_near > 10, "close enough to 5 % for families to differ"


def test_splits_are_a_family_of_their_own_and_the_rest_of_the_points_another() -> None:
    families = {one.kind: one for one in questions(near(1)).families}
    assert len(families[FamilyKind.SPLITS].subjects) == 2 * len(CONTENDERS), (
        "latency and bandwidth of each case"
    )
    assert len(families[FamilyKind.POINTS].subjects) == 2 * len(CONTENDERS) * 3 + 2 * len(CONTENDERS)
    several = make_campaign(sizes=(1, 64, 4096, 65536, 1048576))
    assert [(one.fom, one.family) for one in headlines(several)] == [("latency", 2), ("bandwidth", 2)]
    assert {one.correction for one in comparisons(several)} == {Correction.FDR}, "no split is one of them"


def test_a_figure_with_one_size_that_both_sides_have_is_the_same_row_in_both_tables() -> None:
    found = make_campaign(sizes=(1, 4096))
    reference = found.plan.cases[0].id
    attempts = tuple(
        msgspec.structs.replace(
            one,
            series=[
                msgspec.structs.replace(each, at={"bytes": [1]}, values=each.values[:1])
                for each in one.series
            ],
        )
        if one.case == reference
        else one
        for one in found.attempts
    )
    found = msgspec.structs.replace(found, attempts=attempts)
    figures = {one.fom: one for one in aggregates(found)}
    points = {(one.fom, one.at["bytes"]): one for one in comparisons(found)}
    for fom in ("latency", "bandwidth"):
        assert said(figures[fom]) == said(points[fom, 1])
        assert points[fom, 4096].ratio is None


@pytest.mark.parametrize("fom", ["latency", "bandwidth"])
def test_to_ask_for_one_figure_changes_no_verdict_of_its_splits(fom: str) -> None:
    found = near(3)
    every = {key: said(one) for key, one in by_size(found).items() if key[1] == fom}
    alone = {
        (one.contender_case, one.fom, one.at["bytes"]): said(one) for one in comparisons(found, foms=(fom,))
    }
    assert alone == every
