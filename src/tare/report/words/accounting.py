"""Account for every planned run: whether it is done, and if not, its state and the reason."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from tare.analysis import accounting
from tare.analysis.accounting import PlannedRun
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.report.words.numbers import visible


@dataclasses.dataclass(frozen=True)
class Gap:
    """Planned runs of one case that are not measured, all with the same state and reason."""

    case: str
    state: State
    reason: str
    check: str
    blocks: tuple[int, ...]
    folders: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Account:
    """The planned runs by state, each counted once.

    `gaps` are the runs that are not done. Warm-up runs are counted separately, in `n_warmup`.
    """

    n_planned: int
    states: dict[State, int]
    gaps: tuple[Gap, ...]
    n_attempts: int
    n_warmup: int

    @property
    def n_done(self) -> int:
        """Return how many planned runs are measured."""
        return self.states.get(State.DONE, 0)

    @property
    def sentence(self) -> str:
        """Return the counts as a sentence: ``270 runs planned: 268 done, 2 invalid.``"""
        if not self.n_planned:
            return "No run is planned."
        parts = [f"{self.states[state]} {state.value}" for state in State if self.states.get(state)]
        return f"{count(self.n_planned, 'run')} planned: {', '.join(parts)}."


def account(campaign: Campaign) -> Account:
    """Return the state of each planned run of `campaign`, which is that of its latest attempt."""
    found = accounting.account(campaign)
    grouped: dict[tuple[str, State, str, str], list[PlannedRun]] = defaultdict(list)
    for one in found.runs:
        if one.state is not State.DONE:
            reason = one.attempt.reason if one.attempt else "not run yet"
            check = one.attempt.check if one.attempt else ""
            grouped[one.run.case, one.state, reason, check].append(one)
    counted = [one for one in campaign.attempts if one.block >= 1]
    return Account(
        n_planned=found.n_planned,
        states=found.counts,
        gaps=tuple(_gap(*key, alike) for key, alike in grouped.items()),
        n_attempts=len(counted),
        n_warmup=sum(one.block < 1 for one in campaign.attempts),
    )


def _gap(case: str, state: State, reason: str, check: str, found: list[PlannedRun]) -> Gap:
    return Gap(
        case=case,
        state=state,
        reason=visible(reason) or "no reason was recorded",
        check=visible(check),
        blocks=tuple(one.run.block for one in found),
        folders=tuple(one.attempt.folder for one in found if one.attempt),
    )
