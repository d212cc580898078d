"""Rules judged on campaigns whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.scales import make_application, usl
from support.synthetic import make_attempt, make_campaign, make_case, make_plan
from tare.analysis.checking.check import Check, CheckedComparison, Outcome, RuleFamily, Undecided, check
from tare.analysis.checking.limit_tests import Ternary
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, Rule, RuleSource
from tare.analysis.scales.scaling import scalings
from tare.analysis.table import Cell, tabulate
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.report.checks.words import case_words
from tare.stats.bootstrap import quantile_intervals
from tare.storage.campaign import read_campaign
from truth.campaigns import Figure, Truth, write

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


def fail_if(text: str) -> Rule:
    return parse_rule(RuleSource(text=text, kind=Kind.FAIL_IF, where="--fail-if"))


def pass_if(text: str) -> Rule:
    return parse_rule(RuleSource(text=text, kind=Kind.PASS_IF, where="--pass-if"))


def outcome(campaign: Campaign, *rules: Rule) -> Outcome:
    return check(campaign, rules).outcome


def judged(campaign: Campaign, rule: Rule) -> list[CheckedComparison]:
    return list(check(campaign, [rule]).verdicts[0].judged)


def slower(ratio: float, *, noise: float = 0.005, blocks: int = 8, seed: int = 1) -> Campaign:
    """Return a campaign whose contender takes `ratio` times as long, at one message size."""
    return make_campaign(ratio=ratio, noise=noise, blocks=blocks, seed=seed, sizes=(1024,))


def test_a_coordinate_that_is_called_like_a_setting_does_not_take_its_place(tmp_path: Path) -> None:
    figure = Figure(name="time", at={"workload": ("write", "read"), "network": (1, 2)})
    factors = {"network": ("host", "overlay")}
    campaign = read_campaign(write(Truth(workloads={"a": (figure,)}, factors=factors), tmp_path / "c"))
    rules = fail_if("value(time, network=overlay) > 100 s"), fail_if("overhead(time) > 50 %")
    words = {case_words(one) for rule in rules for one in judged(campaign, rule)}
    assert "time, a, network=overlay at_workload=write at_network=2" in words
    assert all(one.startswith("time, a, network=overlay at_workload=") for one in words)


# --- pass, fail, undecided ---


@pytest.mark.parametrize(("ratio", "expected"), [(1.20, FAIL), (1.01, PASS), (1.05, UNDECIDED)])
def test_a_rule_fails_only_where_the_interval_is_beyond_its_limit(ratio: float, expected: Outcome) -> None:
    campaign = slower(ratio)
    assert outcome(campaign, fail_if("overhead(latency, network=overlay) > 5 %")) is expected
    assert outcome(campaign, pass_if("overhead(latency, network=overlay) <= 5 %")) is expected


def test_two_runs_decide_nothing_however_far_they_are() -> None:
    (one,) = judged(slower(3.0, blocks=2), fail_if("overhead(latency) > 5 %"))
    assert (one.low, one.outcome, one.why) == (None, UNDECIDED, "2 runs: an interval takes 3")
    assert one.value is not None
    assert one.value > 1.5


def test_overhead_is_the_change_of_a_time_and_the_loss_of_a_rate() -> None:
    campaign = make_campaign(ratio=1.5)
    found = {one.match.fom: one for one in judged(campaign, fail_if("overhead() > 5 %"))}
    changes = {one.fom: one for one in aggregates(campaign)}
    assert found.keys() == changes.keys() == {"latency", "bandwidth"}
    for name, one in found.items():
        sign = -1 if name == "bandwidth" else 1
        assert one.value == pytest.approx(sign * (changes[name].change or 0))
        assert one.change[0] == pytest.approx(changes[name].change)
    rate, compared = found["bandwidth"], changes["bandwidth"]
    assert compared.low is not None
    assert compared.high is not None
    assert rate.low == pytest.approx(1 - compared.high)
    assert rate.high == pytest.approx(1 - compared.low)


def test_a_ratio_is_that_of_compare_with_its_interval() -> None:
    campaign = make_campaign(ratio=1.5)
    (one,) = judged(campaign, fail_if("ratio(latency) > 2"))
    (compared,) = [one for one in aggregates(campaign) if one.fom == "latency"]
    assert (one.value, one.low, one.high) == (compared.ratio, compared.low, compared.high)


def test_values_are_judged_point_by_point_in_any_unit_of_their_kind() -> None:
    campaign = make_campaign(noise=0.01)
    found = judged(campaign, fail_if("value(latency, network=host, bytes=1|1KiB) > 0.0205 ms"))
    assert [one.match.at["bytes"] for one in found] == [1, 1024]
    assert [one.limit for one in found] == [pytest.approx(20.5)] * 2
    assert [one.unit for one in found] == ["us", "us"]
    assert all(
        one.value == pytest.approx(20 + 0.001 * size, rel=0.03)
        for one, size in zip(found, (1, 1024), strict=True)
    )


def test_scatter_can_be_limited() -> None:
    campaign = slower(1.0, noise=0.05, blocks=30)
    assert outcome(campaign, fail_if("cv(latency, network=overlay) > 2 %")) is FAIL
    assert outcome(campaign, fail_if("cv(latency, network=overlay) > 30 %")) is PASS
    assert outcome(campaign, fail_if("cv_ratio(latency) > 3")) is PASS
    (one,) = judged(campaign, fail_if("cv(latency, network=overlay) > 2 %"))
    assert one.value == pytest.approx(0.05 * math.sqrt(2), rel=0.4)  # of the run and of the value


def test_a_selector_that_matches_several_cases_judges_each() -> None:
    cases = [
        make_case(network, nodes=nodes) for network in ("host", "overlay", "macvlan") for nodes in (2, 4)
    ]
    campaign = make_campaign(cases, ratio={"overlay": 1.3, "macvlan": 1.0}, noise=0.005, blocks=8, sizes=(1,))
    found = {
        (one.match.at["network"], one.match.at["nodes"]): one.outcome
        for one in judged(campaign, fail_if("overhead(latency) > 10 %"))
    }
    assert found == {("overlay", 2): FAIL, ("overlay", 4): FAIL, ("macvlan", 2): PASS, ("macvlan", 4): PASS}
    assert outcome(campaign, fail_if("overhead(latency, network=macvlan, nodes=2|4) > 10 %")) is PASS
    assert outcome(campaign, pass_if("overhead(latency) < 10 %")) is FAIL


# --- logic ---


def test_and_needs_both_or_needs_one_and_what_is_unknown_stays_so() -> None:
    campaign = slower(1.20)
    true, false = "overhead(latency) > 5 %", "overhead(latency) > 50 %"
    unknown = "overhead(latency) > 20 %"
    assert outcome(campaign, fail_if(unknown)) is UNDECIDED
    assert outcome(campaign, fail_if(f"{true} and {false}")) is PASS
    assert outcome(campaign, fail_if(f"{false} and {unknown}")) is PASS
    assert outcome(campaign, fail_if(f"{true} or {unknown}")) is FAIL
    assert outcome(campaign, fail_if(f"{true} and {unknown}")) is UNDECIDED
    assert outcome(campaign, fail_if(f"{false} or {unknown}")) is UNDECIDED
    assert outcome(campaign, fail_if(f"not {unknown}")) is UNDECIDED
    assert outcome(campaign, fail_if(f"not {false}")) is FAIL


def test_beyond_a_limit_is_no_fault_where_the_rule_excuses_it() -> None:
    found = judged(slower(1.20), fail_if("overhead(latency) > 5 % and overhead(latency) > 50 %"))
    assert [(one.is_beyond, one.outcome) for one in found] == [(Ternary.TRUE, PASS), (Ternary.FALSE, PASS)]


@pytest.mark.parametrize("ratio", [1.0, 1.05, 1.2])
def test_pass_if_is_fail_if_not(ratio: float) -> None:
    campaign = slower(ratio)
    text = "overhead(latency) < 5 % and (ratio(latency) < 1.1 or cv(latency) < 1 %)"
    assert outcome(campaign, pass_if(text)) is outcome(campaign, fail_if(f"not ({text})"))


# --- false alarms ---


def at_the_limit(seed: int, n_contenders: int, noise: float) -> Campaign:
    """Return a campaign in which each contender changes 5 % to the dot, and one shared reference."""
    random = np.random.default_rng(seed)
    cases = [make_case("host"), *(make_case(f"net{i}") for i in range(n_contenders))]
    attempts = [
        make_attempt(case, block, [20.0 * factor * math.exp(random.normal(0, noise))], (1,))
        for block in range(1, 6)
        for case, factor in zip(cases, [1.0, *[1.05] * n_contenders], strict=True)
    ]
    orders = {block: [case.id for case in cases] for block in range(1, 6)}
    plan = make_plan(cases, blocks=5)
    return Campaign(folder=slower(1.0).folder, plan=plan, attempts=tuple(attempts), orders=orders)


def binomial_limit(n: int, share: float) -> float:
    return n * share + 3.3 * math.sqrt(n * share * (1 - share))


@pytest.mark.parametrize(("n_contenders", "n_trials"), [(1, 400), (6, 300)])
def test_at_the_limit_a_check_fails_by_accident_at_most_one_time_in_forty(
    n_contenders: int, n_trials: int
) -> None:
    rule = fail_if("overhead(latency) > 5 %")
    found = [check(at_the_limit(seed, n_contenders, 0.02), [rule]).outcome for seed in range(n_trials)]
    assert found.count(FAIL) <= binomial_limit(n_trials, 0.025)
    assert found.count(PASS) <= binomial_limit(n_trials, 0.025)
    assert UNDECIDED in found


def test_without_the_correction_many_comparisons_would_fail_far_more_often() -> None:
    """What the test before this one guards against is real: it is not that nothing ever fails."""
    rule = fail_if("overhead(latency) > 5 %")
    beyond = [
        any(one.low is not None and one.low > one.limit for one in judged(at_the_limit(seed, 6, 0.02), rule))
        for seed in range(150)
    ]
    assert sum(beyond) > binomial_limit(150, 0.025)


def test_many_rules_share_the_false_alarms_unless_each_is_a_family() -> None:
    campaign = slower(1.08, noise=0.01, blocks=5)
    rules = [
        fail_if("overhead(latency) > 5 %"),
        *[fail_if(f"value(latency) > {limit} s") for limit in range(1, 40)],
    ]
    together, apart = check(campaign, rules), check(campaign, rules, family=RuleFamily.RULE)
    (one,), (other,) = together.verdicts[0].judged, apart.verdicts[0].judged
    assert (together.n_family, apart.n_family) == (79, 2)
    assert one.adjusted_confidence == pytest.approx(1 - 0.05 / 79)
    assert other.adjusted_confidence == 0.95
    assert (one.low, one.high) == (other.low, other.high)
    assert other.outcome is FAIL
    assert one.outcome is UNDECIDED
    assert one.why.startswith("beyond the limit, but not when adjusted")


# --- what is not there ---


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("overhead(network=overlai) > 5 %", "network is one of host, overlay"),
        ("overhead(netwrk=overlay) > 5 %", "did you mean 'network'?"),
        ("overhead(lat) > 5 %", "did you mean 'latency'?"),
        ("overhead(network=host) > 5 %", "contenders are those with network=overlay"),
        ("overhead(bytes=3) > 5 %", "bytes is one of 1024"),
        ("overhead(latency) > 5", "overhead is a share; write it with %"),
        ("cv(latency) > 5", "cv is a share; write it with %"),
        ("ratio(latency) > 5 us", "a ratio has no unit 'us'"),
        ("value(latency) > 5", "write the limit with its unit, such as 2 us"),
        ("value(latency) > 5 GB/s", "GB/s is not a unit of what is measured in us"),
    ],
)
def test_a_rule_about_what_is_not_there_is_an_error_and_names_what_is(text: str, cure: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(slower(1.0), [fail_if(text)])
    assert cure in str(caught.value)
    assert str(caught.value).splitlines()[1] == f"  {text}"


def test_without_a_reference_there_is_no_overhead() -> None:
    campaign = slower(1.0)
    alone = msgspec.structs.replace(campaign, plan=msgspec.structs.replace(campaign.plan, reference={}))
    with pytest.raises(UsageError, match="give one with --reference"):
        check(alone, [fail_if("overhead() > 5 %")])
    found = check(alone, [fail_if("overhead(latency) > 5 %")], reference={"network": "host"})
    assert found.outcome is PASS


@pytest.mark.parametrize("measured", [(), ("host",), ("overlay",)])
def test_what_was_never_measured_is_undecided_and_not_passed_over(measured: Sequence[str]) -> None:
    campaign = slower(1.0)
    cases = {case.id for case in campaign.plan.cases if case.network in measured}
    kept = tuple(one for one in campaign.attempts if one.case in cases)
    partly = msgspec.structs.replace(campaign, attempts=kept)
    (one,) = judged(partly, fail_if("overhead(latency, network=overlay) > 5 %"))
    lacking = [
        f"{side} has none, since it has not been run" for side in ("host", "overlay") if side not in measured
    ]
    assert (one.outcome, one.n_blocks) == (UNDECIDED, 0)
    assert one.why == f"not measured on both sides: {' and '.join(lacking)}"
    values = judged(partly, fail_if("value(latency) > 5 s"))
    assert [v.why for v in values].count("not measured") == 2 - len(measured)


def test_runs_that_failed_are_reported_and_fail_a_check_that_wants_all() -> None:
    campaign = slower(1.0)
    last = campaign.attempts[-1]
    broken = msgspec.structs.replace(last, state=State.FAILED, reason="killed", series=[])
    campaign = msgspec.structs.replace(campaign, attempts=(*campaign.attempts[:-2], broken))
    rule = fail_if("overhead(latency) > 5 %")
    found = check(campaign, [rule])
    assert found.outcome is PASS
    assert str(found.completeness) == "14 of 16 planned runs are done, 1 failed, 1 pending"
    strict = check(campaign, [rule], requires_complete=True)
    assert (strict.outcome, strict.verdicts[0].outcome) == (FAIL, PASS)
    assert check(slower(1.0), [rule], requires_complete=True).outcome is PASS


def test_what_undecided_counts_as_is_the_users_choice() -> None:
    found: Check = check(slower(1.05), [fail_if("overhead(latency) > 5 %")])
    assert found.outcome is UNDECIDED
    assert [found.is_failed(one) for one in Undecided] == [False, False, True]
    failed = msgspec.structs.replace(found, outcome=FAIL)
    assert all(failed.is_failed(one) for one in Undecided)


# --- parallel efficiency ---


def scaled(**changes: object) -> Campaign:
    """Return an application on 1 to 16 nodes: host keeps 74 % of its efficiency there, overlay 40 %."""
    laws = {"host": usl(6, 0.02, 0.0002), "overlay": usl(6, 0.08, 0.0012)}
    return make_application(laws, (1, 2, 4, 8, 16), blocks=8, **changes)  # type: ignore[arg-type]  # by name


def test_an_efficiency_is_that_of_scaling_with_its_interval() -> None:
    campaign = scaled()
    (one,) = judged(campaign, fail_if("efficiency(network=overlay, nodes=16) < 70 %"))
    (curve,) = [curve for curve in scalings(campaign) if curve.settings["network"] == "overlay"]
    told = curve.points[-1].efficiency
    assert told is not None
    assert (one.value, one.low, one.high) == pytest.approx((told.value, told.low, told.high))
    assert (one.outcome, one.unit) == (FAIL, "%")
    assert one.why.endswith("next to nodes=1")


def test_efficiency_is_judged_at_every_scale_but_the_one_that_it_refers_to() -> None:
    found = judged(scaled(), fail_if("efficiency(network=host) < 70 %"))
    assert [one.match.at["nodes"] for one in found] == [2, 4, 8, 16]
    assert {one.outcome for one in found} == {PASS}


def test_a_scale_that_was_not_measured_is_undecided() -> None:
    campaign = scaled(missing=[("overlay", 8)])
    found = judged(campaign, fail_if("efficiency(network=overlay) < 10 %"))
    assert [one.outcome for one in found] == [PASS, PASS, UNDECIDED, PASS]
    assert "not measured at this scale" in found[2].why


def test_a_side_of_which_nothing_was_measured_is_undecided_and_not_passed_over() -> None:
    campaign = scaled(missing=[("overlay", nodes) for nodes in (1, 2, 4, 8, 16)])
    found = judged(campaign, fail_if("efficiency(nodes=16) < 10 %"))
    assert [(one.match.at["network"], one.outcome) for one in found] == [
        ("host", PASS),
        ("overlay", UNDECIDED),
    ]


def test_the_efficiency_of_one_scale_is_refused_with_what_it_takes() -> None:
    with pytest.raises(UsageError, match="several scales"):
        check(slower(1.2), [fail_if("efficiency() < 70 %")])


# --- medians and tails ---


def test_the_median_run_is_judged_by_its_bootstrap_interval() -> None:
    campaign = slower(1.5, noise=0.02, blocks=40)
    (one,) = judged(campaign, fail_if("median(latency, network=overlay) > 25 us"))
    values = tabulate(campaign).values
    latency = values[:, tabulate(campaign).find(one.match.case, [first_cell(campaign, one)])]
    found = quantile_intervals(latency, 0.5, np.random.default_rng(1))
    assert (one.value, one.low, one.high) == pytest.approx((found.centre[0], found.low[0], found.high[0]))
    assert one.value == pytest.approx(float(np.median(latency)))
    assert one.outcome is FAIL


def test_a_tail_without_runs_enough_beyond_it_is_undecided() -> None:
    for rule, least in (("p90(latency) > 1 us", 100), ("median(latency) > 1 us", 20)):
        found = judged(slower(1.5, blocks=19), fail_if(rule))
        assert {one.outcome for one in found} == {UNDECIDED}
        assert found[0].why.startswith(f"19 runs: an interval takes {least}")


def test_a_slow_tail_fails_where_the_median_passes() -> None:
    campaign = slower(1.0, noise=0.3, blocks=150)
    (typical,) = judged(campaign, fail_if("median(latency, network=overlay) > 27 us"))
    (slow,) = judged(campaign, fail_if("p90(latency, network=overlay) > 27 us"))
    assert (typical.outcome, slow.outcome) == (PASS, FAIL)


def first_cell(campaign: Campaign, one: CheckedComparison) -> Cell:
    """Return what the table calls that which was judged."""
    return next(cell for cell in tabulate(campaign).cells(one.match.case) if cell.fom == one.match.fom)
