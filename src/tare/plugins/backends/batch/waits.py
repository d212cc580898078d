"""Report what queued tasks wait for, and find those whose jobs can never start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import QueuedJob

_QUEUED_S = 5.0  # a shorter wait is not reported
_OBSTACLE_S = 2.0  # Slurm shows PartitionConfig for a moment where it then finds PartitionTimeLimit
_CERTAIN_S = 10.0  # a limit that is just being changed, or an account just being created, is there by then


class _Wait(msgspec.Struct):
    """The wait of a task: since when it is queued, since when its job can never start, what was reported."""

    queued_since: float | None = None
    hopeless_since: float | None = None
    reported: str = ""


class QueueWaits:
    """Remembers the waits of tasks in the queue of `system`, such as Slurm."""

    def __init__(self, system: str, clock: Callable[[], float]) -> None:
        self._system = system
        self._clock = clock
        self._waits: dict[str, _Wait] = {}

    def changes(self, jobs: Mapping[str, QueuedJob | None]) -> Iterator[tuple[list[str], str]]:
        """Yield tasks and what they wait for, if that has changed; ``""`` means that they no longer wait.

        `jobs` has the job of every task; None is a job that is not in the queue. A wait is reported after
        some seconds, and one that waiting alone does not end sooner, with its cure.
        """
        self._waits = {name: self._waits.get(name, _Wait()) for name in jobs}
        changed: dict[str, list[str]] = {}
        for name, job in jobs.items():
            wait, reason = self._waits[name], self._reason(name, job)
            if reason is not None and reason != wait.reported:
                wait.reported = reason
                changed.setdefault(reason, []).append(name)
        for reason, names in changed.items():
            yield names, reason

    def _reason(self, name: str, job: QueuedJob | None) -> str | None:
        """Return what a task waits for; empty if it does not wait, and None if it is too early to say."""
        wait, now = self._waits[name], self._clock()
        if job is None or job.phase is not Phase.QUEUED:
            wait.queued_since = wait.hopeless_since = None
            return ""
        wait.queued_since = now if wait.queued_since is None else wait.queued_since
        obstacle = job.obstacle
        if obstacle is None or not obstacle.is_final:
            wait.hopeless_since = None
        elif wait.hopeless_since is None:
            wait.hopeless_since = now
        if now - wait.queued_since < (_OBSTACLE_S if obstacle else _QUEUED_S):
            return None
        cure = f"; {obstacle.cure}" if obstacle else ""
        return f"queued by {self._system}: {job.reason or job.state}{cure}"

    def hopeless(self, name: str, job: QueuedJob | None) -> str:
        """Return why the job of a task can never start, once that is certain; empty before."""
        wait = self._waits.get(name)
        if job is None or job.obstacle is None or wait is None or wait.hopeless_since is None:
            return ""
        if self._clock() - wait.hopeless_since < _CERTAIN_S:
            return ""
        why = f"{self._system}'s job {job.id} can never start: {job.reason or job.state}"
        return f"{why}; {job.obstacle.cure}"
