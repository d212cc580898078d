"""Jobs that campaigns left in the queue whose tare is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tare.backends.slurm.commands import QueuedJob, Slurm
from tare.backends.slurm.states import Phase, phase_of

_PREFIX = "tare-"


def leftovers(slurm: Slurm, is_running: Callable[[Path], bool]) -> list[QueuedJob]:
    """Return Tare's jobs that are queued or run for a campaign of which `is_running` is not true.

    Going on with the campaign adopts them; nothing else ends them before they end themselves.
    Raises BackendError when Slurm does not answer.
    """
    return [
        job
        for job in slurm.queue()
        if job.name.startswith(_PREFIX)
        and phase_of(job.state) in {Phase.QUEUED, Phase.ACTIVE, Phase.SUSPENDED}
        and not is_running(Path(job.comment))
    ]
