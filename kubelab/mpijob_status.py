"""How an MPIJob is, told from its launcher and workers, as the operator v0.8.2 tells it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kubelab.mpijob import JOB_ROLE, Condition, Meta, MpiJob, Status


class _Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an object of the cluster."""


class PodStatus(_Seen, frozen=True, kw_only=True):
    """How a pod is."""

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
    """Whether the launcher waits."""

    suspend: bool = False


class LauncherStatus(_Seen, frozen=True, kw_only=True):
    """How the launcher's Job is (batch/v1)."""

    conditions: list[Condition] = []
    failed: int = 0
    completion_time: str | None = None

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type, if it is true."""
        return next((one for one in self.conditions if one.type == kind and one.status == "True"), None)


class Launcher(_Seen, frozen=True, kw_only=True):
    """The launcher's Job."""

    metadata: Meta
    spec: LauncherSpec = LauncherSpec()
    status: LauncherStatus = LauncherStatus()

    @property
    def is_finished(self) -> bool:
        """Return whether it will run no further pod."""
        return any(self.status.condition(kind) for kind in ("Complete", "Failed"))


def begun(job: MpiJob, now: str) -> Status:
    """Return the status of `job` once the operator has seen it."""
    status = job.status
    if not status.conditions:
        status = _with(status, "Created", "MPIJobCreated", f"MPIJob {_name(job)} is created.", now)
    if status.start_time is None and not job.is_suspended:
        status = msgspec.structs.replace(status, start_time=now)
    return status


def told(job: MpiJob, status: Status, launcher: Launcher | None, pods: Sequence[Pod], now: str) -> Status:
    """Return `status` with what launcher and workers tell. The operator's `Running` needs all of them."""
    workers = [pod for pod in pods if pod.is_worker]
    n_running = sum(pod.status.phase == "Running" for pod in workers)
    starters = [pod for pod in pods if not pod.is_worker]
    n_starters = sum(pod.status.phase == "Running" for pod in starters)
    counts = {"Worker": {"active": n_running}}
    if launcher is not None:
        counts["Launcher"] = {"active": n_starters, "failed": launcher.status.failed}
        status = _ended(job, status, launcher, starters, now)
        counts["Launcher"]["succeeded"] = int(status.has("Succeeded"))
    n_evicted = sum(pod.status.reason == "Evicted" for pod in workers)
    if n_evicted:
        said = f"{n_evicted}/{len(workers)} workers are evicted"
        status = _with(status, "Failed", "MPIJobEvicted", said, now)
    if job.is_suspended:
        status = _with(status, "Suspended", "MPIJobSuspended", f"MPIJob {_name(job)} is suspended.", now)
    elif status.has("Suspended"):
        said = f"MPIJob {_name(job)} is resumed."
        status = _with(status, "Suspended", "MPIJobResumed", said, now, is_true=False)
    if not job.is_suspended and n_starters and n_running == len(workers):
        status = _with(status, "Running", "MPIJobRunning", f"MPIJob {_name(job)} is running.", now)
    return msgspec.structs.replace(status, replica_statuses=counts)


def _ended(job: MpiJob, status: Status, launcher: Launcher, starters: Sequence[Pod], now: str) -> Status:
    if launcher.status.condition("Complete") is not None:
        said = f"MPIJob {_name(job)} successfully completed."
        status = _with(status, "Succeeded", "MPIJobSucceeded", said, now)
        ended = status.completion_time or launcher.status.completion_time or now
        return msgspec.structs.replace(status, completion_time=ended)
    failed = launcher.status.condition("Failed")
    if failed is None:
        return status
    reason, message = failed.reason or "MPIJobFailed", failed.message
    last = next((pod for pod in reversed(starters) if pod.status.phase == "Failed"), None)
    if reason == "BackoffLimitExceeded" and last is not None:
        reason, message = f"{reason}/{last.status.reason}", f"{message}: {last.status.message}"
    status = _with(status, "Failed", reason, message or f"MPIJob {_name(job)} has failed", now)
    return msgspec.structs.replace(status, completion_time=status.completion_time or now)


def _with(status: Status, kind: str, reason: str, message: str, now: str, *, is_true: bool = True) -> Status:
    """Return `status` with a condition. One that ends a job, or its wait, ends that it runs."""
    known = next((one for one in status.conditions if one.type == kind), None)
    value = "True" if is_true else "False"
    if known is not None and (known.status, known.reason) == (value, reason):
        return status
    new = Condition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        last_transition_time=now,
        last_update_time=now,
    )
    kept = [one for one in status.conditions if one.type != kind]
    if kind in {"Succeeded", "Failed", "Suspended"} and is_true:
        kept = [
            msgspec.structs.replace(one, status="False") if one.type == "Running" else one for one in kept
        ]
    return msgspec.structs.replace(status, conditions=[*kept, new])


def _name(job: MpiJob) -> str:
    return f"{job.metadata.namespace}/{job.metadata.name}"
