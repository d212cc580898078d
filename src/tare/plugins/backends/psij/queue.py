"""Use a batch system through PSI/J."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.errors import BackendError
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.options import options_of
from tare.plugins.backends.batch.phases import NOT_OVER, Phase
from tare.plugins.backends.batch.queue import QueuedJob, Request
from tare.plugins.backends.hosts.own_storage import ask_here, remove_from
from tare.plugins.backends.psij.job_spec import job_of
from tare.plugins.backends.psij.library import executor, stop
from tare.plugins.backends.psij.local_processes import is_child, kill, stopped_tree
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.register import Entry, Register
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

if TYPE_CHECKING:
    import psij

_FIRST_STATUS_S, _LOOK_S = 30.0, 0.02
_UNANSWERED = ("Failed to poll", "Error updating", "Failed to update")  # how PSI/J's own error messages begin
_UNKNOWN = Entry(name="", comment="", script="")
_OUT_OF_TIME = "The job exhausted its time limit."  # message of PSI/J's executor for Slurm


class PsijQueue:
    """The jobs of one campaign in the batch system that PSI/J calls `name`.

    PSI/J reports neither names and comments, nor why a job waits, nor lost nodes, nor most causes of
    failures. So names and comments come from `register`, and a task's result comes from its own record. PSI/J
    queries its batch system every `poll_s` seconds, in a thread of its own; `jobs` returns the latest answer.
    Commands are called through `reach`.
    """

    def __init__(self, name: Executor, register: Register, reach: Reach, *, poll_s: float) -> None:
        self._name = name
        self._register = register
        self._reach = reach
        self._patience_s = max(_FIRST_STATUS_S, 3 * poll_s)
        self._executor = executor(name, register.work, reach, poll_s=poll_s)
        self._jobs: dict[str, psij.Job] = {}
        self._gone: set[str] = set()

    @property
    def system(self) -> str:
        """Return the batch system's usual name."""
        return SYSTEMS[self._name].title

    @property
    def cancel_command(self) -> str:
        """Return the command with which users cancel jobs."""
        return SYSTEMS[self._name].cancel

    def submit(self, script: Path, request: Request) -> str:
        """Submit `script`; return the id from the batch system (see batch.Queue)."""
        import psij

        job = job_of(script, request, options_of(request.platform, PsijOptions))
        try:
            self._executor.submit(job)
        except (psij.SubmitException, psij.InvalidJobException, OSError) as error:
            raise BackendError(f"PSI/J: {_message_of(error)}") from error
        number = str(job.native_id)
        self._jobs[number] = job
        self._gone.discard(number)
        way = self._reach.way
        entry = Entry(name=request.name, comment=request.comment, script=str(script), way=way)
        self._register.add(number, entry)
        return number

    def jobs(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return the states of `ids` and of all recorded jobs, as PSI/J knows them.

        Raises BackendError when the batch system did not answer PSI/J. Without ids, the batch system is
        queried at once, which distinguishes an outage from a refusal.
        """
        if not ids:
            self._query()
        entries = self._register.entries()
        wanted = dict.fromkeys([*ids, *entries])
        for number in wanted:
            self._track(number, entries)
        known = {number: self._status(number) for number in wanted if number in self._jobs}
        self._resume([number for number, status in known.items() if _is_unanswered(status)], entries)
        found = []
        for number in wanted:
            if _is_lost(known.get(number)) and not self._has_ended(number):
                self._register.remove(number)
                continue
            entry = entries.get(number, _UNKNOWN)
            phase, state = _phase_of(known.get(number), has_ended=self._has_ended(number))
            found.append(QueuedJob(number, phase, state, entry.name, comment=entry.comment))
            if phase not in NOT_OVER and phase is not Phase.UNKNOWN:
                self._register.remove(number)
        return found

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return nothing: PSI/J does not read accounting data (see batch.Queue)."""
        return []

    def cancel(self, ids: Collection[str]) -> None:
        """Cancel jobs (see batch.Queue)."""
        import psij

        entries = self._register.entries()
        for number in ids:
            self._track(number, entries)
            job = self._jobs.get(number)
            try:
                if job is not None and not job.status.final:
                    if self._name is Executor.LOCAL:
                        self._cancel_here(job, number, entries.get(number, _UNKNOWN).script)
                    else:
                        self._executor.cancel(job)
            except (psij.SubmitException, OSError) as error:
                raise BackendError(f"PSI/J: {_message_of(error)}") from error
            self._register.remove(number)

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield nothing: PSI/J has no information about nodes (see batch.Queue)."""
        yield from ()

    def remove(self, folder: str) -> bool:
        """Remove a folder that a job left, as this machine sees it. Return whether it is gone."""
        return remove_from(ask_here, [None], folder)

    def stop(self) -> None:
        """Stop PSI/J's polling."""
        stop(self._executor)

    def close(self) -> None:
        """Stop PSI/J's polling. Remove its files if no recorded job may still need them."""
        self.stop()
        if not self._register.entries():
            shutil.rmtree(self._register.work, ignore_errors=True)

    def _track(self, number: str, entries: Mapping[str, Entry]) -> None:
        """Let PSI/J track a job that was not submitted in this process."""
        import psij

        if number in self._jobs or number in self._gone:
            return
        if self._name is Executor.LOCAL and not _runs(number, entries.get(number, _UNKNOWN).script):
            self._gone.add(number)
            return
        job = psij.Job()
        try:
            self._executor.attach(job, number)
        except Exception as error:  # the local executor raises psutil's errors, Flux's any of its bindings
            if type(error).__name__ not in {"NoSuchProcess", "FileNotFoundError"}:
                raise BackendError(f"PSI/J cannot attach to job {number}: {_message_of(error)}") from error
            self._gone.add(number)
        else:
            self._jobs[number] = job

    def _cancel_here(self, job: psij.Job, number: str, script: str) -> None:
        """Cancel a job of the local executor, and wait until it has ended.

        PSI/J's thread would try for ever to kill a process that is over, and ignore the others. Which process
        it is, is asked while a descriptor holds it: a child of this process, or one that runs `script`. While
        a process starts, what it runs is not known.
        """
        try:
            descriptor = os.pidfd_open(int(number))
        except ProcessLookupError:
            return
        try:
            if is_child(int(number)) or _runs(number, script):
                held = stopped_tree(int(number))
                with contextlib.suppress(KeyError):  # it ended meanwhile, and PSI/J noticed it
                    self._executor.cancel(job)
                kill(held)
                if not select.select([descriptor], [], [], _FIRST_STATUS_S)[0]:
                    raise BackendError(f"process {number} was killed, and has not ended")
        finally:
            os.close(descriptor)

    def _status(self, number: str) -> psij.JobStatus:
        """Return the status of a job. An attached job has one after the first poll."""
        import psij

        deadline = time.monotonic() + self._patience_s
        while (status := self._jobs[number].status).state is psij.JobState.NEW:
            if time.monotonic() > deadline:
                raise BackendError(f"PSI/J got no status of job {number} from {self.system}")
            time.sleep(_LOOK_S)
        return status

    def _has_ended(self, number: str) -> bool:
        """Return whether a job's script has ended. PSI/J makes the script write its exit code at once."""
        return (self._register.work / self._name.value / f"{number}.ec").exists()

    def _resume(self, numbers: Collection[str], entries: Mapping[str, Entry]) -> None:
        """Track again the jobs that PSI/J gave up during an outage.

        Raise BackendError with PSI/J's message.
        """
        why = ""
        for number in numbers:
            why = (self._jobs.pop(number).status.message or "").strip().splitlines()[-1]
            self._track(number, entries)
        if why:
            raise BackendError(f"PSI/J: {why}")

    def _query(self) -> None:
        try:
            self._executor.list()
        except (subprocess.CalledProcessError, OSError) as error:
            raise BackendError(f"PSI/J: {_message_of(error)}") from error


def _phase_of(status: psij.JobStatus | None, *, has_ended: bool) -> tuple[Phase, str]:
    """Return the phase of a job, and its state in PSI/J's words. A job without a status is gone."""
    import psij

    if status is None:
        return Phase.ENDED, "gone"
    state = f"{status.state.name} ({status.message.strip()})" if status.message else status.state.name
    if has_ended and not status.final:
        return Phase.ENDED, state
    if status.message == _OUT_OF_TIME:
        return Phase.TIMED_OUT, state
    phases = {
        psij.JobState.NEW: Phase.UNKNOWN,
        psij.JobState.QUEUED: Phase.QUEUED,
        psij.JobState.ACTIVE: Phase.ACTIVE,
        psij.JobState.COMPLETED: Phase.ENDED,
        psij.JobState.FAILED: Phase.ENDED,
        psij.JobState.CANCELED: Phase.CANCELLED,
    }
    return phases[status.state], state


def _is_lost(status: psij.JobStatus | None) -> bool:
    """Return whether PSI/J calls a job completed only because its batch system does not list it.

    PSI/J does that with a job whose script wrote no exit code. A server that was killed may have forgotten a
    job that still runs on its nodes.
    """
    import psij

    return status is not None and status.state is psij.JobState.COMPLETED and status.exit_code is None


def _runs(number: str, script: str) -> bool:
    """Return whether the process with this pid runs `script`. Linux reuses pids."""
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return bool(script) and script.encode() in words


def _is_unanswered(status: psij.JobStatus) -> bool:
    return (status.message or "").startswith(_UNANSWERED)


def _message_of(error: BaseException) -> str:
    """Return the message of a batch system or of PSI/J, on one line."""
    message = getattr(error, "output", None) or str(error) or str(error.__cause__ or type(error).__name__)
    return " ".join(str(message).split())
