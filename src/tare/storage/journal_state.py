"""Derive the state of a campaign from the events of its journal; no other module interprets events.

A program that reads a finished journal and one that follows a growing journal do the same::

    state = JournalState()
    for event in read_events(path):
        state.take(event)
    state.current_attempts(is_running=False)
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tare.core.attempt import Attempt, State
from tare.core.case import Pass, Run
from tare.storage.journal import AttemptBegan, AttemptEnded, AttemptWaits, BlockBegan, Event
from tare.storage.sessions import SessionReader

Key = tuple[str, int, int]
"""Case, block and attempt."""


class JournalState:
    """The state of a campaign after the events taken so far.

    `attempts` are in the order in which they began. An attempt without an end is LOST, and is also in
    `under_way`, with what it waits for. `latest` holds the last attempt of each run. `orders` holds the cases
    of each block that was begun, those of an earlier session first. `passes` holds the cases that each pass
    was to run once more. `session_reader` has the sessions.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.attempts: dict[Key, Attempt] = {}
        self.latest: dict[Run, Attempt] = {}
        self.under_way: dict[Key, str] = {}
        self.orders: dict[int, list[str]] = {}
        self.passes: dict[Pass, list[str]] = {}
        self.session_reader = SessionReader()
        for event in events:
            self.take(event)

    def take(self, event: Event) -> Run | None:
        """Take the next event; return the run that it changes, if it changes one."""
        session = self.session_reader.take(event)
        match event:
            case BlockBegan():
                known = self.orders.get(event.block, [])
                self.orders[event.block] = list(dict.fromkeys([*known, *event.order]))
                self.passes[Pass(session, event.block)] = event.again
            case AttemptBegan():
                return self._begin(event, session)
            case AttemptWaits():
                key = (event.case, event.block, event.attempt)
                if key in self.under_way:
                    self.under_way[key] = event.reason
                    return Run(event.block, event.case)
            case AttemptEnded():
                ended = event.attempt
                self.under_way.pop(key_of(ended), None)
                is_told = ended.session == session
                return self._keep(ended if is_told else msgspec.structs.replace(ended, session=session))
        return None

    def current(self, attempt: Attempt, *, is_running: bool) -> Attempt:
        """Return an attempt with its present state.

        Without an end, it is RUNNING while a live process runs it.
        """
        waits_for = self.under_way.get(key_of(attempt)) if is_running else None
        if waits_for is None:
            return attempt
        return msgspec.structs.replace(attempt, state=State.RUNNING, reason=waits_for)

    def current_attempts(self, *, is_running: bool) -> tuple[Attempt, ...]:
        """Return all attempts with their present states."""
        if not is_running:
            return tuple(self.attempts.values())
        return tuple(self.current(one, is_running=True) for one in self.attempts.values())

    def _begin(self, event: AttemptBegan, session: int) -> Run:
        attempt = Attempt(
            case=event.case,
            block=event.block,
            attempt=event.attempt,
            state=State.LOST,
            reason="tare ended before the run did",
            started_at=event.at,
            session=session,
        )
        self.under_way[key_of(attempt)] = ""
        return self._keep(attempt)

    def _keep(self, attempt: Attempt) -> Run:
        run = Run(attempt.block, attempt.case)
        self.attempts[key_of(attempt)] = attempt
        if attempt.supersedes(self.latest.get(run)):
            self.latest[run] = attempt
        return run


def key_of(attempt: Attempt) -> Key:
    """Return the key of an attempt, which is unique in its campaign."""
    return attempt.case, attempt.block, attempt.attempt
