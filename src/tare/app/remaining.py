"""Compute what the next session of a campaign would still run. It starts nothing."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tare.app import planning
from tare.app.resuming import continues_last_session
from tare.app.same_study import is_extension
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Run
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.execution.loop_interface import Past
from tare.plan import profiled_plan
from tare.storage.campaign import JOURNAL, RecordedCampaign, read_past, read_plan
from tare.storage.journal import read_events


class RemainingOfCase(msgspec.Struct, frozen=True):
    """The remaining runs of a case: `left` have no result yet, `again` have one and are repeated.

    Of the latter, `parted` are repeated because a long time separated the runs of their block.
    """

    id: str
    left: int
    again: int
    parted: int = 0


class Remaining(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that session `session` of a campaign would make, as far as they are planned now.

    - `left`, `again`, `parted`: numbers of runs, as for a case (see RemainingOfCase). `warmup`: of warm-up
      runs.
    - `elapsed_s`: the expected time in seconds, one run after the other, from the medians of earlier runs.
      None if no case ever ran.
    - `n_guessed`: the number of cases that never ran; the median of the other cases stands for their time.
    - `is_least`: the stopping rule may add blocks, and the budget has room for the runs that are left.
    - `needs_extend`: the session needs --extend.
    - `is_budget_spent`: the budget has no room for the next run.
    """

    session: int
    left: int
    again: int
    parted: int
    warmup: int
    cases: tuple[RemainingOfCase, ...]
    elapsed_s: float | None
    n_guessed: int
    is_least: bool
    needs_extend: bool
    is_budget_spent: bool


def remaining_of(folder: Path, loaded: planning.Loaded, *, is_retrying_failed: bool = False) -> Remaining:
    """Return what 'tare run' would still run of the campaign in `folder`.

    `is_retrying_failed` stands for --retry-failed. Raises UsageError if the folder holds another campaign.
    """
    plan, old = loaded.plan, read_plan(folder)
    needs_extend = is_extension(folder, loaded)
    past = _past(folder)
    is_plain = not is_retrying_failed and (old.cases, old.repeats) == (plan.cases, plan.repeats)
    session = past.n_sessions + (not (is_plain and continues_last_session(plan, past, time.time())))
    plan = profiled_plan(plan, loaded.composer.workloads) if old.profiled else plan
    loop = Loop(
        plan.with_profiled_runs,
        _NoLog(),
        SerialExecutor(_run_nothing),
        past=Past(past.attempts, orders=past.orders, passes=past.passes, session=session),
        rule=planning.stopping_rule(plan),
        is_retrying_failed=is_retrying_failed,
    )
    passings = loop.left()
    order = Counter(case for passing in passings for case in passing.order)
    again = Counter(case for passing in passings for case in passing.again)
    parted = Counter(case for passing in passings for case in passing.parted)
    cold = loop.cold()
    took = _medians(past.attempts)
    runs = order + Counter(dict.fromkeys(cold, plan.warmup))
    middle = statistics.median(took.values()) if took else 0.0
    return Remaining(
        session=session,
        left=order.total() - again.total(),
        again=again.total(),
        parted=parted.total(),
        warmup=plan.warmup * len(cold),
        cases=tuple(
            RemainingOfCase(case.id, order[case.id] - again[case.id], again[case.id], parted[case.id])
            for case in plan.cases
            if case.id in order
        ),
        elapsed_s=sum(n * took.get(case, middle) for case, n in runs.items()) if took else None,
        n_guessed=len(runs.keys() - took.keys()),
        is_least=loop.may_add_to(order.total()),
        needs_extend=needs_extend,
        is_budget_spent=bool(passings) and not loop.fits_budget(passings[0].order[0]),
    )


def _past(folder: Path) -> RecordedCampaign:
    journal = folder / JOURNAL
    return read_past(read_events(journal) if journal.exists() else ())


def _medians(attempts: Sequence[Attempt]) -> dict[str, float]:
    by_case: dict[str, list[float]] = {}
    for one in attempts:
        if one.state is State.DONE:
            by_case.setdefault(one.case, []).append(one.taken_s)
    return {case: statistics.median(found) for case, found in by_case.items()}


def _run_nothing(case: Case, run: Run, number: int) -> Attempt:
    """Fail: a loop that is only asked what remains starts no run."""
    raise NotImplementedError


class _NoLog:
    """The log of a loop that runs nothing."""

    def block_began(self, block: int, order: list[str], again: list[str]) -> None:
        """Record nothing."""

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        """Record nothing."""

    def attempt_ended(self, attempt: Attempt) -> None:
        """Record nothing."""
