"""Pass over the blocks of a plan until every run has its answer; go on where an earlier session ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from tare.answers.budget import Spending
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


class Rule(Protocol):
    """Says which cases need another block, once the least number of blocks has been run."""

    def add(self, attempt: Attempt) -> None:
        """Take in a measured run that came out well."""
        ...

    def wanted(self) -> set[str]:
        """Return the ids of the cases that need another block."""
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

    `execute` runs one attempt. `rule` says which cases go on beyond the least number of blocks; without
    one, all do, to the most. `history` holds the attempts of earlier sessions. What is run next follows
    from the plan and the attempts so far alone, so an interruption changes nothing.
    """

    def __init__(
        self,
        plan: Plan,
        log: Log,
        execute: Callable[[Case, Run, int], Attempt],
        *,
        history: Sequence[Attempt] = (),
        orders: Mapping[int, list[str]] | None = None,
        rule: Rule | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        is_retrying_failed: bool = False,
    ) -> None:
        self.plan = plan
        self._log = log
        self._execute = execute
        self._orders = dict(orders or {})
        self._rule = rule
        self._on_progress = on_progress
        self._n_attempts: dict[Run, int] = {}
        self._settled: set[Run] = set()
        self._spent = Spending(plan.repeats.budget)
        self._faults_in_a_row = 0
        self._n_runs = _count_runs(plan, self._orders)
        for attempt in history:
            run = Run(attempt.block, attempt.case)
            self._n_attempts[run] = attempt.attempt
            is_tried_again = is_retrying_failed and attempt.state is not State.DONE
            self._take(run, attempt, is_settled=attempt.is_settled and not is_tried_again)

    def run(self) -> None:
        """Run everything that is still to be run.

        Raises what `execute` and the log raise; the attempt under way is then on record as lost.
        """
        cases = {case.id: case for case in self.plan.cases}
        for block, order in self._blocks():
            self._begin(block, order)
            for case_id in order:
                run = Run(block, case_id)
                if run in self._settled:
                    continue
                if not self._spent.has_room([case_id], is_measured=block >= 1):
                    return
                self._run_once(cases[case_id], run)

    def _blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield warm-up passes (0 and below), the blocks of the plan, then what precision asks for.

        Each with the order of its cases. A campaign that goes on is warm enough for the passes it has
        had. A block beyond the least number begins only where the whole of it fits into the budget:
        half a block compares nothing.
        """
        repeats = self.plan.repeats
        first = 1 if self._spent.n_runs else 1 - self.plan.warmup
        for block in range(first, repeats.min + 1):
            yield block, [case.id for case in self.plan.order(block)]
        for block in range(repeats.min + 1, repeats.max + 1):
            is_new = block not in self._orders
            cases = self._wanted() if is_new else set(self._orders[block])
            if is_new and not (cases and self._spent.has_room(cases)):
                return
            yield block, [case.id for case in self.plan.order(block) if case.id in cases]

    def _begin(self, block: int, order: list[str]) -> None:
        """Record the order of the runs of `block` before any of them begins."""
        if self._orders.get(block) != order:
            self._log.block_began(block, order)
            self._orders[block] = order
            if block > self.plan.repeats.min:
                self._n_runs = _count_runs(self.plan, self._orders)

    def _wanted(self) -> set[str]:
        return {case.id for case in self.plan.cases} if self._rule is None else self._rule.wanted()

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
            self._take(run, attempt, is_settled=attempt.is_settled)
            if attempt.is_settled:
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

    def _take(self, run: Run, attempt: Attempt, *, is_settled: bool) -> None:
        """Take in what came of an attempt, now or in an earlier session."""
        self._spent.add(attempt, is_settled=is_settled)
        if is_settled:
            self._settled.add(run)
        if attempt.state is State.DONE and run.block >= 1 and self._rule is not None:
            self._rule.add(attempt)

    def _report(self, case: Case, run: Run, last: Attempt | None) -> None:
        n_done = self._spent.n_runs
        eta_s = self._spent.mean_s * (self._n_runs - n_done) if n_done else None
        self._on_progress(Progress(n_done, self._n_runs, eta_s, case, run, last))


def _count_runs(plan: Plan, orders: Mapping[int, list[str]]) -> int:
    """Return how many measured runs there are: those of the plan, and of the blocks begun beyond it."""
    return plan.n_runs + sum(len(order) for block, order in orders.items() if block > plan.repeats.min)


def _interrupted(case: Case, run: Run, number: int) -> Attempt:
    return Attempt(
        case=case.id,
        block=run.block,
        attempt=number,
        state=State.LOST,
        reason="interrupted",
        started_at=time.time(),
    )
