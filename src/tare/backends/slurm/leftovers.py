"""Jobs of campaigns in the queue, with what their comments tell of whose they are."""

from __future__ import annotations

import re
from typing import NamedTuple

from tare.backends.slurm.commands import Slurm
from tare.backends.slurm.states import Phase, phase_of

_NAME = re.compile(r"tare-[0-9a-f]{12}-.+")
_NOT_OVER = {Phase.QUEUED, Phase.ACTIVE, Phase.SUSPENDED}


class CampaignJob(NamedTuple):
    """A job that is queued or runs: the mark of the session that submitted it, and its campaign's folder.

    Both are empty where its comment does not tell.
    """

    id: int
    name: str
    mark: str
    folder: str


def comment(mark: str, folder: str) -> str:
    """Return the comment of a job of this session and campaign's folder."""
    return f"{mark} {folder}" if mark else folder


def campaign_jobs(slurm: Slurm) -> list[CampaignJob]:
    """Return this user's jobs of campaigns, whose comments tell it, or whose names are as Tare writes them.

    Going on with its campaign adopts a job; nothing else ends it before it ends itself.
    Raises BackendError when Slurm does not answer.
    """
    found = []
    for job in slurm.queue():
        mark, _, folder = job.comment.partition(" ")
        is_told = mark.endswith(":") and folder.startswith("/")
        if phase_of(job.state) in _NOT_OVER and (is_told or _NAME.fullmatch(job.name)):
            found.append(CampaignJob(job.id, job.name, *((mark, folder) if is_told else ("", ""))))
    return found
