"""The loop: blocks, retries, resume, precision and budgets."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Sequence
from functools import partial

import msgspec
import pytest

from support.doubles import MemoryLog
from support.synthetic import make_case
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.errors import BackendError
from tare.core.plan import Plan
from tare.core.study import Budget, Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.execution.loop_interface import LoopState
from tare.terminal.progress import PlainProgress

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


_SECONDS = itertools.count()
"""When runs begin, each a second after the one before."""


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
        started_at=float(next(_SECONDS)),
        elapsed_s=1.0,
        hosts=["n1", "n2"],
    )


def done(case: Case, run: Run, number: int) -> Attempt:
    return attempt(case, run, number)


def test_every_block_passes_once_over_all_cases_in_its_recorded_order() -> None:
    log = MemoryLog()
    plan = make_plan()
    Loop(plan, log, SerialExecutor(done)).run()
    assert [block for block, _ in log.blocks] == [1, 2, 3]
    began = [(block, case) for block, case, _ in log.began]
    assert began == [(block, case.id) for block in (1, 2, 3) for case in plan.order(block)]
    assert began == [(block, case) for block, order in log.blocks for case in order]


def test_warm_up_passes_come_first_and_are_not_measured() -> None:
    log = MemoryLog()
    seen: list[LoopState] = []
    Loop(make_plan(warmup=2), log, SerialExecutor(done), on_progress=seen.append).run()
    assert [block for block, _ in log.blocks] == [-1, 0, 1, 2, 3]
    assert (seen[-1].n_done, seen[-1].n_runs) == (9, 9)


def test_the_time_left_is_the_least_until_no_rule_can_add_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(Repeats(min=1, max=2, until=0.01))
    Loop(
        plan,
        MemoryLog(),
        SerialExecutor(done),
        on_progress=PlainProgress(plan),
        rule=DoubleRule(host=99, overlay=99),
    ).run()
    first, *_, last = [line for line in capsys.readouterr().out.splitlines() if line.endswith("left")]
    assert "block 1" in first
    assert re.search(r"   at least \S+ m?s left$", first)
    assert "block 2" in last
    assert "at least" not in last


def test_what_the_infrastructure_broke_is_retried_and_what_failed_is_not() -> None:
    def execute(case: Case, run: Run, number: int) -> Attempt:
        if case == CASES[0] and number < 3:
            return attempt(case, run, number, State.FAILED, is_infrastructure=True)
        return attempt(case, run, number, State.FAILED if case == CASES[1] else State.DONE)

    log = MemoryLog()
    Loop(make_plan(Repeats(min=1, max=1)), log, SerialExecutor(execute)).run()
    numbers = {case.id: [number for _, one, number in log.began if one == case.id] for case in CASES}
    assert numbers == {CASES[0].id: [1, 2, 3], CASES[1].id: [1], CASES[2].id: [1]}


def test_a_place_that_is_broken_ends_the_session_after_three_runs() -> None:
    def broken(case: Case, run: Run, number: int) -> Attempt:
        return attempt(case, run, number, State.FAILED, is_infrastructure=True)

    log = MemoryLog()
    with pytest.raises(BackendError, match="3 runs in a row could not be run: because"):
        Loop(make_plan(), log, SerialExecutor(broken)).run()
    assert len(log.ended) == 9  # three runs, three attempts each


def failing(reasons: dict[str, str], case: Case, run: Run, number: int) -> Attempt:
    reason = reasons.get(case.id)
    if reason is None:
        return attempt(case, run, number)
    failed = attempt(case, run, number, State.FAILED)
    return msgspec.structs.replace(failed, reason=f"{reason} (pid {run.block}{number})")


def blocks_of(log: MemoryLog, cases: Sequence[Case]) -> set[int]:
    return {one.block for one in log.ended if one.case in {case.id for case in cases}}


def test_a_program_that_fails_alike_in_a_whole_block_is_run_no_more_and_reported_once() -> None:
    other = tuple(make_case(network, workload="imb.alltoall") for network in ("host", "overlay"))
    plan = msgspec.structs.replace(make_plan(), cases=(*CASES, *other))
    reasons = {case.id: "solver: no input" for case in CASES}
    log, said = MemoryLog(), list[str]()
    Loop(plan, log, SerialExecutor(partial(failing, reasons)), on_stopped=said.append).run()
    assert blocks_of(log, CASES) == {1}
    assert blocks_of(log, other) == {1, 2, 3}
    assert said == [
        f"all 3 runs of {CASES[0].workload} on platform {CASES[0].platform} failed in the same way, so that "
        "no more of them begin: solver: no input (pid 11)"
    ]


def test_failures_that_differ_or_that_only_some_runs_have_stop_nothing() -> None:
    log = MemoryLog()
    reasons = {case.id: f"reason {letter}" for case, letter in zip(CASES, "abc", strict=True)}
    Loop(make_plan(), log, SerialExecutor(partial(failing, reasons))).run()
    assert blocks_of(log, CASES) == {1, 2, 3}
    log = MemoryLog()
    Loop(make_plan(), log, SerialExecutor(partial(failing, {CASES[0].id: "no"}))).run()
    assert blocks_of(log, CASES[:1]) == {1, 2, 3}


def test_a_program_of_one_case_may_fail_once_by_accident() -> None:
    plan = msgspec.structs.replace(make_plan(), cases=CASES[:1])
    log = MemoryLog()
    Loop(plan, log, SerialExecutor(partial(failing, {CASES[0].id: "no"}))).run()
    assert blocks_of(log, CASES[:1]) == {1, 2}


def test_a_program_that_could_not_be_started_is_not_tried_twice() -> None:
    """Only where it is to be started is known whether it can be: in a container, in a pod, under Slurm."""
    why = "exit code 127: /opt/bin/solver could not be started: not found"
    reasons = {case.id: why for case in CASES}
    said: list[str] = []
    log = MemoryLog()
    started = {case.id: ("solver",) for case in CASES}
    Loop(
        make_plan(), log, SerialExecutor(partial(failing, reasons)), on_stopped=said.append, started=started
    ).run()
    assert len(log.ended) == 1
    (told,) = said
    assert "so that no more of its runs begin: exit code 127: /opt/bin/solver could not be started" in told
    for other in ({}, {case.id: ("other",) for case in CASES}):
        log = MemoryLog()
        Loop(make_plan(), log, SerialExecutor(partial(failing, reasons)), started=other).run()
        assert len(log.ended) > 1, "it is another program that lacks something"


def test_what_was_stopped_is_run_again_when_it_is_asked_for() -> None:
    log = MemoryLog()
    Loop(make_plan(), log, SerialExecutor(partial(failing, {case.id: "no" for case in CASES}))).run()
    again = MemoryLog()
    orders = dict(log.blocks)
    Loop(
        make_plan(), again, SerialExecutor(done), history=log.ended, orders=orders, is_retrying_failed=True
    ).run()
    assert blocks_of(again, CASES) == {1, 2, 3}


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
    Loop(plan, second, SerialExecutor(done), history=first.ended, orders=dict(first.blocks)).run()
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
    Loop(plan, quiet, SerialExecutor(done), history=history).run()
    Loop(plan, asked, SerialExecutor(done), history=history, is_retrying_failed=True).run()
    assert quiet.began == []
    assert {case for _, case, _ in asked.began} == {CASES[1].id, CASES[2].id}


class DoubleRule:
    """Stands for the stopping rule: these cases go on until they have so many blocks."""

    def __init__(self, **n_blocks: int) -> None:
        self.missing = {case.id: n_blocks.get(str(case.network), 0) for case in CASES}

    def add(self, attempt: Attempt) -> None:
        self.missing[attempt.case] -= 1

    def wanted(self) -> set[str]:
        return {case for case, missing in self.missing.items() if missing > 0}


def test_blocks_go_on_for_the_cases_that_the_rule_wants() -> None:
    log = MemoryLog()
    rule = DoubleRule(host=5, overlay=5, macvlan=2)
    Loop(make_plan(Repeats(min=3, max=9, until=0.02)), log, SerialExecutor(done), rule=rule).run()
    later = {block: set(order) for block, order in log.blocks if block > 3}
    assert later == {4: {CASES[0].id, CASES[1].id}, 5: {CASES[0].id, CASES[1].id}}


def test_blocks_end_at_the_maximum_when_precision_is_never_reached() -> None:
    log = MemoryLog()
    Loop(
        make_plan(Repeats(min=3, max=6, until=0.02)), log, SerialExecutor(done), rule=DoubleRule(host=99)
    ).run()
    assert max(block for block, _ in log.blocks) == 6


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
    Loop(plan, second, SerialExecutor(done), history=first.ended, orders=dict(first.blocks)).run()
    assert (len(first.ended), len(second.ended)) == (4, 0)
    more = make_plan(Repeats(min=3, max=3, budget=Budget(runs=9)))
    Loop(more, third, SerialExecutor(done), history=first.ended, orders=dict(first.blocks)).run()
    assert len(third.ended) == 5


@pytest.mark.parametrize("hours", [13.5 / 3600, 15.5 / 3600, 17.5 / 3600])
def test_nothing_warms_up_for_a_block_that_does_not_fit_into_the_budget(hours: float) -> None:
    """Each session warms up for itself: 3 s, and a block takes 3 s more."""
    plan = make_plan(Repeats(min=3, max=9, until=0.02, budget=Budget(hours=hours)), warmup=1)
    first, second = MemoryLog(), MemoryLog()
    Loop(plan, first, SerialExecutor(done), session=1).run()
    assert len(first.ended) == 3 + (9 if hours < 15 / 3600 else 12)
    past, orders = first.ended, dict(first.blocks)
    Loop(plan, second, SerialExecutor(done), history=past, orders=orders, session=2, passes={}).run()
    assert second.began == []


def test_a_campaign_that_grows_runs_only_what_is_new() -> None:
    plan = make_plan(Repeats(min=2, max=2))
    first = MemoryLog()
    Loop(plan, first, SerialExecutor(done)).run()
    grown = make_plan(Repeats(min=3, max=3))
    second = MemoryLog()
    Loop(grown, second, SerialExecutor(done), history=first.ended, orders=dict(first.blocks)).run()
    assert {block for block, _, _ in second.began} == {3}


def test_a_new_session_has_a_warm_up_of_its_own_for_what_it_runs() -> None:
    """The next day two levels are as they were, and a third is new: it and its reference warm up again."""
    first, second, third = MemoryLog(), MemoryLog(), MemoryLog()
    plan = make_plan(warmup=1)
    two = msgspec.structs.replace(plan, cases=CASES[:2])
    Loop(two, first, SerialExecutor(done), session=1).run()
    Loop(
        plan,
        second,
        SerialExecutor(done),
        history=first.ended,
        orders=dict(first.blocks),
        session=2,
        passes={},
    ).run()
    warm = [case for block, case, _ in second.began if block < 1]
    assert sorted(warm) == sorted([CASES[0].id, CASES[2].id])
    assert [block for block, _ in second.blocks] == [0, 1, 2, 3]
    orders = dict(first.blocks) | dict(second.blocks)
    history = [*first.ended, *second.ended]
    Loop(plan, third, SerialExecutor(done), history=history, orders=orders, session=3, passes={}).run()
    assert third.began == [], "where nothing is left, nothing is warmed up for it"


def test_a_session_that_goes_on_is_warm() -> None:
    log, more = MemoryLog(), MemoryLog()
    plan = make_plan(warmup=1)
    Loop(plan, log, SerialExecutor(done), session=1).run()
    history = [one for one in log.ended if one.block < 3]
    orders = {block: order for block, order in log.blocks if block < 3}
    Loop(plan, more, SerialExecutor(done), history=history, orders=orders, session=1).run()
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
        history=history,
        orders=orders,
        session=session,
        rule=Wants(),
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


def test_the_log_reports_what_is_tried_again_and_whose_fault_it_was(caplog: pytest.LogCaptureFixture) -> None:
    def execute(case: Case, run: Run, number: int) -> Attempt:
        if case == CASES[0] and number == 1:
            return attempt(case, run, number, State.FAILED, is_infrastructure=True)
        return attempt(case, run, number, State.FAILED if case == CASES[1] else State.DONE)

    caplog.set_level("INFO", "tare.execution")
    Loop(make_plan(Repeats(min=1, max=1)), MemoryLog(), SerialExecutor(execute)).run()
    ended = [vars(one)["fields"] for one in caplog.records if one.message == "run ended"]
    told = {(one["case"], one["attempt"]): (one["fault_of"], one["is_tried_again"]) for one in ended}
    assert told == {
        (CASES[0].id, 1): ("infrastructure", True),
        (CASES[0].id, 2): (None, None),
        (CASES[1].id, 1): ("program", False),
        (CASES[2].id, 1): (None, None),
    }
