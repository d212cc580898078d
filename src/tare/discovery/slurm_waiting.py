"""Watch why a job of Slurm waits while srun blocks (squeue(1), JOB REASON CODES)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import msgspec

from tare.discovery.commands import Commands
from tare.plugins.backends.slurm.reasons import obstacle_of

_PERIOD_S = 5.0


class JobWait(msgspec.Struct):
    """Why a job was waiting when it was last looked at; empty if it was not."""

    reason: str = ""


@contextmanager
def watched(
    commands: Commands, job_name: str, say: Callable[[str], None], period_s: float = _PERIOD_S
) -> Iterator[JobWait]:
    """Yield the wait of this user's job of that name, and call `say` with each new reason and its cure."""
    wait, is_over = JobWait(), Event()
    command = ["squeue", "--me", f"--name={job_name}", "--states=PENDING", "--noheader", "--format=%r|%P"]

    def look() -> None:
        while not is_over.wait(period_s):
            done = commands.run(command)
            if done is None or done.code != 0 or is_over.is_set():
                continue
            text, _, partition = done.out.strip().rpartition("|")
            reason = " ".join(text.split())[:100]
            if reason and reason != wait.reason:
                obstacle = obstacle_of(reason, partition)
                cure = f"; {obstacle.cure}" if obstacle else ""
                say(f"waits    the job on compute nodes: queued by Slurm: {reason}{cure}")
            wait.reason = reason

    Thread(target=look, name="job-wait", daemon=True).start()
    try:
        yield wait
    finally:
        is_over.set()
