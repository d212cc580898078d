"""Which cases go on: by the width of what is compared, never by its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.synthetic import SIZES, make_attempt, make_campaign, make_case
from tare.analysis.repeats.stopping import CasePrecision, StoppingRule, case_precisions, expected_blocks
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.values import Scalar
from tare.stats.sequential import caution

HOST, OVERLAY, MACVLAN = (make_case(network) for network in ("host", "overlay", "macvlan"))


def plan_of(*cases: Case, until: float = 0.02, least: int = 3, most: int = 30) -> Plan:
    plan = make_campaign([HOST, OVERLAY, MACVLAN]).plan
    chosen = tuple(case for case in plan.cases if case in cases)
    return msgspec.structs.replace(
        plan, cases=chosen or plan.cases, repeats=Repeats(min=least, max=most, until=until)
    )


def rule_for(plan: Plan, attempts: Sequence[Attempt]) -> StoppingRule:
    rule = StoppingRule(plan)
    for attempt in attempts:
        rule.add(attempt)
    return rule


def runs(case: Case, *factors: float, first: int = 1) -> list[Attempt]:
    """Return one attempt a block, each so many times slower than 20 µs at every size."""
    return [
        make_attempt(case, block, [20 * factor] * len(SIZES)) for block, factor in enumerate(factors, first)
    ]


STEADY = [1.0] * 5
NOISY = [1.0, 1.3, 0.8, 1.1, 0.9]


def test_a_contender_and_its_reference_go_on_while_their_ratio_is_not_known() -> None:
    attempts = [*runs(HOST, *STEADY), *runs(OVERLAY, *NOISY), *runs(MACVLAN, *STEADY)]
    assert rule_for(plan_of(), attempts).wanted() == {HOST.id, OVERLAY.id}


def test_a_reference_stops_with_the_last_of_its_contenders() -> None:
    attempts = [*runs(HOST, *STEADY), *runs(OVERLAY, *STEADY), *runs(MACVLAN, *STEADY)]
    assert rule_for(plan_of(), attempts).wanted() == set()


def test_drift_that_both_sides_share_keeps_nobody_going() -> None:
    drift = [1.0, 1.3, 1.7, 2.2, 2.9]
    attempts = [*runs(HOST, *drift), *runs(OVERLAY, *drift), *runs(MACVLAN, *drift)]
    assert rule_for(plan_of(), attempts).wanted() == set()
    alone = rule_for(plan_of(HOST), runs(HOST, *drift))
    assert alone.wanted() == {HOST.id}, "by itself it is not known at all"


def test_a_large_difference_does_not_stop_what_is_not_known_well() -> None:
    clearly_worse = [10 * factor for factor in NOISY]
    attempts = [*runs(HOST, *STEADY), *runs(OVERLAY, *clearly_worse)]
    assert rule_for(plan_of(HOST, OVERLAY), attempts).wanted() == {HOST.id, OVERLAY.id}


def test_the_width_is_that_of_the_interval_of_the_ratio_with_caution() -> None:
    # log ratios −h, 0, h: half width t(2) h/√3 = 4.303 h/√3, and 1 + (6/3)³ = 9 times that at 3 blocks
    exact = math.expm1(9 * 4.302652729911275 * 0.001 / math.sqrt(3))
    attempts = [*runs(HOST, 1, 1, 1), *runs(OVERLAY, math.exp(-0.001), 1, math.exp(0.001))]
    for until, is_settled in ((exact * 1.0001, True), (exact * 0.9999, False)):
        (one,) = rule_for(plan_of(HOST, OVERLAY, until=until), attempts).precisions()
        assert (one.case, one.against, one.n_blocks) == (OVERLAY.id, HOST.id, 3)
        assert one.is_settled is is_settled
        assert one.half_width == pytest.approx(exact)
        assert one.deviation == pytest.approx(0.001)


def test_fewer_than_three_common_blocks_are_never_enough() -> None:
    attempts = [*runs(HOST, *STEADY), *runs(OVERLAY, 1, 1, first=5)]
    (one,) = rule_for(plan_of(HOST, OVERLAY), attempts).precisions()
    assert (one.n_blocks, one.half_width, one.is_settled) == (1, None, False)


def test_a_case_that_never_came_out_well_is_not_repeated() -> None:
    rule = rule_for(plan_of(HOST, OVERLAY), runs(HOST, *STEADY))
    assert rule.wanted() == set()
    assert [(one.case, one.is_settled) for one in rule.precisions()] == [(OVERLAY.id, False)]


def test_a_contender_whose_reference_never_came_out_well_is_known_by_itself() -> None:
    rule = rule_for(plan_of(HOST, OVERLAY), runs(OVERLAY, *NOISY))
    assert rule.wanted() == {OVERLAY.id}
    assert [one.against for one in rule.precisions()] == [None]


def test_a_run_that_was_tried_again_counts_once() -> None:
    plan = plan_of(HOST)
    rule = rule_for(plan, runs(HOST, *STEADY[:4], 9))
    rule.add(runs(HOST, 1, first=5)[0])
    assert rule.precisions() == case_precisions(plan, runs(HOST, *STEADY))


def with_jitter(attempt: Attempt, value: float) -> Attempt:
    jitter = Series(fom="jitter", unit="us", values=[value])
    return msgspec.structs.replace(attempt, series=[*attempt.series, jitter])


def test_only_primary_figures_of_merit_decide() -> None:
    attempts = [with_jitter(one, 5.0**one.block) for one in runs(HOST, *STEADY)]
    plan = plan_of(HOST)
    assert rule_for(plan, attempts).wanted() == set()
    unknown = msgspec.structs.replace(plan, foms={})
    assert rule_for(unknown, attempts).wanted() == {HOST.id}, "without any, all decide"


def test_noise_of_single_sizes_averages_out_over_sizes() -> None:
    opposed = [
        make_attempt(HOST, block, [20 * factor, 20 / factor], SIZES[:2])
        for block, factor in enumerate((1, 2, 4, 3, 1), 1)
    ]
    assert rule_for(plan_of(HOST, until=1e-6), opposed).wanted() == set()


def test_sides_without_a_common_point_are_known_each_by_itself() -> None:
    def by_host(host: str, *factors: float) -> list[Attempt]:
        case = HOST if host == "n1" else OVERLAY
        at: dict[str, list[Scalar]] = {"host": [host]}
        return [
            msgspec.structs.replace(one, series=[Series(fom="latency", unit="us", at=at, values=[factor])])
            for one, factor in zip(runs(case, *factors), factors, strict=True)
        ]

    plan = plan_of(HOST, OVERLAY)
    assert rule_for(plan, by_host("n1", *STEADY) + by_host("n2", *STEADY)).wanted() == set()
    assert rule_for(plan, by_host("n1", *NOISY) + by_host("n2", *STEADY)).wanted() == {HOST.id, OVERLAY.id}


@pytest.mark.parametrize(
    ("values", "is_settled"), [([0] * 5, True), ([0, 1, 0, 1, 0], False), ([-5] * 5, True)]
)
def test_values_of_zero_or_less_are_judged_by_their_share_of_the_mean(
    values: list[float], is_settled: bool
) -> None:
    attempts = [
        msgspec.structs.replace(one, series=[Series(fom="errors", unit="1", values=[value])])
        for one, value in zip(runs(HOST, *STEADY), values, strict=True)
    ]
    (one,) = rule_for(msgspec.structs.replace(plan_of(HOST), foms={}), attempts).precisions()
    assert one.is_settled is is_settled


def half_widths_in_comparisons(campaign: Campaign) -> dict[str, float]:
    """Return the widest interval of each contender's ratios, as `compare` has them, as a log half width."""
    widest: dict[str, float] = {}
    for one in aggregates(campaign):
        if one.low is not None and one.high is not None and "unpaired" not in one.note:
            width = math.log(one.high / one.low) / 2
            widest[one.contender_case] = max(widest.get(one.contender_case, 0), width)
    return widest


@given(seed=st.integers(0, 10**6), n_lost=st.integers(0, 6), n_blocks=st.sampled_from([7, 10, 16]))
@settings(max_examples=60)
def test_what_is_judged_are_the_intervals_that_are_reported(seed: int, n_lost: int, n_blocks: int) -> None:
    """Also where runs failed, sizes are missing from some, and one has no bandwidth (0 bytes).

    Of ten blocks or more, those that resemble the ones before them count as fewer, also by chance.
    """
    campaign = make_campaign([HOST, OVERLAY, MACVLAN], blocks=n_blocks, seed=seed, sizes=(0, 1, 1024, 65536))
    random = np.random.default_rng(seed)
    attempts = list(campaign.attempts)
    for index in random.choice(len(attempts), n_lost, replace=False).tolist():
        attempts[index] = _damaged(attempts[index], random.choice(["failed", "short"]))
    campaign = msgspec.structs.replace(campaign, attempts=tuple(attempts))
    wanted = half_widths_in_comparisons(campaign)
    found = [one for one in case_precisions(plan_of(), campaign.measured()) if one.case in wanted]
    for one in found:
        assert one.half_width is not None
        log_width = math.log1p(one.half_width) / float(caution(np.array(one.n_blocks)))
        assert log_width == pytest.approx(wanted[one.case], rel=1e-9)


def test_blocks_that_resemble_those_before_them_go_on() -> None:
    """A network that gets slower from block to block is not known by how close its neighbours are."""
    drift = [1 + 0.004 * block for block in range(12)]
    alternate = [1 + 0.022 * (block % 2) for block in range(12)]
    plan = plan_of(HOST, OVERLAY)
    for factors, wanted in ((alternate, set()), (drift, {HOST.id, OVERLAY.id})):
        attempts = [*runs(HOST, *[1.0] * 12), *runs(OVERLAY, *factors)]
        assert rule_for(plan, attempts).wanted() == wanted


def _damaged(attempt: Attempt, how: str) -> Attempt:
    if how == "failed":
        return msgspec.structs.replace(attempt, state=State.FAILED, series=[])
    short = [
        msgspec.structs.replace(
            one, values=one.values[:-1], at={name: column[:-1] for name, column in one.at.items()}
        )
        for one in attempt.series
    ]
    return msgspec.structs.replace(attempt, series=short)


def standing(deviation: float | None) -> CasePrecision:
    return CasePrecision(
        case="c", against=None, n_blocks=5, half_width=0.1, deviation=deviation, is_settled=False
    )


@pytest.mark.parametrize(
    ("deviation", "expected"), [(0.0, 5), (0.001, 5), (0.02, 10), (0.06, 38), (1.0, 60), (None, None)]
)
def test_the_expected_blocks_follow_from_the_noise(deviation: float | None, expected: int | None) -> None:
    assert expected_blocks(standing(deviation), plan_of(least=5, most=60)) == expected
