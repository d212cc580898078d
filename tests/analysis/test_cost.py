"""What a plan will cost, after its time-out and after an earlier campaign."""

from __future__ import annotations

import msgspec
import pytest

from support.synthetic import SIZES, make_attempt, make_campaign, make_case, make_plan
from tare.analysis.repeats.cost import cost
from tare.core.attempt import Attempt, Source
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.study import Repeats

HOST, OVERLAY, OTHER = make_case("host"), make_case("overlay"), make_case("host", workload="other")
N_HOSTS = {HOST.id: 2, OVERLAY.id: 2, OTHER.id: 1}


def plan_of(*cases: Case, repeats: Repeats = Repeats(min=4, max=20, until=0.02), warmup: int = 0) -> Plan:
    return msgspec.structs.replace(make_plan(cases), repeats=repeats, warmup=warmup, timeout_s=360.0)


def lasting(case: Case, *seconds: float, noise: float = 1.0) -> list[Attempt]:
    """Return one attempt a block; they scatter by `noise` from one block to the next."""
    return [
        msgspec.structs.replace(
            make_attempt(case, block, [20 * noise ** (block % 2)] * len(SIZES)), elapsed_s=elapsed_s
        )
        for block, elapsed_s in enumerate(seconds, 1)
    ]


def past(*attempts: Attempt, n_at_a_time: int = 1) -> Campaign:
    """Return a campaign of these attempts, so many of which run beside one another."""
    timed, at = [], 1e9
    for number, one in enumerate(attempts, 1):
        timed.append(msgspec.structs.replace(one, started_at=at))
        if number % n_at_a_time == 0:
            at += 10_000.0
    return msgspec.structs.replace(make_campaign([HOST, OVERLAY]), attempts=tuple(timed))


def test_without_a_past_only_the_time_out_bounds_the_hours() -> None:
    found = cost(plan_of(HOST, OVERLAY), N_HOSTS)
    assert (found.least.runs, found.least.hours) == (8, None)
    assert (found.most.runs, found.most.hours, found.most.node_hours) == (40, 4.0, 8.0)
    assert found.expected is None


def test_earlier_runs_give_the_median_time_of_each_case() -> None:
    like = past(*lasting(HOST, 36, 36, 3600, 36), *lasting(OVERLAY, 72, 72, 1, 72))
    found = cost(plan_of(HOST, OVERLAY), N_HOSTS, like)
    assert found.expected is not None
    assert found.expected.runs == 8
    assert found.expected.hours == pytest.approx(4 * 0.03)
    assert found.expected.node_hours == pytest.approx(4 * 0.06)
    assert [(one.blocks, one.elapsed_s, one.is_measured) for one in found.cases] == [
        (4, 36, True),
        (4, 72, True),
    ]


def test_runs_beside_one_another_take_less_time_by_the_clock_and_no_fewer_node_hours() -> None:
    like = past(*lasting(HOST, 36, 36, 36, 36), *lasting(OVERLAY, 36, 36, 36, 36), n_at_a_time=4)
    found = cost(plan_of(HOST, OVERLAY), N_HOSTS, like)
    assert found.expected is not None
    assert found.expected.hours == pytest.approx(8 * 0.01 / 4)
    assert found.expected.node_hours == pytest.approx(8 * 0.02)


def test_queues_and_starts_are_part_of_what_is_expected() -> None:
    waited = [
        msgspec.structs.replace(one, queued_s=7.0, starting_s=2.0, ending_s=1.0)
        for one in (*lasting(HOST, 26, 26, 26, 26), *lasting(OVERLAY, 26, 26, 26, 26))
    ]
    found = cost(plan_of(HOST, OVERLAY), N_HOSTS, past(*waited))
    assert found.expected is not None
    assert found.expected.hours == pytest.approx(8 * 36 / 3600)
    assert found.expected.node_hours == pytest.approx(8 * 2 * 29 / 3600)
    assert found.expected.program_hours == pytest.approx(8 * 26 / 3600)


def test_noise_asks_for_blocks_and_the_reference_goes_with_its_contender() -> None:
    like = past(*lasting(HOST, 1, 1, 1, 1), *lasting(OVERLAY, 1, 1, 1, 1, noise=1.03))
    found = cost(plan_of(HOST, OVERLAY), N_HOSTS, like)
    assert [one.blocks for one in found.cases] == [9, 9]
    fixed = cost(plan_of(HOST, OVERLAY, repeats=Repeats(min=7, max=7)), N_HOSTS, like)
    assert [one.blocks for one in fixed.cases] == [7, 7]


def test_what_has_no_past_is_taken_as_the_median_of_the_rest_and_counted() -> None:
    like = past(*lasting(HOST, 10, 10), *lasting(OVERLAY, 30, 30))
    found = cost(plan_of(HOST, OVERLAY, OTHER), N_HOSTS, like)
    assert found.n_guessed == 1
    assert [(one.elapsed_s, one.is_measured) for one in found.cases] == [(10, True), (30, True), (20, False)]
    assert [one.blocks for one in found.cases] == [20, 20, 20], "two blocks tell nothing of noise"


def test_warm_up_takes_hours_and_is_no_run() -> None:
    found = cost(plan_of(HOST, repeats=Repeats(min=5, max=5), warmup=1), N_HOSTS)
    assert found.most.runs == 5
    assert found.most.hours == pytest.approx(0.6)


def test_a_campaign_of_other_cases_or_of_imported_runs_gives_no_time() -> None:
    other = past(*lasting(OTHER, 5, 5))
    imported = past(
        *(msgspec.structs.replace(one, source=Source("f", "0")) for one in lasting(HOST, 5, 5, 5))
    )
    assert cost(plan_of(HOST), N_HOSTS, other).expected is None
    assert cost(plan_of(HOST), N_HOSTS, imported).expected is None
