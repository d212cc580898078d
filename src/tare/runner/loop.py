"""Pass over the blocks of a plan until every run has its answer; go on where an earlier session ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from tare.errors import BackendError
from tare.model.attempt import Attempt, State
from tare.model.case import Case, Run
from tare.model.plan import Plan

_MOST_FAULTS_IN_A_ROW = 3


class Log(Protocol):
    """Where the loop records what happens, before it goes on."""

    def block_began(self, block: int, order: list[str]) -> None:
        """Record that a block begins, with the order of its runs."""
        ...

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        """Record that an attempt begins."""
        ...

    def attempt_ended(self, attempt: Attempt) -> None:
        """Record durably what came of an attempt."""
        ...


class Progress(msgspec.Struct, frozen=True):
    """How far a campaign is, after an attempt or before one; `eta_s` is None until it can be told."""

    n_done: int
    n_runs: int
    eta_s: float | None
    case: Case
    run: Run
    last: Attempt | None


class Loop:
    """The state machine over blocks, runs and attempts.

    `execute` runs one attempt; `is_precise` says whether the DONE attempts of one case settle it, for
    plans that repeat until they are. `history` holds the attempts of earlier sessions.
    """

    def __init__(
        self,
        plan: Plan,
        log: Log,
        execute: Callable[[Case, Run, int], Attempt],
        *,
        history: Sequence[Attempt] = (),
        orders: Mapping[int, list[str]] | None = None,
        is_precise: Callable[[Sequence[Attempt]], bool] = lambda attempts: True,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        is_retrying_failed: bool = False,
    ) -> None:
        self.plan = plan
        self._log = log
        self._execute = execute
        self._orders = dict(orders or {})
        self._is_precise = is_precise
        self._on_progress = on_progress
        self._n_attempts: dict[Run, int] = {}
        self._settled: set[Run] = set()
        self._done: dict[str, list[Attempt]] = {}
        self._spent = _Spending()
        self._faults_in_a_row = 0
        self._n_runs = _count_runs(plan, self._orders)
        for attempt in history:
            run = Run(attempt.block, attempt.case)
            self._n_attempts[run] = attempt.attempt
            if is_settled(attempt) and not (is_retrying_failed and attempt.state is not State.DONE):
                self._settle(run, attempt)

    def run(self) -> None:
        """Run everything that is still to be run.

        Raises what `execute` and the log raise; the attempt under way is then on record as lost.
        """
        plan = self.plan
        cases = {case.id: case for case in plan.cases}
        for block in self._blocks():
            if block < 1 and self._spent.n_measured:
                continue  # a campaign that goes on is warm enough for the passes it has had
            order = self._order(block)
            if self._orders.get(block) != order:
                self._log.block_began(block, order)
                self._orders[block] = order
                if block > plan.repeats.min:
                    self._n_runs = _count_runs(plan, self._orders)
            for case_id in order:
                run = Run(block, case_id)
                if run not in self._settled:
                    self._run_once(cases[case_id], run)

    def _blocks(self) -> Iterator[int]:
        """Yield warm-up passes (0 and below), the blocks of the plan, then what precision asks for."""
        repeats = self.plan.repeats
        yield from range(1 - self.plan.warmup, 1)
        yield from range(1, repeats.min + 1)
        for block in range(repeats.min + 1, repeats.max + 1):
            if block not in self._orders and not self._imprecise():
                return
            if self._spent.exceeds(self.plan):
                return
            yield block

    def _order(self, block: int) -> list[str]:
        order = [case.id for case in self.plan.order(block)]
        if block <= self.plan.repeats.min:
            return order
        known = self._orders.get(block)
        wanted = self._imprecise() if known is None else set(known)
        return [case for case in order if case in wanted]

    def _imprecise(self) -> set[str]:
        """Return the cases that need another block, each with its reference, so that they stay paired."""
        if self.plan.repeats.until is None:
            return {case.id for case in self.plan.cases}
        wanted = set()
        for case in self.plan.cases:
            attempts = self._done.get(case.id, [])
            if attempts and not self._is_precise(attempts):
                reference = self.plan.reference_of(case)
                wanted |= {case.id} | ({reference.id} if reference else set())
        return wanted

    def _run_once(self, case: Case, run: Run) -> None:
        """Try a run until it is settled, or the infrastructure has failed it too often."""
        for _ in range(self.plan.retries + 1):
            number = self._n_attempts[run] = self._n_attempts.get(run, 0) + 1
            self._report(case, run, None)
            self._log.attempt_began(case.id, run.block, number, time.time())
            try:
                attempt = self._execute(case, run, number)
            except KeyboardInterrupt:
                self._log.attempt_ended(_interrupted(case, run, number))
                raise
            self._log.attempt_ended(attempt)
            if is_settled(attempt):
                self._settle(run, attempt)
                self._faults_in_a_row = 0
                break
        else:
            self._faults_in_a_row += 1
        self._report(case, run, attempt)
        if self._faults_in_a_row >= _MOST_FAULTS_IN_A_ROW:
            raise BackendError(
                f"{_MOST_FAULTS_IN_A_ROW} runs in a row could not be run: {attempt.reason}; when that is "
                "mended, run the same command again to go on"
            )

    def _settle(self, run: Run, attempt: Attempt) -> None:
        self._settled.add(run)
        if run.block >= 1:
            self._spent.add(attempt)
        if attempt.state is State.DONE and run.block >= 1 and self.plan.repeats.until is not None:
            self._done.setdefault(run.case, []).append(attempt)

    def _report(self, case: Case, run: Run, last: Attempt | None) -> None:
        n_done = self._spent.n_measured
        eta_s = self._spent.mean_s * (self._n_runs - n_done) if n_done else None
        self._on_progress(Progress(n_done, self._n_runs, eta_s, case, run, last))


class _Spending:
    """What the settled runs have cost so far."""

    def __init__(self) -> None:
        self.n_measured = 0
        self.elapsed_s = 0.0
        self.node_s = 0.0

    def add(self, attempt: Attempt) -> None:
        self.n_measured += 1
        self.elapsed_s += attempt.elapsed_s
        self.node_s += attempt.elapsed_s * len(attempt.hosts)

    @property
    def mean_s(self) -> float:
        return self.elapsed_s / self.n_measured

    def exceeds(self, plan: Plan) -> bool:
        budget = plan.repeats.budget
        return (
            (budget.runs is not None and self.n_measured >= budget.runs)
            or (budget.hours is not None and self.elapsed_s >= budget.hours * 3600)
            or (budget.node_hours is not None and self.node_s >= budget.node_hours * 3600)
        )


def _count_runs(plan: Plan, orders: Mapping[int, list[str]]) -> int:
    """Return how many measured runs there are: those of the plan, and of the blocks begun beyond it."""
    return plan.n_runs + sum(len(order) for block, order in orders.items() if block > plan.repeats.min)


def is_settled(attempt: Attempt) -> bool:
    """Return whether the run of `attempt` has its answer: not lost, and not failed by the infrastructure."""
    return attempt.state in {State.DONE, State.FAILED, State.INVALID} and not attempt.is_infrastructure


def _interrupted(case: Case, run: Run, number: int) -> Attempt:
    return Attempt(
        case=case.id,
        block=run.block,
        attempt=number,
        state=State.LOST,
        reason="interrupted",
        started_at=time.time(),
    )
