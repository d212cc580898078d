"""The loop goes on where an earlier session ended, with what is left, is new, or failed."""

from __future__ import annotations

import contextlib
import time

import msgspec
import pytest

from execution.planned_runs import CASES, attempt, done, make_plan
from support.doubles import MemoryLog
from tare.analysis.repeats.budget import Spending
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.plan import Plan
from tare.core.study import Budget, Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.execution.loop_interface import Past


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
        Loop(plan, first, SerialExecutor(dies_at_the_fifth)).run()
    assert first.ended[-1].state is State.LOST
    second = MemoryLog()
    Loop(plan, second, SerialExecutor(done), past=Past(attempts=first.ended, orders=dict(first.blocks))).run()
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
    Loop(plan, quiet, SerialExecutor(done), past=Past(attempts=history)).run()
    Loop(plan, asked, SerialExecutor(done), is_retrying_failed=True, past=Past(attempts=history)).run()
    assert quiet.began == []
    assert {case for _, case, _ in asked.began} == {CASES[1].id, CASES[2].id}


def test_a_campaign_that_grows_runs_only_what_is_new() -> None:
    plan = make_plan(Repeats(min=2, max=2))
    first = MemoryLog()
    Loop(plan, first, SerialExecutor(done)).run()
    grown = make_plan(Repeats(min=3, max=3))
    second = MemoryLog()
    Loop(
        grown, second, SerialExecutor(done), past=Past(attempts=first.ended, orders=dict(first.blocks))
    ).run()
    assert {block for block, _, _ in second.began} == {3}


def test_a_new_session_has_a_warm_up_of_its_own_for_what_it_runs() -> None:
    """The next day two levels are as they were, and a third is new: it and its reference warm up again."""
    first, second, third = MemoryLog(), MemoryLog(), MemoryLog()
    plan = make_plan(warmup=1)
    two = msgspec.structs.replace(plan, cases=CASES[:2])
    Loop(two, first, SerialExecutor(done), past=Past(session=1)).run()
    Loop(
        plan,
        second,
        SerialExecutor(done),
        past=Past(attempts=first.ended, orders=dict(first.blocks), session=2, passes={}),
    ).run()
    warm = [case for block, case, _ in second.began if block < 1]
    assert sorted(warm) == sorted([CASES[0].id, CASES[2].id])
    assert [block for block, _ in second.blocks] == [0, 1, 2, 3]
    orders = dict(first.blocks) | dict(second.blocks)
    history = [*first.ended, *second.ended]
    Loop(
        plan, third, SerialExecutor(done), past=Past(attempts=history, orders=orders, session=3, passes={})
    ).run()
    assert third.began == [], "where nothing is left, nothing is warmed up for it"


def test_a_session_that_goes_on_is_warm() -> None:
    log, more = MemoryLog(), MemoryLog()
    plan = make_plan(warmup=1)
    Loop(plan, log, SerialExecutor(done), past=Past(session=1)).run()
    history = [one for one in log.ended if one.block < 3]
    orders = {block: order for block, order in log.blocks if block < 3}
    Loop(plan, more, SerialExecutor(done), past=Past(attempts=history, orders=orders, session=1)).run()
    assert {block for block, _, _ in more.began} == {3}


def late(log: MemoryLog, repeats: Repeats, n_runs: int, history: list[Attempt], session: int) -> None:
    """Go on where the first session ran two cases; the third never settles; end after `n_runs`."""

    class Wants:
        """A rule that wants the case that was added, for ever."""

        def add(self, attempt: Attempt) -> None: ...

        def wanted(self) -> set[str]:
            return {CASES[2].id}

    def execute(case: Case, run: Run, number: int) -> Attempt:
        if len(log.began) > n_runs:
            raise KeyboardInterrupt
        return msgspec.structs.replace(done(case, run, number), session=session)

    orders: dict[int, list[str]] = {}
    for one in history:
        orders.setdefault(one.block, []).append(one.case)
    loop = Loop(
        make_plan(repeats),
        log,
        SerialExecutor(execute),
        rule=Wants(),
        past=Past(attempts=history, orders=orders, session=session),
    )
    with contextlib.suppress(KeyboardInterrupt):
        loop.run()


def test_a_case_that_was_added_later_goes_on_through_all_blocks_also_after_an_interruption() -> None:
    """The first session made six blocks of two cases; the second is interrupted after four of the third."""
    repeats = Repeats(min=3, max=6, until=0.01)
    first = [
        msgspec.structs.replace(done(case, Run(block, case.id), 1), session=1)
        for block in range(1, 7)
        for case in CASES[:2]
    ]
    log = MemoryLog()
    late(log, repeats, 8, first, session=2)
    ended = [one for one in log.ended if one.state is State.DONE]
    assert {one.block for one in ended} == {1, 2, 3, 4}
    again = MemoryLog()
    late(again, repeats, 99, [*first, *ended], session=2)
    assert {(one.block, one.case) for one in again.ended} == {
        (block, CASES[number].id) for block in (5, 6) for number in (0, 2)
    }


def test_what_an_interrupted_run_took_counts_in_the_budget() -> None:
    log = MemoryLog()

    def interrupt(case: Case, run: Run, number: int) -> Attempt:
        time.sleep(0.05)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Loop(make_plan(), log, SerialExecutor(interrupt)).run()
    (lost,) = log.ended
    assert (lost.state, lost.reason) == (State.LOST, "interrupted")
    assert lost.elapsed_s >= 0.05
    spent = Spending(Budget(hours=1))
    spent.add(lost, is_settled=False)
    assert spent.elapsed_s == pytest.approx(lost.elapsed_s)
