"""Find jobs of campaigns in a queue. Their comments name the session and campaign that own them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tare.core.backend_plugin import Leftover, Owner
from tare.plugins.backends.batch.phases import NOT_OVER

if TYPE_CHECKING:
    from tare.plugins.backends.batch.queue import Queue, QueuedJob

_NAME = re.compile(r"tare-[0-9a-f]{12}-.+")


class CampaignJob(NamedTuple):
    """A queued or running job: the label of the session that submitted it, and its campaign's folder.

    Both are empty if the job's comment does not give them.
    """

    id: str
    name: str
    session: str
    folder: str


def comment(session: str, folder: str) -> str:
    """Return the comment for a job of this session and this campaign's folder."""
    return f"{session} {folder}" if session else folder


def campaign_jobs(jobs: Iterable[QueuedJob]) -> list[CampaignJob]:
    """Return the jobs of campaigns among `jobs`, recognised by their comments or their names.

    Such a job is adopted when its campaign is continued. Nothing else ends it before it ends by itself.
    """
    found = []
    for job in jobs:
        session, _, folder = job.comment.partition(" ")
        has_owner = session.endswith(":") and folder.startswith("/")
        if job.phase in NOT_OVER and (has_owner or _NAME.fullmatch(job.name)):
            found.append(CampaignJob(job.id, job.name, *((session, folder) if has_owner else ("", ""))))
    return found


def left_in(queue: Queue) -> Iterator[Leftover]:
    """Yield the jobs of campaigns in `queue`, for `tare clean`.

    Raises BackendError if the queue does not answer.
    """
    for job in campaign_jobs(queue.jobs(())):
        yield leftover_of(queue, job)


def leftover_of(queue: Queue, job: CampaignJob) -> Leftover:
    """Return a job of a campaign in `queue`, for `tare clean`."""
    what = f"{queue.system} job {job.id} of {job.folder or job.name}"
    return Leftover("cancel", what, (Owner(job.session, job.folder),), partial(_cancel, queue, job.id))


def _cancel(queue: Queue, job: str) -> bool:
    queue.cancel([job])
    return True
