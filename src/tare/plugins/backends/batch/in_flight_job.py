"""One task while it is in a queue: its job's entry, and its result once the job is over."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.errors import UnreadableFile
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.batch import record
from tare.plugins.backends.batch.queue import QueuedJob

MOST_NAME = 64 * 1024
"""The most bytes of a job's number or of a path."""
_FILES_APPEAR_S = 20.0  # a shared file system may show a file to other nodes later (nfs(5), acdirmax)


class InFlightJob(msgspec.Struct):
    """An in-flight job: a task, and the id and name of its job.

    `over_since` is when the job was first seen to be over. `was_suspended` is true if it was seen suspended
    while the task ran.
    """

    task: Task
    job: str
    job_name: str
    over_since: float | None = None
    was_suspended: bool = False


def recorded_job(task: Task) -> str | None:
    """Return the id of a task's job, as it is recorded in the task's folder; None where there is none.

    Raises UnreadableFile if the file system fails: the job may be running, and must not be submitted again.
    """
    try:
        found = SafeFolder(task.folder, "job").read(MOST_NAME)
        return found.decode(errors="replace").strip() or None
    except UnreadableFile:
        raise
    except OSError:
        return None


def result_of(in_flight_job: InFlightJob, progress: record.Progress, system: str) -> JobResult:
    """Return the result of a task that is complete. A task that was suspended counts as not measured."""
    found = record.result_of(in_flight_job.task, progress)
    if not in_flight_job.was_suspended:
        return found
    whose = f"{system}'s job {in_flight_job.job}"
    fault = f"{whose} was suspended while it ran, so neither its time nor its figures count"
    return msgspec.structs.replace(found, exit=msgspec.structs.replace(found.exit, fault=fault))


def entry_of(in_flight_job: InFlightJob, queue: Mapping[str, QueuedJob]) -> QueuedJob | None:
    """Return the entry of a task's job in the queue; None where it is not there.

    The name is compared: a killed controller may reuse ids.
    """
    job = queue.get(in_flight_job.job)
    return job if job is not None and job.name in ("", in_flight_job.job_name) else None


def patience_s(in_flight_job: InFlightJob, job: QueuedJob | None) -> float:
    """Return how many seconds the record of a task may take to appear after its job is over.

    A controller that was killed may have forgotten a job that still runs on its nodes.
    """
    has_begun = record.read_progress(in_flight_job.task.folder) is not None
    return in_flight_job.task.timeout_s + _FILES_APPEAR_S if job is None and has_begun else _FILES_APPEAR_S


def is_of_campaign(job: QueuedJob, task: Task) -> bool:
    """Return whether a job's name, if known, has the prefix of its campaign's jobs: ``tare-<hash>``."""
    return not job.name or job.name.split("-")[:2] == task.name.split("-")[:2]
