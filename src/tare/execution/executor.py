"""Who carries attempts out: one at a time here, or many at a time elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from tare.core.attempt import Attempt
from tare.core.case import Case, Run


class Executor(Protocol):
    """Takes attempts, and gives them back when they have ended."""

    def has_room(self, case: Case) -> bool:
        """Return whether an attempt of `case` may begin now. True of any case when nothing is under way."""
        ...

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin attempt `number` of `run`."""
        ...

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Take over attempts that an earlier session began; return the runs of those that can still end."""
        ...

    def wait(self) -> Sequence[Attempt]:
        """Wait until something may have ended; return what has, with what came of it."""
        ...

    def abandon(self) -> None:
        """End everything that is under way; it does not come back any more."""
        ...


class SerialExecutor:
    """Carries out one attempt at a time, here and now."""

    def __init__(self, execute: Callable[[Case, Run, int], Attempt]) -> None:
        self._execute = execute
        self._next: tuple[Case, Run, int] | None = None

    def has_room(self, case: Case) -> bool:
        """Return whether nothing is under way (see Executor)."""
        return self._next is None

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin an attempt (see Executor); it is carried out in `wait`."""
        self._next = (case, run, number)

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Return none: what this machine ran ended with the session that ran it (see Executor)."""
        return ()

    def wait(self) -> Sequence[Attempt]:
        """Carry out the attempt that was begun (see Executor)."""
        if self._next is None:
            return ()
        try:
            return (self._execute(*self._next),)
        finally:
            self._next = None

    def abandon(self) -> None:
        """Forget the attempt; what it had started ended with `wait` (see Executor)."""
        self._next = None


class PlatformExecutors:
    """One executor for each platform's backend, of which only one has anything under way at a time.

    Runs of two backends may share nodes that neither knows the other to use, and benchmarks must not
    disturb each other.
    """

    def __init__(self, by_platform: Mapping[str, Executor]) -> None:
        self._by_platform = dict(by_platform)
        self._under_way: dict[str, int] = dict.fromkeys(self._names(), 0)

    def has_room(self, case: Case) -> bool:
        """Return whether the case's executor has room and no other one is at work (see Executor)."""
        own = self._name(case)
        is_alone = all(count == 0 for name, count in self._under_way.items() if name != own)
        return is_alone and self._by_platform[case.platform].has_room(case)

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin an attempt with the executor of its platform (see Executor)."""
        self._by_platform[case.platform].start(case, run, number)
        self._under_way[self._name(case)] += 1

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Let each executor take over what is its own (see Executor)."""
        adopted: list[Run] = []
        for name in self._under_way:
            found = self._by_platform[name].adopt([one for one in begun if self._name(one[0]) == name])
            self._under_way[name] += len(found)
            adopted += found
        return adopted

    def wait(self) -> Sequence[Attempt]:
        """Wait for the executors that are at work (see Executor)."""
        ended: list[Attempt] = []
        for name, count in self._under_way.items():
            if count:
                found = self._by_platform[name].wait()
                self._under_way[name] -= len(found)
                ended += found
        return ended

    def abandon(self) -> None:
        """End everything that is under way (see Executor)."""
        for name in self._under_way:
            self._by_platform[name].abandon()
            self._under_way[name] = 0

    def _names(self) -> list[str]:
        """Return the first platform of each executor, by which the executor is known here."""
        first = {id(executor): name for name, executor in reversed(self._by_platform.items())}
        return list(first.values())

    def _name(self, case: Case) -> str:
        executor = self._by_platform[case.platform]
        return next(name for name in self._under_way if self._by_platform[name] is executor)
