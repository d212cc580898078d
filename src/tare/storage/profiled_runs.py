"""Leave profiled runs out of a journal's events, so that nothing compares or counts them with the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from tare.core.plan import Plan
from tare.storage.journal import AttemptBegan, AttemptEnded, AttemptWaits, BlockBegan, Event


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
