"""What a batch system's commands do for the scheduler: submit, look, cancel."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tare.core.scheduler import Task
from tare.core.site import Platform
from tare.plugins.backends.batch.leftovers import comment
from tare.plugins.backends.batch.phases import Phase

_START_AND_END_S = 60  # on top of a task's own time-out: probes, slow starts, and a kill that takes its time


class QueuedJob(NamedTuple):
    """What a batch system says of a job. Some tell of one that is over for a while.

    `state` is the system's own word, `reason` why it waits, in the system's words. `name` is empty where the
    system does not tell names. `comment` is what `leftovers.comment` makes, where the system keeps it.
    """

    id: str
    phase: Phase
    state: str
    name: str = ""
    reason: str = ""
    comment: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a job asks for: the largest of what its tasks need, and the time of all of them.

    `output` is the file for what the script itself prints. `platform` is the first
    task's. `comment` names session and campaign; it is empty for what belongs to no campaign.
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
    """One batch system, as its user reaches it. Each method raises BackendError when it does not answer."""

    @property
    def system(self) -> str:
        """Return what people call it: Slurm."""
        ...

    @property
    def cancel_command(self) -> str:
        """Return what users cancel jobs with: scancel."""
        ...

    def submit(self, script: Path, request: Request) -> str:
        """Submit the script, which holds its directives; return the id of its job.

        Raises BackendError with what the system says, also when it refuses the job.
        """
        ...

    def jobs(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return all jobs of this user that the system knows, in one query; or at least those of `ids`."""
        ...

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return how jobs ended that `jobs` no longer knows, as far as the system's books tell; one query.

        It never raises: without books the job's own record must do.
        """
        ...

    def cancel(self, ids: Collection[str]) -> None:
        """Cancel jobs; those that are over already are no error."""
        ...

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield a sentence for each of `nodes` that was lost since `began_at` (seconds since the epoch).

        Nodes that are drained count where `is_drained_away`. Yield nothing where the system does not tell.
        """
        ...

    def remove(self, folder: str) -> bool:
        """Remove a folder that a job left on a storage path; return whether it is gone."""
        ...


def request_of(tasks: Sequence[Task]) -> Request:
    """Return what `tasks` need of a batch system as one job."""
    first = tasks[0]
    is_of_campaign = len(first.folder.parents) > 2  # as every folder of an attempt is
    session = first.labels.get("session", "")
    return Request(
        name=first.name,
        nodes=max(task.layout.nodes for task in tasks),
        ranks_per_node=max(task.layout.ranks_per_node for task in tasks),
        threads=max(task.layout.threads for task in tasks),
        minutes=math.ceil(sum(task.timeout_s + _START_AND_END_S for task in tasks) / 60),
        output=first.folder / "job.out",
        platform=first.platform,
        comment=comment(session, str(first.folder.parents[2])) if is_of_campaign else "",
    )
