"""Run tasks through a batch system's queue: submit, adopt and cancel jobs, and poll all with one query."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from tare.core import log
from tare.core.errors import BackendError, UnreadableFile
from tare.core.interrupts import interrupts_deferred
from tare.core.log import fields
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import JobResult, OnWait, Task
from tare.plugins.backends.batch import record
from tare.plugins.backends.batch.phases import NOT_OVER, RUNNING, Phase
from tare.plugins.backends.batch.queue import Queue, QueuedJob, QueueFullError, request_of

_LOG = log.of("batch")

_FIRST_POLL_S, _LAST_POLL_S, _GROWTH = 0.2, 10.0, 1.5
_LOOK_S, _MOST_WATCHED = 0.1, 16  # at records between polls, a stat(2) each
_OUTAGE_S = 600.0  # a controller is back within minutes after a restart, a fail-over or an overload
_MOST_NAME = 64 * 1024  # bytes, of a job's number or of a path
_QUEUED_S = 5.0  # a shorter wait is not reported
_JOB_ENDS_S = 3.0  # from the task's record to the end of the script, on a busy machine
_FILES_APPEAR_S = 20.0  # a shared file system may show a file to other nodes later (nfs(5), acdirmax)


class _InFlightJob(msgspec.Struct):
    """An in-flight job: a task, and the id and name of its job.

    `over_since` is when the job was first seen to be over. `was_suspended` is true if it was seen suspended
    while the task ran. `queued_since` is when it was first seen in the queue. `waits_for` is the reported
    reason why it waits.
    """

    task: Task
    job: str
    job_name: str
    over_since: float | None = None
    was_suspended: bool = False
    queued_since: float | None = None
    waits_for: str = ""


class BatchScheduler:
    """Puts tasks into a batch system's queue (see core.scheduler.Scheduler).

    `render` returns the script of tasks that share a job (see script.render).
    """

    def __init__(
        self,
        queue: Queue,
        render: Callable[[Sequence[Task]], str],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._queue = queue
        self._render = render
        self._clock = clock
        self._sleep = sleep
        self._in_flight: dict[str, _InFlightJob] = {}
        self._over: dict[str, str] = {}  # names, by id, of the jobs whose tasks have ended
        self._poll_s = _FIRST_POLL_S
        self._outage_since: float | None = None
        self._is_full = False  # the queue takes no more jobs, which has been reported
        self._had_jobs = False
        self._on_wait: OnWait = lambda names, reason: None

    def report_waits(self, on_wait: OnWait) -> None:
        """Report outages of the batch system and waiting jobs to `on_wait` (see core.scheduler.Scheduler)."""
        self._on_wait = on_wait

    def submit(self, tasks: Sequence[Task]) -> None:
        """Submit `tasks` as one job (see core.scheduler.Scheduler).

        This waits while the system takes no more jobs of this user, and while it does not answer. An
        interrupt is delivered only after the job is on record, so that the job is cancelled like any other.
        """
        path = tasks[0].folder / "job.sh"
        SafeFolder(path.parent, path.name).replace(self._render(tasks).encode(), is_synced=False)
        self._poll_s = _FIRST_POLL_S
        while True:
            with interrupts_deferred():
                job = self._try_to_submit(path, tasks)
                if job is not None:
                    self._record(job, tasks)
                    return
            self._sleep(self._poll_s)
            self._poll_s = min(self._poll_s * _GROWTH, _LAST_POLL_S)

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        """Return the names of tasks that have ended, are queued or are running (see core.scheduler)."""
        recorded = {task.name: self._recorded_job(task) for task in tasks}
        known = self._queue.jobs([one for one in recorded.values() if one]) if tasks else []
        alive = {job.id: job for job in known if job.phase in NOT_OVER}
        by_name = {job.name: job.id for job in alive.values()}
        for task in tasks:
            number = recorded[task.name] or by_name.get(task.name)
            job = alive.get(number) if number is not None else None
            progress = record.read_progress(task.folder)
            if number is not None and job is not None and _is_of_campaign(job, task):
                self._in_flight[task.name] = _InFlightJob(task, number, job.name or task.name)
            elif number is not None and progress is not None and progress.is_complete:
                self._in_flight[task.name] = _InFlightJob(task, number, task.name)
            else:
                self._remove_storage(task)
        return [task.name for task in tasks if task.name in self._in_flight]

    def wait(self) -> Sequence[JobResult]:
        """Wait for one poll interval, and return the results of ended tasks (see core.scheduler.Scheduler).

        The interval is short after an event and grows while nothing happens. A task that has left its record
        is returned without a poll.
        """
        job_results = self._watch()
        if not job_results:
            job_results = self._poll()
        for one in job_results:
            in_flight_job = self._in_flight.pop(one.name)
            _LOG.info(
                "job ended",
                extra=fields(
                    job=in_flight_job.job, run=one.name, exit_code=one.exit.code, fault=one.exit.fault
                ),
            )
            self._over[in_flight_job.job] = in_flight_job.job_name
        self._poll_s = _FIRST_POLL_S if job_results else min(self._poll_s * _GROWTH, _LAST_POLL_S)
        return [self._with_lost_nodes(one) for one in job_results]

    def _with_lost_nodes(self, result: JobResult) -> JobResult:
        """Return a timed-out or cancelled task as an infrastructure failure if one of its nodes was away.

        A node without its daemon starts no steps, and the job waits for it. Slurm drains nodes whose state it
        has lost track of, and cancels their jobs. Administrators who repair nodes do the same.
        """
        is_cancelled = result.reason.endswith(self._cancelled)
        if not result.nodes or not (result.exit.is_timeout or is_cancelled):
            return result
        try:
            found = self._queue.away(result.nodes, result.started_at, is_drained_away=is_cancelled)
            away = ", ".join(found)
        except BackendError:
            return result
        if not away:
            return result
        fault = f"{result.reason if is_cancelled else 'it came to its time-out'}, and {away}"
        ended = msgspec.structs.replace(result.exit, fault=fault)
        return msgspec.structs.replace(result, exit=ended, reason="")

    @property
    def _cancelled(self) -> str:
        """Return the reason for a job that a user or the batch system itself cancelled."""
        return f"cancelled by {self._queue.cancel_command}, or by {self._queue.system} itself"

    def _watch(self) -> list[JobResult]:
        """Check the records of the oldest tasks until the next poll is due.

        Return the results of ended tasks.
        """
        oldest = list(itertools.islice(self._in_flight.values(), _MOST_WATCHED))
        poll_at = self._clock() + self._poll_s
        while (left := poll_at - self._clock()) > 0:
            self._sleep(min(left, _LOOK_S))
            records = {one.task.name: record.read_complete(one.task.folder) for one in oldest}
            system = self._queue.system
            results = [_result_of(one, found, system) for one in oldest if (found := records[one.task.name])]
            if results:
                return results
        return []

    def _poll(self) -> list[JobResult]:
        """Query all jobs at once.

        Return the results of tasks that have ended or can no longer end normally.
        """
        try:
            queue = {job.id: job for job in self._queue.jobs({one.job for one in self._in_flight.values()})}
        except BackendError as error:
            self._note_outage(error)
            return []
        self._end_outage()
        lost = {
            in_flight_job.job
            for in_flight_job in self._in_flight.values()
            if not _is_in(queue, in_flight_job)
        }
        queue |= {job.id: job for job in self._queue.account(lost)}
        self._report_waits(queue)
        return [
            found
            for in_flight_job in self._in_flight.values()
            if (found := self._check(in_flight_job, queue))
        ]

    def _report_waits(self, queue: dict[str, QueuedJob]) -> None:
        """Report why jobs wait, once they have waited for some time, and report the end of the wait."""
        now = self._clock()
        changed: dict[str, list[str]] = {}
        for name, in_flight_job in self._in_flight.items():
            job = queue[in_flight_job.job] if _is_in(queue, in_flight_job) else None
            is_queued = job is not None and job.phase is Phase.QUEUED
            in_flight_job.queued_since = (in_flight_job.queued_since or now) if is_queued else None
            if in_flight_job.queued_since is not None and now - in_flight_job.queued_since < _QUEUED_S:
                continue
            reason = f"queued by {self._queue.system}: {job.reason or job.state}" if job and is_queued else ""
            if reason != in_flight_job.waits_for:
                in_flight_job.waits_for = reason
                changed.setdefault(reason, []).append(name)
        for reason, names in changed.items():
            self._on_wait(names, reason)

    def cancel(self, names: Collection[str]) -> None:
        """Cancel the jobs of these tasks (see core.scheduler.Scheduler)."""
        jobs = {self._in_flight[name].job for name in names if name in self._in_flight}
        if jobs:
            self._queue.cancel(jobs)
            _LOG.info("jobs cancelled", extra=fields(of=self._queue.system, jobs=sorted(jobs)))
        for name in names:
            self._in_flight.pop(name, None)

    def close(self) -> None:
        """Cancel jobs that the system still shows as running although their tasks have ended.

        A controller that was killed may show such jobs. A job ends a moment after its task, so this waits a
        few seconds before it cancels.
        """
        deadline = self._clock() + _JOB_ENDS_S
        while left := self._still_running():
            if self._clock() > deadline:
                self._queue.cancel(left)
                return
            self._sleep(_LOOK_S)

    def _still_running(self) -> set[str]:
        under_way = {in_flight_job.job for in_flight_job in self._in_flight.values()}
        over = {number: name for number, name in self._over.items() if number not in under_way}
        return {
            job.id
            for job in (self._queue.jobs(over) if over else ())
            if job.id in over and job.name in ("", over[job.id]) and job.phase is Phase.ACTIVE
        }

    def _try_to_submit(self, path: Path, tasks: Sequence[Task]) -> str | None:
        """Return the id of the job, also if submitting failed after the controller had accepted the job.

        In that case, the job is found in the queue by its name. Return None while the queue does not answer:
        the controller is away. A refusal is final only from a controller that answers, and not if the user's
        jobs in the queue are as many as a limit allows.
        """
        names = [task.name for task in tasks]
        try:
            job = self._queue.submit(path, request_of(tasks))
        except BackendError as refusal:
            try:
                known = self._queue.jobs(())
            except BackendError as outage:
                self._note_outage(outage, names)
                return None
            self._end_outage(names)
            if taken := [job.id for job in known if job.name == names[0]]:
                return taken[0]
            if isinstance(refusal, QueueFullError) and self._may_empty(known):
                self._note_full(refusal, names)
                return None
            raise refusal from None
        self._end_outage(names)
        return job

    def _may_empty(self, known: Sequence[QueuedJob]) -> bool:
        """Return whether the user has unfinished jobs in the queue, or had some when it was last asked."""
        had, self._had_jobs = self._had_jobs, any(job.phase in NOT_OVER for job in known)
        return had or self._had_jobs

    def _note_full(self, refusal: BackendError, names: Sequence[str]) -> None:
        """Report once that the queue takes no more jobs."""
        if not self._is_full:
            self._is_full = True
            self._on_wait(
                names, f"{self._queue.system} takes no more jobs until others have ended: {refusal}"
            )

    def _record(self, job: str, tasks: Sequence[Task]) -> None:
        _LOG.info(
            "job submitted", extra=fields(to=self._queue.system, job=job, runs=[one.name for one in tasks])
        )
        for task in tasks:
            SafeFolder(task.folder, "job").replace(f"{job}\n".encode(), is_synced=False)
            self._in_flight[task.name] = _InFlightJob(task, job, tasks[0].name)
        self._poll_s = _FIRST_POLL_S
        self._had_jobs = True
        if self._is_full:
            self._is_full = False
            self._on_wait([task.name for task in tasks], "")

    def _check(self, in_flight_job: _InFlightJob, queue: dict[str, QueuedJob]) -> JobResult | None:
        """Return the result of a task, or None if it has not ended or its record may still appear."""
        job = queue[in_flight_job.job] if _is_in(queue, in_flight_job) else None
        phase = job.phase if job else Phase.UNKNOWN
        if phase is Phase.QUEUED:
            return None
        progress = record.read_progress(in_flight_job.task.folder)
        if progress is not None and progress.is_complete:
            return _result_of(in_flight_job, progress, self._queue.system)
        in_flight_job.was_suspended |= phase is Phase.SUSPENDED and progress is not None
        is_there = job is not None and phase in RUNNING | {Phase.UNKNOWN}
        if is_there:
            return None
        if in_flight_job.over_since is None:
            in_flight_job.over_since = self._clock()
            self._poll_s = _FIRST_POLL_S
        if phase in {Phase.ENDED, Phase.UNKNOWN} and self._clock() - in_flight_job.over_since < _patience(
            in_flight_job, job
        ):
            return None
        self._remove_storage(in_flight_job.task)
        return self._end(in_flight_job, progress, phase, job)

    def _end(
        self,
        in_flight_job: _InFlightJob,
        progress: record.Progress | None,
        phase: Phase,
        job: QueuedJob | None,
    ) -> JobResult:
        """Return the result of a task whose job is over without a record of its own."""
        system = self._queue.system
        why = (
            f"{system}'s job {in_flight_job.job} is {job.state}"
            if job
            else f"{system} no longer has job {in_flight_job.job}"
        )
        return record.result_without_record(in_flight_job.task, progress, phase, why, self._cancelled)

    def _remove_storage(self, task: Task) -> None:
        """Remove the folder on the storage path of `task` that its job left because it was ended early.

        The recorded path is used only if it is this very attempt's folder. If the folder cannot be removed
        now, it stays on record.
        """
        left = SafeFolder(task.folder, "storage.left")
        with contextlib.suppress(OSError, UnicodeDecodeError, BackendError):
            folder = left.read(_MOST_NAME).decode().rstrip("\n")
            if record.is_own_folder(task, folder) and self._queue.remove(folder):
                left.remove()

    def _note_outage(self, error: BackendError, submitted: Collection[str] = ()) -> None:
        """Wait during an outage of the controller, while jobs continue.

        Raise `error` when the outage lasts too long. The wait is reported once, for the in-flight jobs and
        for those that are being `submitted`.
        """
        now = self._clock()
        if self._outage_since is None:
            self._outage_since = now
            self._on_wait(
                [*self._in_flight, *submitted],
                f"{self._queue.system} does not answer ({error}); "
                f"it is asked again for {_OUTAGE_S / 60:.0f} minutes",
            )
        if now - self._outage_since > _OUTAGE_S:
            raise error

    def _end_outage(self, submitted: Collection[str] = ()) -> None:
        """Record that the controller answers again."""
        if self._outage_since is not None:
            self._outage_since = None
            self._on_wait([*self._in_flight, *submitted], "")

    @staticmethod
    def _recorded_job(task: Task) -> str | None:
        try:
            found = SafeFolder(task.folder, "job").read(_MOST_NAME)
            return found.decode(errors="replace").strip() or None
        except UnreadableFile:  # its job may be running: it must not be submitted again
            raise
        except OSError:
            return None


def _result_of(in_flight_job: _InFlightJob, progress: record.Progress, system: str) -> JobResult:
    """Return the result of a task that is complete. A task that was suspended counts as not measured."""
    found = record.result_of(in_flight_job.task, progress)
    if not in_flight_job.was_suspended:
        return found
    whose = f"{system}'s job {in_flight_job.job}"
    fault = f"{whose} was suspended while it ran, so neither its time nor its figures count"
    return msgspec.structs.replace(found, exit=msgspec.structs.replace(found.exit, fault=fault))


def _is_in(queue: dict[str, QueuedJob], in_flight_job: _InFlightJob) -> bool:
    """Return whether a task's job is in the queue.

    The name is compared: a killed controller may reuse ids.
    """
    job = queue.get(in_flight_job.job)
    return job is not None and job.name in ("", in_flight_job.job_name)


def _patience(in_flight_job: _InFlightJob, job: QueuedJob | None) -> float:
    """Return how many seconds the record of a task may take to appear after its job is over.

    A controller that was killed may have forgotten a job that still runs on its nodes.
    """
    has_begun = record.read_progress(in_flight_job.task.folder) is not None
    return in_flight_job.task.timeout_s + _FILES_APPEAR_S if job is None and has_begun else _FILES_APPEAR_S


def _is_of_campaign(job: QueuedJob, task: Task) -> bool:
    """Return whether a job's name, if known, has the prefix of its campaign's jobs: ``tare-<hash>``."""
    return not job.name or job.name.split("-")[:2] == task.name.split("-")[:2]
