"""The protocol that a batch system implements for the scheduler: submit, list and cancel jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import comment
from tare.plugins.backends.batch.options import minutes_of
from tare.plugins.backends.batch.phases import Phase


class Obstacle(NamedTuple):
    """What keeps a queued job from starting, if waiting alone may not end it: its cure, in words.

    With `is_final`, the job can never start as it was submitted.
    """

    cure: str
    is_final: bool = False


class QueuedJob(NamedTuple):
    """The entry of a job in a batch system. Some systems keep the entries of finished jobs for a while.

    `state` is the system's own word. `reason` is why the job waits, in the system's words. `name` is empty if
    the system does not give names. `comment` is the text of `leftovers.comment`, if the system keeps it.
    `obstacle` follows from the reason.
    """

    id: str
    phase: Phase
    state: str
    name: str = ""
    reason: str = ""
    comment: str = ""
    obstacle: Obstacle | None = None


class QueueFullError(BackendError):
    """A job was refused because there are as many as a limit allows; it is taken when others have ended."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a job asks for: the largest need of its tasks, and the total time of all of them.

    `output` is the file for what the script itself prints. `platform` is the first task's. `comment` names
    the session and the campaign; it is empty for a job of no campaign.
    """

    name: str
    nodes: int
    ranks_per_node: int
    threads: int
    minutes: int
    output: Path
    platform: Platform
    comment: str = ""


class Queue(Protocol):
    """One batch system, as its user reaches it.

    Each method raises BackendError when the system does not answer.
    """

    @property
    def system(self) -> str:
        """Return the system's usual name, such as Slurm."""
        ...

    @property
    def cancel_command(self) -> str:
        """Return the command with which users cancel jobs, such as scancel."""
        ...

    def submit(self, script: Path, request: Request) -> str:
        """Submit the script, which holds its directives. Return the id of its job.

        Raises BackendError with the system's message, also when it refuses the job; QueueFullError if it will
        take the job later.
        """
        ...

    def jobs(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return all jobs of this user that the system knows, or at least those of `ids`. Makes one query."""
        ...

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return how jobs ended that `jobs` no longer returns, from the system's accounting. Makes one query.

        It never raises: without accounting, the job's own record must suffice.
        """
        ...

    def cancel(self, ids: Collection[str]) -> None:
        """Cancel jobs. A job that is already over is no error."""
        ...

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield a sentence for each of `nodes` that was lost since `began_at` (seconds since the epoch).

        Drained nodes count if `is_drained_away`. Yield nothing if the system gives no such information.
        """
        ...

    def remove(self, folder: str) -> bool:
        """Remove a folder that a job left on a storage path. Return whether it is gone."""
        ...


def request_of(tasks: Sequence[Task]) -> Request:
    """Return what `tasks` need from a batch system as one job."""
    first = tasks[0]
    is_of_campaign = len(first.folder.parents) > 2  # true of every attempt's folder
    session = first.labels.get("session", "")
    return Request(
        name=first.name,
        nodes=max(task.layout.nodes for task in tasks),
        ranks_per_node=max(task.layout.ranks_per_node for task in tasks),
        threads=max(task.layout.threads for task in tasks),
        minutes=minutes_of([task.timeout_s for task in tasks]),
        output=first.folder / "job.out",
        platform=first.platform,
        comment=comment(session, str(first.folder.parents[2])) if is_of_campaign else "",
    )
