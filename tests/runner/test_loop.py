"""The loop: blocks, retries, resume, precision and budgets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support.doubles import MemoryLog
from support.synthetic import make_case
from tare.errors import BackendError
from tare.model.attempt import Attempt, State
from tare.model.case import Case, Run
from tare.model.plan import Plan
from tare.model.study import Budget, Repeats
from tare.runner.loop import Loop, Progress

CASES = tuple(make_case(network) for network in ("host", "overlay", "macvlan"))


def make_plan(repeats: Repeats = Repeats(min=3, max=3), *, warmup: int = 0, retries: int = 2) -> Plan:
    return Plan(
        study="s",
        site="here",
        cases=CASES,
        repeats=repeats,
        warmup=warmup,
        retries=retries,
        reference={"network": "host"},
    )


def attempt(
    case: Case, run: Run, number: int, state: State = State.DONE, *, is_infrastructure: bool = False
) -> Attempt:
    return Attempt(
        case=case.id,
        block=run.block,
        attempt=number,
        state=state,
        is_infrastructure=is_infrastructure,
        reason="" if state is State.DONE else "because",
        started_at=0.0,
        elapsed_s=1.0,
        hosts=["n1", "n2"],
    )


def done(case: Case, run: Run, number: int) -> Attempt:
    return attempt(case, run, number)


def test_every_block_passes_once_over_all_cases_in_its_recorded_order() -> None:
    log = MemoryLog()
    plan = make_plan()
    Loop(plan, log, done).run()
    assert [block for block, _ in log.blocks] == [1, 2, 3]
    began = [(block, case) for block, case, _ in log.began]
    assert began == [(block, case.id) for block in (1, 2, 3) for case in plan.order(block)]
    assert began == [(block, case) for block, order in log.blocks for case in order]


def test_warm_up_passes_come_first_and_are_not_measured() -> None:
    log = MemoryLog()
    seen: list[Progress] = []
    Loop(make_plan(warmup=2), log, done, on_progress=seen.append).run()
    assert [block for block, _ in log.blocks] == [-1, 0, 1, 2, 3]
    assert (seen[-1].n_done, seen[-1].n_runs) == (9, 9)


def test_what_the_infrastructure_broke_is_retried_and_what_failed_is_not() -> None:
    def execute(case: Case, run: Run, number: int) -> Attempt:
        if case == CASES[0] and number < 3:
            return attempt(case, run, number, State.FAILED, is_infrastructure=True)
        return attempt(case, run, number, State.FAILED if case == CASES[1] else State.DONE)

    log = MemoryLog()
    Loop(make_plan(Repeats(min=1, max=1)), log, execute).run()
    numbers = {case.id: [number for _, one, number in log.began if one == case.id] for case in CASES}
    assert numbers == {CASES[0].id: [1, 2, 3], CASES[1].id: [1], CASES[2].id: [1]}


def test_a_place_that_is_broken_ends_the_session_after_three_runs() -> None:
    def broken(case: Case, run: Run, number: int) -> Attempt:
        return attempt(case, run, number, State.FAILED, is_infrastructure=True)

    log = MemoryLog()
    with pytest.raises(BackendError, match="3 runs in a row could not be run: because"):
        Loop(make_plan(), log, broken).run()
    assert len(log.ended) == 9  # three runs, three attempts each


def test_resume_runs_only_what_is_not_settled() -> None:
    plan = make_plan()
    first = MemoryLog()
    history: list[Attempt] = []

    def dies_at_the_fifth(case: Case, run: Run, number: int) -> Attempt:
        if len(history) == 4:
            raise KeyboardInterrupt
        history.append(done(case, run, number))
        return history[-1]

    with pytest.raises(KeyboardInterrupt):
        Loop(plan, first, dies_at_the_fifth).run()
    assert first.ended[-1].state is State.LOST
    second = MemoryLog()
    Loop(plan, second, done, history=first.ended, orders=dict(first.blocks)).run()
    runs = [(one.block, one.case) for one in (*first.ended, *second.ended) if one.state is State.DONE]
    assert len(runs) == len(set(runs)) == 9
    assert second.ended[0].attempt == 2, "the lost attempt keeps its number"
    assert second.blocks == [(3, first_order(plan, 3))], "blocks that had begun are not recorded again"


def first_order(plan: Plan, block: int) -> list[str]:
    return [case.id for case in plan.order(block)]


def test_failed_runs_are_tried_again_only_when_asked() -> None:
    plan = make_plan(Repeats(min=1, max=1))
    history = [
        attempt(case, Run(1, case.id), 1, state)
        for case, state in zip(CASES, (State.DONE, State.FAILED, State.INVALID), strict=True)
    ]
    quiet, asked = MemoryLog(), MemoryLog()
    Loop(plan, quiet, done, history=history).run()
    Loop(plan, asked, done, history=history, is_retrying_failed=True).run()
    assert quiet.began == []
    assert {case for _, case, _ in asked.began} == {CASES[1].id, CASES[2].id}


def test_blocks_go_on_for_the_cases_that_need_them_with_their_reference() -> None:
    overlay = CASES[1].id

    def is_precise(attempts: Sequence[Attempt]) -> bool:
        return attempts[0].case != overlay or len(attempts) >= 5

    log = MemoryLog()
    Loop(make_plan(Repeats(min=3, max=9, until=0.02)), log, done, is_precise=is_precise).run()
    later = {block: set(order) for block, order in log.blocks if block > 3}
    assert later == {4: {CASES[0].id, overlay}, 5: {CASES[0].id, overlay}}


def test_blocks_end_at_the_maximum_when_precision_is_never_reached() -> None:
    log = MemoryLog()
    Loop(make_plan(Repeats(min=3, max=6, until=0.02)), log, done, is_precise=lambda _: False).run()
    assert max(block for block, _ in log.blocks) == 6


@pytest.mark.parametrize(
    ("budget", "blocks"),
    [(Budget(runs=12), 4), (Budget(hours=12 / 3600), 4), (Budget(node_hours=24 / 3600), 4), (Budget(), 9)],
)
def test_a_spent_budget_ends_the_campaign_between_blocks(budget: Budget, blocks: int) -> None:
    log = MemoryLog()
    repeats = Repeats(min=3, max=9, until=0.02, budget=budget)
    Loop(make_plan(repeats), log, done, is_precise=lambda _: False).run()
    assert max(block for block, _ in log.blocks) == blocks


def test_a_campaign_that_grows_runs_only_what_is_new() -> None:
    plan = make_plan(Repeats(min=2, max=2))
    first = MemoryLog()
    Loop(plan, first, done).run()
    grown = make_plan(Repeats(min=3, max=3))
    second = MemoryLog()
    Loop(grown, second, done, history=first.ended, orders=dict(first.blocks)).run()
    assert {block for block, _, _ in second.began} == {3}
