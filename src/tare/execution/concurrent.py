"""Run several attempts at a time, each on its own nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from tare.core.attempt import Attempt
from tare.core.case import Case, Run

Execute = Callable[[tuple[str, ...], Case, Run, int], Attempt]
"""Runs an attempt of a run on the given nodes."""

_LOOK_AGAIN_S = 0.5  # a stage may have begun while the others were being ended


class ConcurrentExecutor:
    """Runs at most `jobs` attempts at a time (see Executor); no two of them share one of `nodes`.

    `execute` runs one attempt. `width` returns how many nodes a case needs; it gets the first free ones.
    `end_all` ends the processes of all attempts; it is called from another thread than theirs.
    """

    def __init__(
        self,
        execute: Execute,
        nodes: Sequence[str],
        width: Callable[[Case], int],
        jobs: int,
        end_all: Callable[[], object],
    ) -> None:
        self._execute = execute
        self._nodes = tuple(nodes)
        self._width = width
        self._jobs = jobs
        self._end_all = end_all
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="attempt")
        self._under_way: dict[Future[Attempt], tuple[str, ...]] = {}

    def can_start(self, case: Case) -> bool:
        """Return whether enough nodes are free for the case (see Executor)."""
        if not self._under_way:
            return True
        return len(self._under_way) < self._jobs and len(self._free()) >= self._width(case)

    def start(self, case: Case, run: Run, number: int) -> None:
        """Begin an attempt on the first free nodes (see Executor)."""
        nodes = self._free()[: self._width(case)]
        self._under_way[self._threads.submit(self._execute, nodes, case, run, number)] = nodes

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Return none: attempts on this machine end with the session that ran them (see Executor)."""
        return ()

    def wait(self) -> Sequence[Attempt]:
        """Wait for the next attempts to end (see Executor).

        Raises the exception of an attempt only if no other attempt has returned a result.
        """
        ended, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        came_out = {one for one in ended if one.exception() is None}
        for one in came_out or ended:
            del self._under_way[one]
        return [one.result() for one in came_out or ended]

    def holds_runs(self) -> bool:
        """Return that none is held back (see Executor)."""
        return False

    def unfinished(self) -> Sequence[Attempt]:
        """Return none: no attempt waits in a queue (see Executor)."""
        return ()

    def abandon(self) -> None:
        """End all running attempts (see Executor)."""
        left = {one for one in self._under_way if not one.cancel()}
        while left:
            self._end_all()
            _, left = wait(left, timeout=_LOOK_AGAIN_S)
        self._under_way.clear()
        self._threads.shutdown()

    def _free(self) -> tuple[str, ...]:
        taken = {node for nodes in self._under_way.values() for node in nodes}
        return tuple(node for node in self._nodes if node not in taken)
