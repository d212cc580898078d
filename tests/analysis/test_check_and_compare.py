"""A check and `tare compare` say the same of the same row, and looks share the error in both."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.checking.check import CheckedComparison, Outcome, RuleFamily, check
from tare.analysis.checking.quantities import Quantity, of_sides, of_values
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Function, Kind, RuleSource
from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.variability import variabilities
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.report.checks.words import in_compare
from tare.stats.intervals import Floats
from truth.campaigns import RATE, Figure, Truth, by_level, campaign, campaigns
from truth.noise import lognormal

DECIDED = (Verdict.WORSE, Verdict.BETTER)


def judged(found: Campaign, *rules: str, family: RuleFamily = RuleFamily.CHECK) -> list[CheckedComparison]:
    sources = [RuleSource(text=text, kind=Kind.FAIL_IF, where="test") for text in rules]
    verdicts = check(found, parse_rules(sources), family=family).verdicts
    return [one for verdict in verdicts for one in verdict.judged]


def many(ratio: float, seed: int) -> Campaign:
    """Return one contender at ten scales, so that one row alone is surer than among all of them."""
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in range(2, 12)]
    return make_campaign(cases, ratio=ratio, noise=0.015, seed=seed)


@pytest.mark.parametrize("family", RuleFamily)
def test_a_rule_on_one_row_is_no_surer_of_a_difference_than_compare_is_among_all(family: RuleFamily) -> None:
    n_undecided = 0
    for seed in range(4):
        found = many(1.03, seed)
        rows = {
            (one.contender_case, one.fom, one.at.get("bytes")): one
            for one in (*comparisons(found), *aggregates(found))
        }
        for nodes in range(2, 12, 3):
            rules = (f"overhead(nodes={nodes}) > 0 %", f"ratio(latency, nodes={nodes}, bytes=1024) > 1")
            for rule in rules:
                for one in judged(found, rule, family=family):
                    row = rows[one.match.case, one.match.fom, one.match.at.get("bytes")]
                    assert one.verdict is row.verdict
                    assert one.outcome is not Outcome.FAIL or row.verdict in (*DECIDED, Verdict.EQUIVALENT)
                    if "no sure difference among the" in one.why:
                        n_undecided += 1
                        assert (one.outcome, row.verdict) == (Outcome.UNDECIDED, Verdict.UNDECIDED)
                        assert f"among the {row.family} of 'tare compare'" in one.why
    assert n_undecided, "some would have failed alone"


def test_the_scatter_of_a_row_has_the_verdict_of_its_table() -> None:
    found = campaign(Truth(blocks=20, noise=lognormal(0.01), contender_noise=lognormal(0.05)))
    (row,) = variabilities(found)
    (one,) = judged(found, "cv_ratio() > 1")
    assert (one.verdict, one.outcome) == (row.verdict, Outcome.FAIL) == (Verdict.WORSE, Outcome.FAIL)
    assert in_compare(one) == "▲ worse (scatter)"


def test_what_no_table_compares_has_no_verdict_there() -> None:
    found = campaign(Truth())
    assert {one.verdict for one in judged(found, "value(time) > 2 s", "cv(time) > 5 %")} == {None}


def test_a_limit_that_equal_sides_break_is_no_claim_of_a_difference() -> None:
    (one,) = judged(campaign(Truth(blocks=8)), "overhead() > -20 %")
    assert (one.outcome, one.verdict is Verdict.UNDECIDED or one.verdict is Verdict.EQUIVALENT) == (
        Outcome.FAIL,
        True,
    )


def test_a_check_names_the_mean_of_its_ratios() -> None:
    found = msgspec.structs.replace(campaign(Truth()), mean=Mean.ARITHMETIC)
    rule = RuleSource(text="overhead() > 5 %", kind=Kind.FAIL_IF, where="test")
    assert check(found, parse_rules([rule])).mean is Mean.ARITHMETIC


def looked_at(blocks: int, *looks: int) -> SessionEnds:
    """Return the ends of sessions after each of `looks`, of so many blocks."""
    sessions = np.array([sum(block >= one for one in looks) for block in range(blocks)], np.int64)
    return SessionEnds(sessions, tuple(range(len(looks))))


def of(function: Function, values: Floats, ends: SessionEnds) -> Quantity:
    """Return a quantity whose truth is its limit: 0.05 of an overhead, 1 of a ratio of scatters, else 10."""
    reference, contender = values[0], 1.05 * values[1]
    n = reference.shape[1]
    if not function.has_reference:
        return of_values(function, 10 * reference, ends)
    is_paired, better = np.ones(n, np.bool_), [Better.LOWER] * n
    return of_sides(function, reference, contender, is_paired, better, ends=ends)


@pytest.mark.parametrize(
    ("function", "truth", "looks"),
    [
        (Function.OVERHEAD, 0.05, (5, 10, 20)),
        (Function.VALUE, 10.0, (5, 10, 20)),
        (Function.CV_RATIO, 1.0, (8, 16)),
        (Function.MEDIAN, 10.0, (20, 40)),
    ],
)
def test_outcomes_that_are_waited_for_are_not_more_often_false(
    function: Function, truth: float, looks: tuple[int, ...]
) -> None:
    """Where the truth is the limit a pass is as false as a failure; plain intervals do it in up to 10 %."""
    n_studies = 300 if function is Function.MEDIAN else 1500
    values = np.exp(np.random.default_rng(3).normal(0, 0.02, (2, looks[-1], n_studies)))
    is_false, is_plain = np.zeros(n_studies, np.bool_), np.zeros(n_studies, np.bool_)
    for number, blocks in enumerate(looks, 1):
        quantity = of(function, values[:, :blocks], looked_at(blocks, *looks[:number]))
        for bounds, found in ((quantity.claims(0.95), is_false), (quantity.bounds(0.95), is_plain)):
            found |= (bounds.low > truth) | (bounds.high < truth)
    assert is_false.mean() <= 0.06 + 0.02 * (function is Function.MEDIAN)
    assert is_plain.mean() > is_false.mean() + 0.01


def test_a_pass_allows_for_looks_and_reports_where_only_they_keep_it() -> None:
    truth = Truth(slowing=by_level("network", {"overlay": 1.045}), noise=lognormal(0.005), blocks=20)
    whys = set()
    for each in campaigns(truth, 40):
        attempts = tuple(msgspec.structs.replace(one, session=1 + (one.block > 10)) for one in each.attempts)
        (one,) = judged(msgspec.structs.replace(each, attempts=attempts), "overhead() > 5 %")
        whys.add((one.outcome.value, one.why))
    look = "a second look at the results, so judged more strictly"
    assert ("undecided", f"within the limit alone, but not when adjusted for looks; {look}") in whys
    assert ("pass", f"the whole interval is within the limit; {look}") in whys


def waited(noise: float = 0.004) -> Truth:
    """Return a solver whose rate is the same on all networks, while its wall time doubles on one of them."""
    wall = Figure(name="wall_time", is_primary=False, level=100.0)
    setup = Figure(name="setup_time", is_primary=False, level=5.0)
    return Truth(
        factors={"network": ("host", "macvlan", "overlay")},
        workloads={"solver": (RATE, wall, setup)},
        slowing=lambda settings, fom: 2.0 if (settings["network"], fom) == ("overlay", "wall_time") else 1.0,
        noise=lognormal(noise),
        blocks=8,
    )


def test_a_rule_without_a_figure_looks_at_what_is_quoted_and_at_each_longer_elapsed_time() -> None:
    found = campaign(waited())
    for rule, kind in (("overhead() > 5 %", Kind.FAIL_IF), ("overhead() <= 5 %", Kind.PASS_IF)):
        source = RuleSource(text=rule, kind=kind, where="test")
        result = check(found, parse_rules([source]))
        assert result.outcome is Outcome.FAIL
        rows = {(one.match.case, one.match.fom): one for one in result.verdicts[0].judged}
        shown = {(one.contender_case, one.fom): one for one in quoted(aggregates(found))}
        assert {key: one.verdict for key, one in rows.items()} == {
            key: one.verdict for key, one in shown.items()
        }, "as compare shows them: the wall time of both contenders, and no setup time"
        assert {fom for _, fom in rows} == {"rate", "wall_time"}
        failed = [key for key, one in rows.items() if one.outcome is Outcome.FAIL]
        assert [found.cases[case].network for case, _ in failed] == ["overlay"]
    assert {one.match.fom for one in judged(found, "overhead(network=macvlan) > 5 %")} == {
        "rate",
        "wall_time",
    }
    assert {one.match.fom for one in judged(found, "overhead(rate) > 5 %")} == {"rate"}


def test_what_got_no_longer_is_left_to_rules_that_name_it() -> None:
    truth = dataclasses.replace(waited(), slowing=lambda settings, fom: 1.0)
    assert {one.match.fom for one in judged(campaign(truth), "overhead() > 5 %")} == {"rate"}
