"""Executors run attempts: one at a time here, several at a time, or as jobs of a batch system.

This module has the protocol `Executor`, the serial executor, and the executor that delegates to one executor
for each backend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from tare.core.attempt import Attempt
from tare.core.case import Case, Run


class Executor(Protocol):
    """Starts attempts, and returns them when they have ended."""

    def can_start(self, case: Case) -> bool:
        """Return whether an attempt of `case` may begin now. Always True when no attempt is running."""
        ...

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin attempt `number` of `run`."""
        ...

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Take over attempts that an earlier session began; return the runs of those that can still end."""
        ...

    def wait(self) -> Sequence[Attempt]:
        """Wait until attempts may have ended; return those that have, with their results (maybe none)."""
        ...

    def holds_runs(self) -> bool:
        """Return whether attempts are held back, to begin together as one job when `wait` is called."""
        ...

    def unfinished(self) -> Sequence[Attempt]:
        """Return attempts that have not ended, with the time that they took until now.

        Only executors whose attempts may wait in a queue return any.
        """
        ...

    def abandon(self) -> None:
        """End all running attempts; `wait` does not return them any more."""
        ...


class SerialExecutor:
    """Runs one attempt at a time, in this process."""

    def __init__(self, execute: Callable[[Case, Run, int], Attempt]) -> None:
        self._execute = execute
        self._next: tuple[Case, Run, int] | None = None

    def can_start(self, case: Case) -> bool:
        """Return whether no attempt is running (see Executor)."""
        return self._next is None

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin an attempt (see Executor); `wait` runs it."""
        self._next = (case, run, number)

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Return none: attempts on this machine end with the session that ran them (see Executor)."""
        return ()

    def wait(self) -> Sequence[Attempt]:
        """Run the attempt that was begun (see Executor)."""
        if self._next is None:
            return ()
        try:
            return (self._execute(*self._next),)
        finally:
            self._next = None

    def holds_runs(self) -> bool:
        """Return that none is held back (see Executor)."""
        return False

    def unfinished(self) -> Sequence[Attempt]:
        """Return none: no attempt waits in a queue (see Executor)."""
        return ()

    def abandon(self) -> None:
        """Forget the attempt; the processes that it started have ended with `wait` (see Executor)."""
        self._next = None


class BackendExecutors:
    """Delegates to one executor for each backend; only one of them runs attempts at a time.

    Two backends may use the same nodes without knowing of each other. Benchmarks must not disturb each other.
    """

    def __init__(self, executors: Mapping[str, Executor], backend_of: Callable[[Case], str]) -> None:
        self._executors = dict(executors)
        self._backend_of = backend_of
        self._under_way = dict.fromkeys(self._executors, 0)

    def can_start(self, case: Case) -> bool:
        """Return whether the case's executor has room and no other executor runs attempts (see Executor)."""
        own = self._backend_of(case)
        are_others_idle = all(count == 0 for name, count in self._under_way.items() if name != own)
        return are_others_idle and self._executors[own].can_start(case)

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin an attempt with the executor of its backend (see Executor)."""
        self._executors[self._backend_of(case)].start(case, run, number)
        self._under_way[self._backend_of(case)] += 1

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Let each executor take over the attempts of its own platforms (see Executor)."""
        adopted: list[Run] = []
        for name, executor in self._executors.items():
            found = executor.adopt([one for one in begun if self._backend_of(one[0]) == name])
            self._under_way[name] += len(found)
            adopted += found
        return adopted

    def wait(self) -> Sequence[Attempt]:
        """Wait for the executors that run attempts (see Executor)."""
        ended: list[Attempt] = []
        for name, count in self._under_way.items():
            if count:
                found = self._executors[name].wait()
                self._under_way[name] -= len(found)
                ended += found
        return ended

    def holds_runs(self) -> bool:
        """Return whether an executor holds attempts back (see Executor)."""
        return any(executor.holds_runs() for executor in self._executors.values())

    def unfinished(self) -> Sequence[Attempt]:
        """Return attempts of all executors (see Executor)."""
        return [one for executor in self._executors.values() for one in executor.unfinished()]

    def abandon(self) -> None:
        """End all running attempts (see Executor)."""
        for name, executor in self._executors.items():
            executor.abandon()
            self._under_way[name] = 0
