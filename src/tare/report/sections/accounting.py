"""Account for every planned run: done, or what became of it and why."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict

from tare.model.attempt import Attempt, State
from tare.model.campaign import Campaign
from tare.model.case import Run
from tare.report.words.numbers import count, visible


@dataclasses.dataclass(frozen=True)
class Gap:
    """Planned runs of one case that are in one state for one reason, and so are not measured."""

    case: str
    state: State
    reason: str
    check: str
    blocks: tuple[int, ...]
    folders: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Account:
    """Every planned run, counted once. `gaps` are those that are not done; warm-up runs are apart."""

    n_planned: int
    states: dict[State, int]
    gaps: tuple[Gap, ...]
    n_attempts: int
    n_repeated: int
    n_warmup: int

    @property
    def n_done(self) -> int:
        """Return how many planned runs are measured."""
        return self.states.get(State.DONE, 0)

    @property
    def sentence(self) -> str:
        """Return the balance in words: ``270 runs planned: 268 done, 2 invalid.``"""
        if not self.n_planned:
            return "No run is planned."
        parts = [f"{self.states[state]} {state.value}" for state in State if self.states.get(state)]
        return f"{count(self.n_planned, 'run')} planned: {', '.join(parts)}."


def account(campaign: Campaign) -> Account:
    """Return what became of each planned run of `campaign`; its latest attempt tells."""
    latest = campaign.latest()
    planned = campaign.planned()
    grouped: dict[tuple[str, State, str, str], list[tuple[Run, Attempt | None]]] = defaultdict(list)
    states: Counter[State] = Counter()
    for run in planned:
        attempt = latest.get(run)
        state = state_of(attempt, campaign.is_running)
        states[state] += 1
        if state is not State.DONE:
            reason = attempt.reason if attempt else "not run yet"
            check = attempt.check if attempt else ""
            grouped[run.case, state, reason, check].append((run, attempt))
    counted = [one for one in campaign.attempts if one.block >= 1]
    return Account(
        n_planned=len(planned),
        states=dict(states),
        gaps=tuple(_gap(*key, found) for key, found in grouped.items()),
        n_attempts=len(counted),
        n_repeated=len(counted) - len({(one.block, one.case) for one in counted}),
        n_warmup=sum(one.block < 1 for one in campaign.attempts),
    )


def state_of(attempt: Attempt | None, is_running: bool) -> State:
    """Return the state of a run by its last attempt; nothing runs in a campaign that nobody holds."""
    if attempt is None:
        return State.PENDING
    if attempt.state is State.RUNNING and not is_running:
        return State.LOST
    return attempt.state


def _gap(case: str, state: State, reason: str, check: str, found: list[tuple[Run, Attempt | None]]) -> Gap:
    return Gap(
        case=case,
        state=state,
        reason=visible(reason) or "no reason was recorded",
        check=visible(check),
        blocks=tuple(run.block for run, _ in found),
        folders=tuple(attempt.folder for _, attempt in found if attempt),
    )
