"""Pass over the blocks of a plan until every run has its answer; go on where an earlier session ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from tare.answers.budget import Spending
from tare.errors import BackendError
from tare.model.attempt import Attempt, State
from tare.model.case import Case, Run
from tare.model.plan import Plan
from tare.runner.crew import Crew

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

    `crew` carries attempts out. `rule` says which cases go on beyond the least number of blocks; without
    one, all do, to the most. `history` holds the attempts of earlier sessions, `begun` those of them
    that have no end on record. What is run next follows from the plan and the attempts so far alone, so
    an interruption changes nothing.
    """

    def __init__(
        self,
        plan: Plan,
        log: Log,
        crew: Crew,
        *,
        history: Sequence[Attempt] = (),
        begun: Sequence[Attempt] = (),
        orders: Mapping[int, list[str]] | None = None,
        rule: Rule | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        is_retrying_failed: bool = False,
    ) -> None:
        self.plan = plan
        self._log = log
        self._crew = crew
        self._begun = begun
        self._orders = dict(orders or {})
        self._rule = rule
        self._on_progress = on_progress
        self._cases = {case.id: case for case in plan.cases}
        self._n_attempts: dict[Run, int] = {}
        self._n_tries: Counter[Run] = Counter()
        self._under_way: dict[Run, int] = {}
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

        Raises what the crew and the log raise; what is under way is then ended, and lost.
        """
        try:
            self._adopt()
            for block, order in self._blocks():
                self._begin(block, order)
                if not self._launch(block, order):
                    break
                # Warm-up ends before what is measured begins; precision is known when all have landed.
                if block == 0 or block >= self.plan.repeats.min:
                    self._land_all()
            self._land_all()
        except KeyboardInterrupt:
            for run, number in self._under_way.items():
                self._log.attempt_ended(_interrupted(run, number))
            raise
        finally:
            self._crew.abandon()

    def _adopt(self) -> None:
        """Take over what an earlier session began and can still end; record the rest as lost."""
        begun = {Run(one.block, one.case): one for one in self._begun if one.case in self._cases}
        adopted = self._crew.adopt([(self._cases[run.case], run, one.attempt) for run, one in begun.items()])
        self._under_way = {run: begun[run].attempt for run in adopted}
        for one in self._begun:
            if Run(one.block, one.case) not in self._under_way:
                self._log.attempt_ended(one)

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

    def _launch(self, block: int, order: Sequence[str]) -> bool:
        """Begin the runs of a block that have no answer yet; return False where the budget ends it."""
        for case in order:
            run = Run(block, case)
            if run in self._settled or run in self._under_way:
                continue
            cases = [case, *(other.case for other in self._under_way)]
            if not self._spent.has_room(cases, is_measured=block >= 1):
                return False
            self._start(run)
        return True

    def _start(self, run: Run) -> None:
        """Begin an attempt of `run` as soon as there is room for it."""
        case = self._cases[run.case]
        while not self._crew.has_room(case):
            self._land()
        number = self._n_attempts[run] = self._n_attempts.get(run, 0) + 1
        self._n_tries[run] += 1
        self._report(run, None)
        self._log.attempt_began(run.case, run.block, number, time.time())
        self._under_way[run] = number
        self._crew.start(case, run, number)
        if not self._crew.has_room(case):
            self._land()

    def _land_all(self) -> None:
        while self._under_way:
            self._land()

    def _land(self) -> None:
        """Wait for attempts that end, and record them; try again what the infrastructure has failed."""
        for attempt in self._crew.wait():
            run = Run(attempt.block, attempt.case)
            del self._under_way[run]
            self._log.attempt_ended(attempt)
            self._take(run, attempt, is_settled=attempt.is_settled)
            if not attempt.is_settled and self._n_tries[run] <= self.plan.retries:
                self._start(run)
                continue
            self._report(run, attempt)
            self._count_fault(attempt)

    def _count_fault(self, attempt: Attempt) -> None:
        """Raise BackendError when the infrastructure has failed one run after the other too often."""
        self._faults_in_a_row = 0 if attempt.is_settled else self._faults_in_a_row + 1
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

    def _report(self, run: Run, last: Attempt | None) -> None:
        n_done = self._spent.n_runs
        n_at_a_time = max(len(self._under_way), 1)
        left_s = self._spent.left_s(self._n_runs - n_done)
        eta_s = None if left_s is None else left_s / n_at_a_time
        self._on_progress(Progress(n_done, self._n_runs, eta_s, self._cases[run.case], run, last))


def _count_runs(plan: Plan, orders: Mapping[int, list[str]]) -> int:
    """Return how many measured runs there are: those of the plan, and of the blocks begun beyond it."""
    return plan.n_runs + sum(len(order) for block, order in orders.items() if block > plan.repeats.min)


def _interrupted(run: Run, number: int) -> Attempt:
    return Attempt(
        case=run.case,
        block=run.block,
        attempt=number,
        state=State.LOST,
        reason="interrupted",
        started_at=time.time(),
    )
