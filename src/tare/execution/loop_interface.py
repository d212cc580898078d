"""What the loop needs: the past, a record of events and a stopping rule. What it reports: its progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from tare.analysis.pairing import Passing
from tare.core.attempt import Attempt
from tare.core.case import Case, Pass, Run


class Past(NamedTuple):
    """What the journal of earlier sessions holds, and the number of this `session`.

    `begun` are the attempts whose end is not recorded. `orders` gives the cases of each block that has begun,
    in their order. `passes` are the passes that have begun, each with the cases that it was to repeat; None
    stands for one pass over each of `orders`, in this session.
    """

    attempts: Sequence[Attempt] = ()
    begun: Sequence[Attempt] = ()
    orders: Mapping[int, list[str]] = {}  # the loop copies it
    passes: Mapping[Pass, Collection[str]] | None = None
    session: int = 0


FRESH = Past()
"""The past of a campaign that has not begun."""


class Log(Protocol):
    """The record of events (the journal). The loop writes each event to it before it continues."""

    def block_began(self, block: int, order: list[str], again: list[str]) -> None:
        """Record that a pass over a block begins: its cases in order, and the cases that it repeats."""
        ...

    def attempt_began(self, case: str, block: int, attempt: int, at: float) -> None:
        """Record that an attempt begins."""
        ...

    def attempt_ended(self, attempt: Attempt) -> None:
        """Record the result of an attempt durably."""
        ...


class Rule(Protocol):
    """The stopping rule: which cases need another block after the minimum number of blocks."""

    def add(self, attempt: Attempt) -> None:
        """Add a measured attempt that succeeded."""
        ...

    def wanted(self) -> set[str]:
        """Return the ids of the cases that need another block."""
        ...


class LoopState(msgspec.Struct, frozen=True):
    """The progress of a campaign, before or after an attempt.

    `eta_s` is the remaining time in seconds, None until it can be estimated. It `is_least` where the stopping
    rule may add blocks, and the budget has room for the runs that are planned. `last` is the attempt that has
    just ended, None when one is about to begin.
    """

    n_done: int
    n_runs: int
    eta_s: float | None
    is_least: bool
    case: Case
    run: Run
    last: Attempt | None


class Listener(NamedTuple):
    """The functions that the loop calls as it goes on.

    - `on_progress` is called before and after each attempt.
    - `on_remaining` is called at the start with the remaining runs and with the case of each warm-up run.
    - `on_stopped` is called with a sentence when no more runs of a program begin. The reason is that all its
      runs failed in the same way, or that it could not be started (see StoppedPrograms).
    """

    on_progress: Callable[[LoopState], None] = lambda progress: None
    on_remaining: Callable[[Sequence[Passing], Sequence[str]], None] = lambda left, warmup: None
    on_stopped: Callable[[str], None] = lambda reason: None


SILENT = Listener()
"""A listener that does nothing."""
