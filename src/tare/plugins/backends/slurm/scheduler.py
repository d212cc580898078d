"""Run tasks through Slurm's queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tare.core.scheduler import Task
from tare.core.site import Platform
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.slurm import script
from tare.plugins.backends.slurm.commands import Slurm
from tare.plugins.backends.slurm.options import SlurmOptions


def slurm_scheduler(
    slurm: Slurm,
    facts: Callable[[Platform], str],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> BatchScheduler:
    """Return a scheduler that puts tasks into Slurm's queue (see BatchScheduler).

    `facts` returns the shell script that nodes run before a platform's task begins (see script.render).
    """

    def render(tasks: Sequence[Task]) -> str:
        platform = tasks[0].platform
        options = platform.options if isinstance(platform.options, SlurmOptions) else SlurmOptions()
        return script.render(tasks, options, facts(platform))

    return BatchScheduler(slurm, render, clock=clock, sleep=sleep)
