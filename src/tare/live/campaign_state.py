"""The state of one campaign in memory, updated with each event of its journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.analysis.accounting import account_for
from tare.analysis.pairing import Outstanding
from tare.analysis.repeats.budget import Spending
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Run
from tare.core.plan import Plan
from tare.storage.journal import AttemptEnded, BlockBegan, Event
from tare.storage.journal_state import JournalState, Key, key_of
from tare.storage.profiled_runs import profiled_attempts, without_profiled_runs
from tare.storage.sessions import with_passes

_SETTLED = (State.DONE, State.FAILED, State.INVALID)


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a campaign.

    `eta_s` is the time left in seconds. It is None if the campaign is not running or no run has ended yet. It
    `is_least` where the stopping rule may add blocks, and the budget has room for the runs that are planned.
    `under_way` are the attempts that have not ended. `started_at` and `last_at` are the first and the last
    start of an attempt.
    """

    counts: dict[State, int]
    n_planned: int
    eta_s: float | None
    is_least: bool
    under_way: tuple[Attempt, ...]
    started_at: float | None
    last_at: float | None

    @property
    def n_settled(self) -> int:
        """Return how many planned runs have a final state: done, failed or invalid."""
        return sum(self.counts[state] for state in _SETTLED)


class CampaignState:
    """The attempts of a campaign by key and by run, as its journal records them.

    `changed` maps each run to the revision at which it last changed; the latest change comes last.
    `matrix_revision` is the revision at which the plan or its blocks last changed, and `ended_revision` the
    one at which an attempt last ended.
    """

    def __init__(self, folder: Path, plan: Plan, revision: int) -> None:
        self.folder = folder
        self._state = JournalState()
        self._with_profiled = JournalState()
        self.attempts: Mapping[Key, Attempt] = self._state.attempts
        self.latest: Mapping[Run, Attempt] = self._state.latest
        self.orders: Mapping[int, list[str]] = self._state.orders
        self.changed: dict[Run, int] = {}
        self.ended_revision = revision
        self.is_running = False
        self._progress: tuple[int, RunCounts] | None = None
        self.replan(plan, revision)

    def replan(self, plan: Plan, revision: int) -> None:
        """Replace the plan by `plan`, for example when a campaign is extended."""
        self.plan = plan
        self.matrix_revision = self.revision = revision
        self.cases = {case.id: case for case in plan.cases}
        self._profiled = {case.id for case in plan.profiled}
        self._planned: tuple[Run, ...] | None = None

    @property
    def planned(self) -> tuple[Run, ...]:
        """Return every measured run that is planned so far.

        It is computed on first use after a change, because blocks are added one by one.
        """
        if self._planned is None:
            skeleton = Campaign(folder=self.folder, plan=self.plan, orders=dict(self.orders))
            self._planned = tuple(run for run in skeleton.planned() if run.case in self.cases)
        return self._planned

    def apply(self, event: Event, revision: int) -> None:
        """Update the state with one event of the journal."""
        self.revision = revision
        self._with_profiled.take(event)
        plain = without_profiled_runs(event, self._profiled)
        if plain is None:
            if isinstance(event, AttemptEnded):
                self.ended_revision = revision
            return
        event = plain
        run = self._state.take(event)
        if run is not None:
            self._touch(run, revision)
        if isinstance(event, BlockBegan):
            self.matrix_revision = revision
            self._planned = None
        elif isinstance(event, AttemptEnded):
            self.ended_revision = revision

    def run_by(self, revision: int, *, is_running: bool) -> None:
        """Record whether a live process holds the campaign."""
        if is_running != self.is_running:
            self.is_running = is_running
            self.revision = revision
            for case, block, _ in self._state.under_way:
                self._touch(Run(block, case), revision)

    def state(self, run: Run) -> State:
        """Return the state of a planned run: that of its latest attempt, or PENDING if it has none."""
        attempt = self.latest.get(run)
        return State.PENDING if attempt is None else self.state_of(attempt)

    def state_of(self, attempt: Attempt) -> State:
        """Return the state of an attempt; one that has not ended is RUNNING only while the campaign runs."""
        return self._state.current(attempt, is_running=self.is_running).state

    def reason_of(self, attempt: Attempt) -> str:
        """Return why an attempt does not count, or what an attempt under way waits for, if anything."""
        return self._state.current(attempt, is_running=self.is_running).reason

    def changed_since(self, revision: int) -> Iterator[Run]:
        """Yield the runs that changed after `revision`, the latest first."""
        for run in reversed(self.changed):
            if self.changed[run] <= revision:
                return
            yield run

    def campaign(self) -> Campaign:
        """Return the state as a Campaign, as `read_campaign` would, but without environments."""
        return Campaign(
            folder=self.folder,
            plan=self.plan,
            attempts=with_passes(self._state.current_attempts(is_running=self.is_running)),
            profiled_attempts=profiled_attempts(self.plan, self._with_profiled, is_running=self.is_running),
            orders=dict(self.orders),
            sessions=tuple(self._state.session_reader.sessions),
            is_running=self.is_running,
        )

    def progress(self) -> RunCounts:
        """Return the progress of the campaign; it is computed once per revision."""
        if self._progress is None or self._progress[0] != self.revision:
            self._progress = (self.revision, self._count())
        return self._progress[1]

    def _count(self) -> RunCounts:
        planned, latest = self.planned, self.latest
        current = {
            run: self._state.current(latest[run], is_running=self.is_running)
            for run in planned
            if run in latest
        }
        counts = account_for(planned, current, is_running=self.is_running).counts
        spent = Spending(self.plan.repeats.budget)
        for key, one in self.attempts.items():
            if key not in self._state.under_way:
                spent.add(one, is_settled=one.is_settled)
        under_way = tuple(self.attempts[key] for key in self._state.under_way) if self.is_running else ()
        n_left = self._n_left(counts) if self.is_running else 0
        left_s = spent.left_s(n_left) if n_left else None
        started = [one.started_at for one in self.attempts.values() if one.started_at is not None]
        return RunCounts(
            counts=counts,
            n_planned=len(planned),
            eta_s=left_s,
            is_least=self.plan.repeats.may_add_blocks(self.orders) and not spent.may_end_before(n_left),
            under_way=under_way,
            started_at=min(started, default=None),
            last_at=max(started, default=None),
        )

    def _n_left(self, counts: Mapping[State, int]) -> int:
        """Return how many runs the current session has still to finish, including those that it repeats."""
        if len(self._state.session_reader.sessions) < 2:
            return len(self.planned) - sum(counts[state] for state in _SETTLED)
        session = self._state.session_reader.sessions[-1]
        outstanding = Outstanding(self.plan, session.number, self._state.passes)
        for one in with_passes(tuple(self.attempts.values())):
            if key_of(one) in self._state.under_way:
                outstanding.take_under_way(Run(one.block, one.case), one.session)
            else:
                is_retried = session.is_retrying and one.session < session.number
                is_settled = one.is_settled and not (is_retried and one.state is not State.DONE)
                outstanding.take(one, is_settled=is_settled)
        blocks: dict[int, list[str]] = {}
        for run in self.planned:
            blocks.setdefault(run.block, []).append(run.case)
        return len(self._state.under_way) + sum(
            len(outstanding.of_block(block, cases).order) for block, cases in blocks.items()
        )

    def _touch(self, run: Run, revision: int) -> None:
        self.changed.pop(run, None)
        self.changed[run] = revision
