"""Count the planned runs of a campaign by state.

Status, check, report, live page and metrics all use this count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Run
from tare.core.counting import count


class PlannedRun(NamedTuple):
    """A planned run, its state, and its last attempt if it has one."""

    run: Run
    state: State
    attempt: Attempt | None


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """All planned runs, each counted once, in the plan's order; warm-up runs are not planned runs.

    `counts` has every state, in the order in which they are reported.
    """

    runs: tuple[PlannedRun, ...]
    counts: dict[State, int]
    is_running: bool

    @property
    def n_planned(self) -> int:
        """Return how many runs are planned so far."""
        return len(self.runs)

    @property
    def n_done(self) -> int:
        """Return how many of them are measured."""
        return self.counts[State.DONE]

    @property
    def is_complete(self) -> bool:
        """Return whether every planned run is done, and the campaign is not running."""
        return self.n_done == self.n_planned and not self.is_running

    @property
    def others(self) -> dict[State, int]:
        """Return how many runs are in each other state than done; states without runs are left out."""
        return {state: n for state, n in self.counts.items() if n and state is not State.DONE}

    def __str__(self) -> str:
        """Return the count in words: ``82 of 84 planned runs are done, 2 invalid``."""
        parts = [f"{self.n_done} of {count(self.n_planned, 'planned run is', 'planned runs are')} done"]
        parts += [f"{n} {state}" for state, n in self.others.items()]
        return ", ".join([*parts, *(["the campaign is still running"] if self.is_running else [])])


def account(campaign: Campaign) -> Accounting:
    """Return the state of each planned run of `campaign`, from its last attempt."""
    return account_for(campaign.planned(), campaign.latest(), is_running=campaign.is_running)


def account_for(planned: Iterable[Run], latest: Mapping[Run, Attempt], *, is_running: bool) -> Accounting:
    """Return the state of each of the `planned` runs, from its `latest` attempt."""
    runs = tuple(
        PlannedRun(run, state_of(latest.get(run), is_running=is_running), latest.get(run)) for run in planned
    )
    counts = Counter(one.state for one in runs)
    return Accounting(runs=runs, counts={state: counts[state] for state in State}, is_running=is_running)


def state_of(attempt: Attempt | None, *, is_running: bool) -> State:
    """Return the state of a run from its last attempt.

    A running attempt is lost if the campaign is not running.
    """
    if attempt is None:
        return State.PENDING
    if attempt.state is State.RUNNING and not is_running:
        return State.LOST
    return attempt.state


class UncountedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the `n_runs` planned runs of a case failed or are invalid, by state: they do not count."""

    case: str
    n_runs: int
    counts: dict[State, int]


_UNCOUNTED = (State.FAILED, State.INVALID)


def uncounted(campaign: Campaign, cases: Collection[str]) -> list[UncountedRuns]:
    """Return the runs that failed or are invalid, for each of these cases that has some."""
    states: dict[str, Counter[State]] = {case.id: Counter() for case in campaign.plan.cases}
    for one in account(campaign).runs:
        if one.run.case in cases:
            states[one.run.case][one.state] += 1
    return [
        UncountedRuns(case=case, n_runs=found.total(), counts={one: found[one] for one in lost})
        for case, found in states.items()
        if (lost := [state for state in _UNCOUNTED if found[state]])
    ]
