"""Part profiled runs from the others in a journal, so that nothing compares or counts them together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from tare.core.attempt import Attempt
from tare.core.plan import Plan
from tare.storage.journal import AttemptBegan, AttemptEnded, AttemptWaits, BlockBegan, Event
from tare.storage.journal_state import JournalState
from tare.storage.sessions import with_passes


def without_profiled(events: Iterable[Event], plan: Plan) -> Iterator[Event]:
    """Yield the events of the runs of `plan` that are not profiled."""
    profiled = {case.id for case in plan.profiled}
    for event in events:
        if (plain := without_profiled_runs(event, profiled)) is not None:
            yield plain


def without_profiled_runs(event: Event, profiled: Collection[str]) -> Event | None:
    """Return `event` without the cases `profiled`; None if it is about one of them."""
    match event:
        case BlockBegan() if profiled:
            return msgspec.structs.replace(
                event,
                order=[case for case in event.order if case not in profiled],
                again=[case for case in event.again if case not in profiled],
            )
        case AttemptBegan() | AttemptWaits() if event.case in profiled:
            return None
        case AttemptEnded() if event.attempt.case in profiled:
            return None
    return event


def profiled_attempts(plan: Plan, state: JournalState, *, is_running: bool) -> tuple[Attempt, ...]:
    """Return the attempts of the plan's profiled cases, each with the case that it profiles.

    `state` is that after all events of the journal, of profiled runs and of the others.
    """
    plain = {case.id: case.profile_of for case in plan.profiled}
    every = with_passes(state.current_attempts(is_running=is_running)) if plain else ()
    return tuple(
        msgspec.structs.replace(one, case=plain[one.case], ran_as=one.case, is_profiled=True)
        for one in every
        if plain.get(one.case)
    )
