"""Assign the attempts of a journal to sessions, and read what the journal records of each session."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.analysis.trust.interrupted_blocks import SHORTEST_S, parted
from tare.core.attempt import Attempt
from tare.core.campaign import Session
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Event, SessionBegan

PROMPT_S = SHORTEST_S
"""A process that starts within five minutes of the campaign's last run continues the session of that run."""

_ROUNDING_S = 5.0
"""The largest difference between clocks of one machine: attempts use a steady one, sessions wall time."""


def is_prompt(last_at: float | None, at: float) -> bool:
    """Return whether a process that begins at `at` starts soon enough after what ended at `last_at`."""
    return last_at is not None and -_ROUNDING_S <= at - last_at <= PROMPT_S


class SessionReader:
    """Takes the events of a journal one by one, and numbers its sessions from 1.

    A process that continues after an interruption belongs to the session before it; its event says so.
    Journals of older versions do not say it. There, a process continues a session if it began within PROMPT_S
    of the last attempt, its first attempt is of the block that was under way, and it repeats no run that had
    its result. What was run before the first session, such as imported runs, belongs to session 0.

    `last_at` is when the last recorded attempt ended or began. `last_block` is the block of the attempt that
    began last. Both are None before the first attempt.
    """

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.last_at: float | None = None
        self.last_block: int | None = None
        self._settled: set[tuple[str, int]] = set()
        self._orders: dict[int, list[str]] = {}
        self._undecided: SessionBegan | None = None
        self._begun: dict[tuple[str, int, int], int] = {}

    @property
    def number(self) -> int:
        """Return the number of the current session; 0 before the first."""
        return len(self.sessions)

    def take(self, event: Event) -> int:
        """Take the next event; return the session of its attempt or, without one, the current session."""
        match event:
            case SessionBegan():
                self._open(event)
            case BlockBegan():
                known = self._orders.get(event.block)
                self._decide(is_new=known is not None and known != event.order)
                self._orders[event.block] = event.order
            case AttemptBegan():
                self._decide(is_new=self._goes_back(event.case, event.block))
                self._begun[event.case, event.block, event.attempt] = self.number
                self.last_at, self.last_block = event.at, event.block
            case AttemptEnded():
                return self._end(event.attempt)
        return self.number

    def _end(self, attempt: Attempt) -> int:
        if attempt.is_settled:
            self._settled.add((attempt.case, attempt.block))
        if attempt.source is not None:
            return 0
        key = (attempt.case, attempt.block, attempt.attempt)
        if key not in self._begun:
            self._decide(is_new=self._goes_back(attempt.case, attempt.block))
            self.last_block = attempt.block
        if attempt.started_at is not None:
            self.last_at = attempt.started_at + max(attempt.elapsed_s, 0.0)
        return attempt.session or self._begun.get(key, self.number)

    def _open(self, event: SessionBegan) -> None:
        self._undecided = None
        if not self.sessions:
            self._add(event)
        elif event.continues is None and is_prompt(self.last_at, event.at):
            self._undecided = event
        elif event.continues:
            self._resume()
        else:
            self._add(event)

    def _decide(self, *, is_new: bool) -> None:
        """Decide whether a process in an older journal continued the session before it."""
        if self._undecided is not None:
            if is_new:
                self._add(self._undecided)
            else:
                self._resume()
            self._undecided = None

    def _goes_back(self, case: str, block: int) -> bool:
        return block < (self.last_block or block) or (case, block) in self._settled

    def _add(self, event: SessionBegan) -> None:
        self.sessions.append(
            Session(
                number=self.number + 1,
                began_at=event.at,
                tare=event.tare,
                blocks=event.blocks,
                is_retrying=event.is_retrying,
            )
        )

    def _resume(self) -> None:
        last = self.sessions[-1]
        self.sessions[-1] = msgspec.structs.replace(last, n_resumed=last.n_resumed + 1)


def with_passes(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts with their session and part: attempts with the same pass ran together."""
    return parted(_with_imported_sessions(attempts))


def _with_imported_sessions(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts; imported ones with known block and time get sessions by when they ran.

    Blocks that follow one another in time are passes of one session. Where the runs return to an earlier
    block, another session begins. The last session is number 0; earlier ones have negative numbers.
    """
    timed = [one for one in attempts if one.source and one.source.gives_block and one.source.gives_time]
    latest, number = 0, 0
    sessions: dict[str, int] = {}
    for one in sorted(timed, key=lambda one: one.started_at or 0.0):
        number += one.block < latest
        latest = one.block
        sessions[one.folder] = number
    if not number:
        return tuple(attempts)
    return tuple(
        msgspec.structs.replace(one, session=sessions[one.folder] - number) if one.folder in sessions else one
        for one in attempts
    )
