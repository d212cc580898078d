"""What the loop needs: a record of events and a stopping rule. What it reports: its progress."""

from __future__ import annotations

from typing import Protocol

import msgspec

from tare.core.attempt import Attempt
from tare.core.case import Case, Run


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
