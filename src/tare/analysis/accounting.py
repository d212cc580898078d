"""What became of each planned run: the one count, for status, check, report, live page and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Run


class PlannedRun(NamedTuple):
    """A planned run, its state, and its last attempt if it has one."""

    run: Run
    state: State
    attempt: Attempt | None


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """Every planned run, counted once, in the plan's order; warm-up is not planned.

    `counts` has every state, in the order in which they are told.
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
        """Return whether every planned run is done."""
        return self.n_done == self.n_planned and not self.is_running

    @property
    def others(self) -> dict[State, int]:
        """Return how many runs are not done, by their state, without those in which none is."""
        return {state: n for state, n in self.counts.items() if n and state is not State.DONE}

    def __str__(self) -> str:
        """Return it in words: ``82 of 84 planned runs are done, 2 invalid``."""
        told = [f"{self.n_done} of {self.n_planned} planned runs are done"]
        told += [f"{n} {state}" for state, n in self.others.items()]
        return ", ".join([*told, *(["the campaign is still running"] if self.is_running else [])])


def account(campaign: Campaign) -> Accounting:
    """Return what became of each planned run of `campaign`; its last attempt tells."""
    return account_for(campaign.planned(), campaign.latest(), is_running=campaign.is_running)


def account_for(planned: Iterable[Run], latest: Mapping[Run, Attempt], *, is_running: bool) -> Accounting:
    """Return what became of the `planned` runs by the `latest` attempt of each."""
    runs = tuple(PlannedRun(run, state_of(latest.get(run), is_running), latest.get(run)) for run in planned)
    counts = Counter(one.state for one in runs)
    return Accounting(runs=runs, counts={state: counts[state] for state in State}, is_running=is_running)


def state_of(attempt: Attempt | None, is_running: bool) -> State:
    """Return the state of a run by its last attempt; nothing runs in a campaign that nobody holds."""
    if attempt is None:
        return State.PENDING
    if attempt.state is State.RUNNING and not is_running:
        return State.LOST
    return attempt.state
