"""The loop: blocks, warm-up, retries, programs that fail, and precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import msgspec
import pytest

from execution.planned_runs import CASES, attempt, done, make_plan
from support.doubles import MemoryLog
from support.synthetic import make_case
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.core.errors import BackendError
from tare.core.study import Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.execution.loop_interface import Listener, LoopState, Past
from tare.terminal.progress import PlainProgress


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
    Loop(make_plan(warmup=2), log, SerialExecutor(done), listener=Listener(on_progress=seen.append)).run()
    assert [block for block, _ in log.blocks] == [-1, 0, 1, 2, 3]
    assert (seen[-1].n_done, seen[-1].n_runs) == (9, 9)


def test_the_time_left_is_the_least_until_no_rule_can_add_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(Repeats(min=1, max=2, until=0.01))
    Loop(
        plan,
        MemoryLog(),
        SerialExecutor(done),
        rule=DoubleRule(host=99, overlay=99),
        listener=Listener(on_progress=PlainProgress(plan)),
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
    Loop(
        plan, log, SerialExecutor(partial(failing, reasons)), listener=Listener(on_stopped=said.append)
    ).run()
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
        make_plan(),
        log,
        SerialExecutor(partial(failing, reasons)),
        started=started,
        listener=Listener(on_stopped=said.append),
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
        make_plan(),
        again,
        SerialExecutor(done),
        is_retrying_failed=True,
        past=Past(attempts=log.ended, orders=orders),
    ).run()
    assert blocks_of(again, CASES) == {1, 2, 3}


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
