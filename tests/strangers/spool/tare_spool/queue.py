"""The spool's commands: a job is a folder, in which lie its script, its process and its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from tare.core.errors import BackendError
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import QueuedJob, Request


class SpoolQueue:
    """A queue in `folder` (see batch.queue.Queue)."""

    system = "the spool"
    cancel_command = "kill"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def submit(self, script: Path, request: Request) -> str:
        """Start the script as a session of its own; its folder's number is the job's (see Queue)."""
        number = str(1 + max((int(one.name) for one in self._jobs()), default=0))
        job = self._folder / number
        try:
            job.mkdir()
            (job / "name").write_text(request.name)
            (job / "comment").write_text(request.comment)
        except OSError as error:
            raise BackendError(f"spool {self._folder}: {error.strerror}") from error
        process = subprocess.Popen(
            ["sh", "-c", 'bash "$1" >"$2" 2>&1; touch "$3/ended"', "job", script, request.output, job],
            stdin=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "TARE_JOB"}
            | {"SPOOL_JOB": number},
            start_new_session=True,
        )
        (job / "pid").write_text(str(process.pid))
        return number

    def jobs(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return all jobs (see Queue)."""
        return [
            QueuedJob(
                id=job.name,
                phase=_phase(job),
                state=_phase(job).name.lower(),
                name=(job / "name").read_text(),
                comment=(job / "comment").read_text(),
            )
            for job in self._jobs()
        ]

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return nothing: the spool forgets no job (see Queue)."""
        return []

    def cancel(self, ids: Collection[str]) -> None:
        """End the sessions of jobs (see Queue)."""
        for number in ids:
            job = self._folder / number
            if _phase(job) is Phase.ACTIVE:
                (job / "cancelled").touch()
                os.killpg(int((job / "pid").read_text()), signal.SIGKILL)

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield nothing: this machine is there (see Queue)."""
        yield from ()

    def remove(self, folder: str) -> bool:
        """Remove a folder that a job left (see Queue)."""
        shutil.rmtree(folder, ignore_errors=True)
        return not Path(folder).exists()

    def _jobs(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9]*"), key=lambda one: int(one.name))


def _phase(job: Path) -> Phase:
    if (job / "ended").exists():
        return Phase.ENDED
    if (job / "cancelled").exists():
        return Phase.CANCELLED
    return Phase.ACTIVE
