"""Compute an MPIJob's status from its launcher and workers, as the operator v0.8.2 does. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kubelab.mpijob import JOB_ROLE, Condition, Meta, MpiJob, Status
from kubelab.mpijob_events import Said


class _Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an object of the cluster."""


class PodStatus(_Seen, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: list[Condition] = []


class Pod(_Seen, frozen=True, kw_only=True):
    """A worker, or a pod of the launcher's Job."""

    metadata: Meta
    status: PodStatus = PodStatus()

    @property
    def is_worker(self) -> bool:
        """Return whether it is a worker."""
        return self.metadata.labels.get(JOB_ROLE) == "worker"

    @property
    def is_ready(self) -> bool:
        """Return whether its readiness probe succeeds."""
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)


class LauncherSpec(_Seen, frozen=True, kw_only=True):
    """Whether the launcher is suspended."""

    suspend: bool = False


class LauncherStatus(_Seen, frozen=True, kw_only=True):
    """The status of the launcher's Job (batch/v1)."""

    conditions: list[Condition] = []
    failed: int = 0
    start_time: str | None = None
    completion_time: str | None = None

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type if it is true, None otherwise."""
        return next((one for one in self.conditions if one.type == kind and one.status == "True"), None)


class Launcher(_Seen, frozen=True, kw_only=True):
    """The launcher's Job."""

    metadata: Meta
    spec: LauncherSpec = LauncherSpec()
    status: LauncherStatus = LauncherStatus()

    @property
    def is_finished(self) -> bool:
        """Return whether it has ended, so that no further pod will run."""
        return any(self.status.condition(kind) for kind in ("Complete", "Failed"))


class Told(NamedTuple):
    """The status of a job, and its new events."""

    status: Status
    events: list[Said]


def begun(job: MpiJob, now: str) -> Told:
    """Return the status of `job` after the operator has seen it for the first time."""
    status, events = job.status, []
    if not status.conditions:
        said = f"MPIJob {_name(job)} is created."
        status = _with(status, "Created", "MPIJobCreated", said, now)
        events.append(Said("Normal", "MPIJobCreated", said))
    if status.start_time is None and not job.is_suspended and not status.is_finished:
        status = msgspec.structs.replace(status, start_time=now)
    return Told(status, events)


def told(
    job: MpiJob,
    status: Status,
    launcher: Launcher | None,
    starters: Sequence[Pod],
    workers: Sequence[Pod],
    now: str,
) -> Told:
    """Return `status`, updated from the launcher, its pods and the workers.

    No worker counts after the end.
    """
    told = _suspended(job, Told(status, []), now)
    n_starters = sum(pod.status.phase == "Running" for pod in starters)
    counts = {}
    if launcher is not None:
        told = _ended(job, told, launcher, starters, now)
        is_over = launcher.is_finished
        counts["Launcher"] = _counted(
            active=0 if is_over else n_starters,
            failed=launcher.status.failed,
            succeeded=int(launcher.status.condition("Complete") is not None),
        )
    phases = Counter(pod.status.phase for pod in workers)
    counts["Worker"] = _counted(phases["Running"], phases["Failed"], phases["Succeeded"])
    told = _evicted(told, workers, now)
    all_run = n_starters > 0 and phases["Running"] == len(workers)
    told = _running(job, told, now, is_running=launcher is not None and all_run)
    return told._replace(status=msgspec.structs.replace(told.status, replica_statuses=counts))


def _counted(active: int, failed: int, succeeded: int) -> dict[str, int]:
    """Return counts as Go writes them: without zeros."""
    every = {"active": active, "failed": failed, "succeeded": succeeded}
    return {name: count for name, count in every.items() if count}


def _suspended(job: MpiJob, told: Told, now: str) -> Told:
    status = told.status
    if job.is_suspended:
        reason, said = "MPIJobSuspended", "MPIJob suspended"
    elif status.condition("Suspended") is not None:
        reason, said = "MPIJobResumed", "MPIJob resumed"
    else:
        return told
    new = _with(status, "Suspended", reason, said, now, is_true=job.is_suspended)
    if new is status:
        return told
    if not job.is_suspended:
        new = msgspec.structs.replace(new, start_time=now)
    return Told(new, [*told.events, Said("Normal", reason, said)])


def _ended(job: MpiJob, told: Told, launcher: Launcher, starters: Sequence[Pod], now: str) -> Told:
    status = told.status
    if launcher.status.condition("Complete") is not None:
        reason, said = "MPIJobSucceeded", f"MPIJob {_name(job)} successfully completed."
        ended = status.completion_time or launcher.status.completion_time or now
        status = msgspec.structs.replace(status, completion_time=ended)
        new = _with(status, "Succeeded", reason, said, now)
        return Told(new, [*told.events, Said("Normal", reason, said)])
    failed = launcher.status.condition("Failed")
    if failed is None:
        return told
    reason, message = failed.reason or "MPIJobFailed", failed.message or f"MPIJob {_name(job)} has failed"
    last = next((pod for pod in reversed(starters) if pod.status.phase == "Failed"), None)
    if reason == "BackoffLimitExceeded" and last is not None:
        reason, message = f"{reason}/{last.status.reason}", f"{message}: {last.status.message}"
    status = msgspec.structs.replace(status, completion_time=status.completion_time or now)
    new = _with(status, "Failed", reason, message, now)
    return Told(new, [*told.events, Said("Warning", reason, message)])


def _evicted(told: Told, workers: Sequence[Pod], now: str) -> Told:
    count = sum(pod.status.phase == "Failed" and pod.status.reason == "Evicted" for pod in workers)
    if not count:
        return told
    reason, said = "MPIJobEvicted", f"{count}/{len(workers)} workers are evicted"
    new = _with(told.status, "Failed", reason, said, now)
    return Told(new, [*told.events, Said("Warning", reason, said)])


def _running(job: MpiJob, told: Told, now: str, *, is_running: bool) -> Told:
    """Return `told` with the Running condition; its event is written at each reconciliation."""
    status, events = told
    if job.is_suspended:
        said = f"MPIJob {_name(job)} is suspended."
        status = _with(status, "Running", "MPIJobSuspended", said, now, is_true=False)
    elif status.is_finished:
        if status.condition("Running") is None:
            said = f"MPIJob {_name(job)} is finished but Running condition was never set."
            at = status.completion_time or now
            status = _with(status, "Running", "MPIJobRunning", said, at, is_true=False)
    elif is_running:
        said = f"MPIJob {_name(job)} is running"
        status = _with(status, "Running", "MPIJobRunning", f"{said}.", now)
        events = [*events, Said("Normal", "MPIJobRunning", said)]
    return Told(status, events)


def _with(status: Status, kind: str, reason: str, message: str, now: str, *, is_true: bool = True) -> Status:
    """Return `status` with a condition. One that ends the job makes Running and an earlier Failed false."""
    known = status.condition(kind)
    value = "True" if is_true else "False"
    if known is not None and (known.status, known.reason) == (value, reason):
        return status
    is_change = known is None or known.status != value
    new = Condition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        last_transition_time=now if is_change or known is None else known.last_transition_time,
        last_update_time=now,
    )
    ended = {"Running", "Failed"} if kind in {"Succeeded", "Failed"} else set()
    kept = [
        msgspec.structs.replace(one, status="False") if one.type in ended else one
        for one in status.conditions
        if one.type != kind
    ]
    return msgspec.structs.replace(status, conditions=[*kept, new])


def _name(job: MpiJob) -> str:
    return f"{job.metadata.namespace}/{job.metadata.name}"
