"""Verdicts on claims of articles, on campaigns of which the truth is known."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

from bench.articles import judging
from bench.articles.article import Kind
from bench.articles.judging import judge
from bench.articles.pages import page
from bench.articles.results import Verdict, read_results
from published.measured_articles import (
    ARTICLES,
    DOES_NOT,
    HOLDS,
    PARTS,
    UNDECIDED,
    Truth,
    campaigns,
    made,
    plan_of,
    same,
    verdicts,
)
from tare.analysis.checking.check import Outcome, check
from tare.core.case import Case
from tare.core.values import Scalar


def by_network(factors: Mapping[str, float]) -> Truth:
    """Return a truth in which a time takes so many times as long on a network, and a rate as much less."""

    def truth(case: Case, fom: str, _at: Scalar) -> float:
        factor = factors.get(case.network or "", 1.0)
        return 1 / factor if fom in {"ns_per_day", "bandwidth", "throughput"} else factor

    return truth


@pytest.mark.parametrize("key", ARTICLES)
def test_every_test_finds_its_figures_in_a_campaign_of_its_study(key: str) -> None:
    article = ARTICLES[key]
    found = judge(article, campaigns(article, same))
    assert [one.part for one in found.parts] == [
        part.id for part in article.parts if part.kind is not Kind.CANNOT
    ]
    assert {one.part: one.why for one in found.parts if one.why} == {}
    assert all(one.evidence for one in found.parts)
    assert all(one.n_done == one.n_planned > 0 for one in found.campaigns)


def test_equal_networks_are_on_a_par_and_none_is_slower() -> None:
    found = verdicts("red-hat", same, noise=0.001)
    assert {found[part] for part in ("1a", "1b", "1e", "2a")} == {HOLDS}
    assert HOLDS not in {found[part] for part in ("1c", "1f", "2b")}


def test_a_slow_overlay_is_slower_and_macvlan_stays_on_a_par() -> None:
    found = verdicts("red-hat", by_network({"overlay": 1.5, "sdn": 9.0}))
    assert {found[part] for part in ("1a", "1b", "1c", "1e", "1f", "2a", "2b")} == {HOLDS}


def test_a_slow_macvlan_is_not_on_a_par() -> None:
    found = verdicts("red-hat", by_network({"macvlan": 1.2, "multus": 0.8}))
    assert {found[part] for part in ("1a", "1b", "1e", "2a")} == {DOES_NOT}


def test_a_number_that_a_range_bounds_is_one_row_with_its_worse_outcome() -> None:
    article = ARTICLES["red-hat"]
    campaign = campaigns(article, by_network({"macvlan": 1.2}))["demo"]
    (found,) = [one for one in judge(article, {"demo": campaign}).parts if one.part == "1a"]
    (row,) = found.evidence
    assert (row.verdict, row.against, row.n) == (DOES_NOT, "network=host", 12)
    measured = float(row.measured.split(" %")[0])
    assert measured == pytest.approx(20.0, abs=0.2)
    assert row.why


def test_the_limit_within_the_interval_says_why_a_range_is_undecided() -> None:
    article = ARTICLES["red-hat"]
    (part,) = [one for one in article.parts if one.id == "1a"]
    campaign = campaigns(article, by_network({"macvlan": 1.05}), noise=0.11)["demo"]
    upper, lower = check(campaign, [judging._rule(part)]).verdicts[0].judged
    assert lower.low is not None
    assert lower.limit < lower.low < upper.limit
    adjusted = msgspec.structs.replace(lower, outcome=Outcome.UNDECIDED, why="not when adjusted for looks")
    assert list(judging._merged([upper, adjusted])) == list(judging._merged([adjusted, upper])) == [upper]


def test_the_page_says_what_a_rule_makes_of_a_figure() -> None:
    texts = {key: page(ARTICLES[key], read_results(key)) for key in ("red-hat", "stackhpc", "cornelis")}
    assert "ratio of the scatter of elapsed, loop, neighbour=apart, against " in texts["red-hat"]
    assert "| ratio of telemetry.network_rate, hpcc, " in texts["stackhpc"]
    assert "efficiency by clock_time, openfoam.motorbike, network=host io=none" in texts["cornelis"]
    assert not re.search(r"(efficiency|ratio) (by|of) latency", texts["red-hat"])


def test_no_rule_joins_its_limits_by_or() -> None:
    assert {part.id for _, part in PARTS if re.search(r"\b(or|not)\b", part.pass_if)} == set()


def test_noise_leaves_everything_undecided() -> None:
    found = verdicts("red-hat", by_network({"overlay": 1.05}), noise=0.5)
    assert {found[part] for part in ("1a", "1b", "1e", "1f", "2a", "2b")} == {UNDECIDED}


@pytest.mark.parametrize(("at_large", "verdict"), [(3.0, HOLDS), (1.2, DOES_NOT)])
def test_a_cost_that_rises_with_the_message_differs_from_one_that_falls(
    at_large: float, verdict: Verdict
) -> None:
    def truth(case: Case, _fom: str, at: Scalar) -> float:
        return (at_large if at == 1048576 else 2.0) if case.network == "overlay" else 1.0

    assert verdicts("red-hat", truth)["1d"] is verdict


@pytest.mark.parametrize(("noisy", "slow", "verdict"), [("beside", 1.1, HOLDS), ("apart", 0.9, DOES_NOT)])
def test_a_neighbour_is_judged_by_speed_and_by_scatter(noisy: str, slow: float, verdict: Verdict) -> None:
    random = np.random.default_rng(1)

    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        neighbour = case.settings["neighbour"]
        noise = 0.05 if neighbour == noisy else 0.0
        return (slow if neighbour == "beside" else 1.0) * float(np.exp(random.normal(0, noise)))

    article = ARTICLES["red-hat"]
    (study,) = [one for one in article.studies if one.name == "isolation"]
    found = judge(article, {"isolation": made(plan_of(article, study), truth)})
    assert {one.part: one.verdict for one in found.parts} == {"3a": verdict, "3b": verdict}


def test_a_cost_that_seems_to_rise_within_the_noise_is_undecided() -> None:
    def truth(case: Case, _fom: str, at: Scalar) -> float:
        return (2.4 if at == 1048576 else 2.0) if case.network == "overlay" else 1.0

    article = ARTICLES["red-hat"]
    study = next(one for one in article.studies if one.name == "demo")
    found = judge(article, {"demo": made(plan_of(article, study), truth, noise=0.3)})
    (rising,) = [one for one in found.parts if one.part == "1d"]
    quotient = rising.evidence[-1].measured
    assert float(quotient.split()[0]) > 1, quotient
    assert rising.verdict is UNDECIDED


@pytest.mark.parametrize(
    ("n_blocks", "why"), [(0, "not judged: no block has both sides at both points"), (1, "")]
)
def test_a_cost_that_was_measured_too_seldom_to_rise_is_undecided(n_blocks: int, why: str) -> None:
    article = ARTICLES["red-hat"]
    whole = campaigns(article, by_network({"overlay": 2.0}))["demo"]
    few = tuple(one for one in whole.attempts if one.block <= n_blocks)
    found = judge(article, {"demo": msgspec.structs.replace(whole, attempts=few)})
    (rising,) = [one for one in found.parts if one.part == "1d"]
    assert (rising.verdict, rising.why) == (UNDECIDED, why)


def test_one_campaign_of_192_runs_has_more_than_180() -> None:
    article = ARTICLES["red-hat"]
    whole = campaigns(article, same)["many-runs"]
    begun = msgspec.structs.replace(whole, attempts=whole.attempts[:180])
    parts = [
        msgspec.structs.replace(one, more_runs_than=192) if one.more_runs_than else one
        for one in article.parts
    ]
    asks_more = msgspec.structs.replace(article, parts=tuple(parts))
    for asked, campaign, verdict in (
        (article, whole, HOLDS),
        (article, begun, UNDECIDED),
        (asks_more, whole, DOES_NOT),
    ):
        (found,) = judge(asked, {"many-runs": campaign}).parts
        assert found.verdict is verdict
