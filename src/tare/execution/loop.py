"""Run a plan block by block until every run has a result, resuming where an earlier session ended.

Takes a plan, an executor, and the attempts of earlier sessions from the journal. Records every block and
every attempt in the journal, and reports progress after each attempt.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from tare.analysis.pairing import Outstanding, Passing, compared
from tare.analysis.repeats.budget import Spending
from tare.core import log
from tare.core.attempt import Attempt, State
from tare.core.case import Pass, Run
from tare.core.clock import SteadyClock
from tare.core.errors import BackendError
from tare.core.log import fields
from tare.core.plan import Plan
from tare.execution.executor import Executor
from tare.execution.loop_interface import FRESH, SILENT, Listener, Log, LoopState, Past, Rule
from tare.execution.repeated_failures import StoppedPrograms

_LOG = log.of("execution")

_MOST_FAULTS_IN_A_ROW = 3


class Loop:
    """The state machine over blocks, runs and attempts.

    The next run depends only on the plan and on the attempts so far. So an interruption changes nothing.

    - `executor` runs the attempts.
    - `past` is what earlier sessions left. A run that an earlier session finished is repeated only if a
      remaining run has no other partner to be compared with in the same session (see Outstanding).
    - `rule` says which cases continue after the minimum number of blocks. Without a rule, all cases continue
      to the maximum.
    - `started` are the programs that each case starts, by case id (see StoppedPrograms).
    """

    def __init__(
        self,
        plan: Plan,
        log: Log,
        executor: Executor,
        *,
        past: Past = FRESH,
        rule: Rule | None = None,
        listener: Listener = SILENT,
        is_retrying_failed: bool = False,
        started: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.plan = plan
        self._log = log
        self._clock = SteadyClock()
        self._executor = executor
        self._begun = past.begun
        self._orders = dict(past.orders)
        self._rule = rule
        self._listener = listener
        self._cases = {case.id: case for case in plan.cases}
        self._n_attempts: dict[Run, int] = {}
        self._n_tries: Counter[Run] = Counter()
        self._under_way: dict[Run, int] = {}
        self._began_at: dict[Run, float] = {}
        self._session = past.session
        self._sessions: dict[Run, int] = {}
        once = {Pass(past.session, block) for block in self._orders}
        self._passes = once if past.passes is None else set(past.passes)
        self._outstanding = Outstanding(plan, past.session, past.passes)
        self._compared = compared(plan)
        self._late = _late(self._cases, past.attempts)
        self._spent = Spending(plan.repeats.budget)
        self._faults_in_a_row = 0
        self._n_remaining = 0
        self._stopped = StoppedPrograms(self._cases, started)
        self._is_warm = any(one.block >= 1 and one.session == past.session for one in past.attempts)
        for attempt in past.attempts:
            run = Run(attempt.block, attempt.case)
            self._n_attempts[run] = max(self._n_attempts.get(run, 0), attempt.attempt)
            is_tried_again = is_retrying_failed and attempt.state is not State.DONE
            self._add_result(run, attempt, is_settled=attempt.is_settled and not is_tried_again)

    def left(self) -> list[Passing]:
        """Return the remaining runs of the blocks that are planned so far, block by block."""
        blocks = range(1, max([self.plan.repeats.min, *self._orders]) + 1)
        found = (self._outstanding.of_block(block, self._order(block)) for block in blocks)
        return [one for one in found if one.order]

    def run(self) -> None:
        """Run everything that remains.

        Raises what the executor and the log raise. Attempts that are still running are then ended, and their
        results are lost.
        """
        try:
            self._adopt()
            for block, cases in self._blocks():
                if not self._launch(block, self._begin(block, cases)):
                    break
                # Warm-up runs end before measured runs begin. Precision is known when all runs have ended.
                # A block that is held back is one job.
                if block == 0 or block >= self.plan.repeats.min or self._executor.holds_runs():
                    self._collect_all()
            self._collect_all()
        except KeyboardInterrupt:
            for attempt in self._interrupted():
                self._log.attempt_ended(attempt)
            raise
        finally:
            self._executor.abandon()

    def _adopt(self) -> None:
        """Take over attempts of an earlier session that can still end; record the others as lost."""
        begun = {Run(one.block, one.case): one for one in self._begun if one.case in self._cases}
        adopted = self._executor.adopt(
            [(self._cases[run.case], run, one.attempt) for run, one in begun.items()]
        )
        self._under_way = {run: begun[run].attempt for run in adopted}
        self._began_at = {run: begun[run].started_at or self._clock() for run in adopted}
        self._sessions = {run: begun[run].session for run in adopted}
        for run in adopted:
            self._outstanding.take_under_way(run, begun[run].session)
        left = self.left()
        self._n_remaining = sum(len(one.order) for one in left) + len(self._under_way)
        self._listener.on_remaining(left, sorted(self.cold()) * self.plan.warmup)
        for one in self._begun:
            if Run(one.block, one.case) not in self._under_way:
                self._log.attempt_ended(one)

    def _blocks(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each block with its cases in order.

        Warm-up passes (block 0 and below) come first, then the blocks of the plan, then the blocks that the
        precision needs. A new session warms up the cases that it will run. A continued session that has run
        measured blocks needs no warm-up. A block after the minimum number begins only if the whole block fits
        into the budget, because half a block compares nothing.
        """
        repeats = self.plan.repeats
        cold = self.cold()
        for block in range(1 - self.plan.warmup if cold else 1, 1):
            yield block, [case.id for case in self.plan.order(block) if case.id in cold]
        for block in range(1, repeats.min + 1):
            yield block, self._order(block)
        for block in range(repeats.min + 1, repeats.max + 1):
            is_new = block not in self._orders
            cases = self._wanted() if is_new else set(self._order(block))
            if is_new and not (cases and self._spent.can_afford(cases)):
                _LOG.info(
                    "no more blocks",
                    extra=fields(
                        block=block, why="the budget has no room" if cases else "no case asks for more"
                    ),
                )
                return
            if is_new:
                _LOG.info(
                    "one more block",
                    extra=fields(block=block, n_cases=len(cases), n_known=len(self._cases) - len(cases)),
                )
            yield block, [case.id for case in self.plan.order(block) if case.id in cases]

    def fits_budget(self, case: str) -> bool:
        """Return whether a run of `case` is expected to fit into the budget."""
        return self._spent.can_afford([case])

    def may_go_on(self) -> bool:
        """Return whether the stopping rule may still add runs to those that remain now."""
        if self.plan.repeats.may_add_blocks(self._orders):
            return True
        return self._rule is not None and any(map(self._is_open, self._late))

    def may_add_to(self, n_runs: int) -> bool:
        """Return whether the stopping rule may still add runs to `n_runs`, for which the budget has room."""
        return self.may_go_on() and not self._spent.may_end_before(n_runs)

    def _is_open(self, case: str) -> bool:
        """Return whether a case is not yet in every block."""
        blocks = range(self.plan.repeats.min + 1, self.plan.repeats.max + 1)
        return any(case not in self._orders.get(block, []) for block in blocks)

    def cold(self) -> set[str]:
        """Return the cases that need warm-up runs: those that this session will run.

        Empty if the session has already run measured blocks, or if the budget has no room for what would
        follow: for one of the runs that remain or, where none does, for the block that precision needs.
        """
        if self._is_warm or not self.plan.warmup:
            return set()
        cases = {case for passing in self.left() for case in passing.order}
        more = self._wanted() if self.plan.repeats.may_add_blocks(self._orders) else set()
        if cases:
            return cases | more if any(self._spent.can_afford([case]) for case in cases) else set()
        passes = list(more) * (1 + self.plan.warmup)  # warm-up takes time, but counts as no run
        has_room = self._spent.can_afford(more) and self._spent.can_afford(passes, is_measured=False)
        return more if has_room else set()

    def _order(self, block: int) -> list[str]:
        """Return the cases of a block in order: all, or after the minimum only those that belong to it."""
        order = [case.id for case in self.plan.order(block)]
        if block <= self.plan.repeats.min:
            return order
        known = {*self._orders[block], *self._joining()}
        return [case for case in order if case in known]

    def _joining(self) -> set[str]:
        """Return the later-added cases that the stopping rule wants, and the cases compared with them."""
        joining = self._late & self._wanted() if self._late else set()
        return joining | {one for one, other in self._compared if other in joining}

    def _begin(self, block: int, cases: list[str]) -> list[str]:
        """Return the runs of a block that remain, in order; record the order before any of them begins."""
        is_new = block not in self._orders
        passing = self._outstanding.of_block(block, cases)
        self._orders[block] = list(dict.fromkeys([*self._orders.get(block, []), *cases]))
        if is_new and block > self.plan.repeats.min:
            self._n_remaining += len(cases)
        elif block > self.plan.repeats.min:  # cases added later may have joined it
            self._n_remaining = max(self._n_remaining, len(passing.order))
        own = Pass(self._session, block)
        if is_new or (passing.order and own not in self._passes):
            _LOG.info(
                "block begins",
                extra=fields(block=block, n_runs=len(passing.order), n_again=len(passing.again)),
            )
            self._log.block_began(block, cases if is_new else passing.order, passing.again)
            self._passes.add(own)
        return passing.order

    def _wanted(self) -> set[str]:
        return {case.id for case in self.plan.cases} if self._rule is None else self._rule.wanted()

    def _launch(self, block: int, order: Sequence[str]) -> bool:
        """Begin the runs of a block that have no result yet; return False if the budget stops the block."""
        for case in order:
            run = Run(block, case)
            while run in self._under_way:  # an attempt of an earlier session; the run is needed once more
                self._collect()
            if self._outstanding.is_settled_now(run):
                continue
            if self._is_stopped(run):
                continue
            cases = [case, *(other.case for other in self._under_way)]
            if not self._spent.can_afford(cases, is_measured=block >= 1):
                return False
            self._start(run)
        return True

    def _is_stopped(self, run: Run) -> bool:
        """Return whether no more runs of this run's program begin, since all failed alike; report it once."""
        for reason in self._stopped.newly_stopped([self._cases[run.case]]):
            _LOG.warning("a program is stopped", extra=fields(why=reason))
            self._listener.on_stopped(reason)
        return run not in self._n_tries and self._stopped.is_stopped(self._cases[run.case])

    def _start(self, run: Run) -> None:
        """Begin an attempt of `run` as soon as the executor has room for it."""
        case = self._cases[run.case]
        while not self._executor.can_start(case):
            self._collect()
        number = self._n_attempts[run] = self._n_attempts.get(run, 0) + 1
        self._n_tries[run] += 1
        self._report(run, None)
        _LOG.debug("run begins", extra=fields(case=run.case, block=run.block, attempt=number))
        self._began_at[run] = self._clock()
        self._log.attempt_began(run.case, run.block, number, self._began_at[run])
        self._under_way[run] = number
        self._executor.start(case, run, number)
        if not self._executor.can_start(case):
            self._collect()

    def _collect_all(self) -> None:
        while self._under_way:
            self._collect()

    def _collect(self) -> None:
        """Wait for attempts to end and record them; retry those that failed for infrastructure reasons."""
        for attempt in self._executor.wait():
            run = Run(attempt.block, attempt.case)
            del self._under_way[run], self._began_at[run]
            session = self._sessions.pop(run, self._session)
            attempt = msgspec.structs.replace(attempt, session=session)
            self._n_remaining -= attempt.is_settled and run.block >= 1
            self._log.attempt_ended(attempt)
            self._add_result(run, attempt, is_settled=attempt.is_settled)
            is_tried_again = not attempt.is_settled and self._n_tries[run] <= self.plan.retries
            _log_end(attempt, is_tried_again=is_tried_again)
            if is_tried_again:
                self._start(run)
                continue
            self._report(run, attempt)
            self._count_fault(attempt)

    def _interrupted(self) -> Iterator[Attempt]:
        """Yield the attempts under way as lost, with the time that each took until now."""
        now = self._clock()
        known = {Run(one.block, one.case): one for one in self._executor.unfinished()}
        for run, number in self._under_way.items():
            began = min(self._began_at[run], now)
            own = Attempt(
                case=run.case,
                block=run.block,
                attempt=number,
                state=State.LOST,
                started_at=began,
                elapsed_s=now - began,
            )
            session = self._sessions.get(run, self._session)
            lost = {"state": State.LOST, "reason": "interrupted", "session": session}
            yield msgspec.structs.replace(known.get(run, own), **lost)

    def _count_fault(self, attempt: Attempt) -> None:
        """Raise BackendError when too many runs in a row failed for infrastructure reasons."""
        self._faults_in_a_row = 0 if attempt.is_settled else self._faults_in_a_row + 1
        if self._faults_in_a_row >= _MOST_FAULTS_IN_A_ROW:
            raise BackendError(
                f"{_MOST_FAULTS_IN_A_ROW} runs in a row could not be run: {attempt.reason}; when that is "
                "mended, run the same command again to continue"
            )

    def _add_result(self, run: Run, attempt: Attempt, *, is_settled: bool) -> None:
        """Add the result of an attempt, of this or an earlier session, to the state of the loop."""
        self._spent.add(attempt, is_settled=is_settled)
        self._outstanding.take(attempt, is_settled=is_settled)
        self._stopped.take(attempt, is_settled=is_settled)
        if attempt.state is State.DONE and run.block >= 1 and self._rule is not None:
            self._rule.add(attempt)

    def _report(self, run: Run, last: Attempt | None) -> None:
        n_done = self._spent.n_runs
        eta_s = self._spent.left_s(self._n_remaining)
        n_runs = n_done + max(self._n_remaining, 0)
        is_least = self.may_add_to(self._n_remaining)
        self._listener.on_progress(
            LoopState(n_done, n_runs, eta_s, is_least, self._cases[run.case], run, last)
        )


def _late(cases: Collection[str], history: Sequence[Attempt]) -> set[str]:
    """Return the cases that the first session did not run: added later, or the session ended before them."""
    sessions = [one.session for one in history]
    first = {one.case for one in history if one.session == min(sessions)}
    return set(cases) - first if first else set()


def _log_end(attempt: Attempt, *, is_tried_again: bool) -> None:
    """Log how an attempt ended and, if it did not succeed, whether program or infrastructure caused that."""
    is_done = attempt.state is State.DONE
    whose = {True: "infrastructure", False: "program" if attempt.state is State.FAILED else None}
    _LOG.log(
        logging.INFO if is_done else logging.WARNING,
        "run ended",
        extra=fields(
            case=attempt.case,
            block=attempt.block,
            attempt=attempt.attempt,
            state=attempt.state,
            elapsed_s=round(attempt.elapsed_s, 6),
            fault_of=whose[attempt.is_infrastructure],
            check=attempt.check or None,
            reason=attempt.reason or None,
            is_tried_again=None if is_done else is_tried_again,
        ),
    )
