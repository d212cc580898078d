"""No run begins that does not fit into the budget, in this session or in later ones."""

from __future__ import annotations

import pytest

from execution.planned_runs import attempt, done, make_plan
from support.doubles import MemoryLog
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.study import Budget, Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.execution.loop_interface import Listener, LoopState, Past


@pytest.mark.parametrize(
    ("budget", "n_runs"),
    [
        (Budget(runs=12), 12),
        (Budget(runs=14), 12),  # half a block compares nothing
        (Budget(hours=13.5 / 3600), 12),
        (Budget(node_hours=25 / 3600), 12),
        (Budget(runs=7), 7),
        (Budget(hours=7.9 / 3600), 7),
        (Budget(node_hours=15 / 3600), 7),
        (Budget(), 27),
    ],
)
def test_no_run_begins_that_is_not_expected_to_fit_into_the_budget(budget: Budget, n_runs: int) -> None:
    log = MemoryLog()
    Loop(make_plan(Repeats(min=3, max=9, until=0.02, budget=budget)), log, SerialExecutor(done)).run()
    assert len(log.ended) == n_runs


@pytest.mark.parametrize(
    ("budget", "is_least"),
    [
        (Budget(), True),
        (Budget(hours=100 / 3600), True),  # room for all of nine blocks
        (Budget(hours=7.9 / 3600), False),
        (Budget(node_hours=15 / 3600), False),
        (Budget(runs=7), False),
    ],
)
def test_a_time_left_that_the_budget_cuts_off_is_not_the_least(budget: Budget, is_least: bool) -> None:
    """Of the three blocks that are planned, nine runs of a second each, the tight budgets allow seven."""
    seen: list[LoopState] = []
    plan = make_plan(Repeats(min=3, max=9, until=0.02, budget=budget))
    Loop(plan, MemoryLog(), SerialExecutor(done), listener=Listener(on_progress=seen.append)).run()
    assert {one.is_least for one in seen if one.eta_s and one.run.block == 2} == {is_least}


def test_time_that_failed_or_did_not_count_is_spent_too() -> None:
    def execute(case: Case, run: Run, number: int) -> Attempt:
        return attempt(case, run, number, State.FAILED, is_infrastructure=number == 1)

    log = MemoryLog()
    plan = make_plan(Repeats(min=3, max=3, budget=Budget(hours=9.5 / 3600)), warmup=1)
    Loop(plan, log, SerialExecutor(execute)).run()
    assert sum(one.elapsed_s for one in log.ended) == 10
    assert [one.block for one in log.ended] == [0] * 6 + [1] * 4


def test_a_spent_budget_stays_spent_when_the_campaign_goes_on() -> None:
    plan = make_plan(Repeats(min=3, max=3, budget=Budget(runs=4)))
    first, second, third = MemoryLog(), MemoryLog(), MemoryLog()
    Loop(plan, first, SerialExecutor(done)).run()
    Loop(plan, second, SerialExecutor(done), past=Past(attempts=first.ended, orders=dict(first.blocks))).run()
    assert (len(first.ended), len(second.ended)) == (4, 0)
    more = make_plan(Repeats(min=3, max=3, budget=Budget(runs=9)))
    Loop(more, third, SerialExecutor(done), past=Past(attempts=first.ended, orders=dict(first.blocks))).run()
    assert len(third.ended) == 5


@pytest.mark.parametrize("hours", [13.5 / 3600, 15.5 / 3600, 17.5 / 3600])
def test_nothing_warms_up_for_a_block_that_does_not_fit_into_the_budget(hours: float) -> None:
    """Each session warms up for itself: 3 s, and a block takes 3 s more."""
    plan = make_plan(Repeats(min=3, max=9, until=0.02, budget=Budget(hours=hours)), warmup=1)
    first, second = MemoryLog(), MemoryLog()
    Loop(plan, first, SerialExecutor(done), past=Past(session=1)).run()
    assert len(first.ended) == 3 + (9 if hours < 15 / 3600 else 12)
    past, orders = first.ended, dict(first.blocks)
    Loop(
        plan, second, SerialExecutor(done), past=Past(attempts=past, orders=orders, session=2, passes={})
    ).run()
    assert second.began == []
