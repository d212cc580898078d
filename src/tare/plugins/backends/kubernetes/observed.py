"""What a cluster tells of its objects: the part that Tare reads, as values (core/v1, batch/v1)."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes import naming


class _Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an object; fields that Tare does not need are passed over."""


class SeenMeta(_Seen, frozen=True, kw_only=True):
    """Metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None

    @property
    def task(self) -> str:
        """Return the task that it belongs to; empty when it is none of Tare's."""
        return self.labels.get(naming.TASK, "")


class Condition(_Seen, frozen=True, kw_only=True):
    """One thing that is true or not of an object, and why."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Waiting(_Seen, frozen=True, kw_only=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Running(_Seen, frozen=True, kw_only=True):
    """Since when a container runs."""

    started_at: str = ""


class Terminated(_Seen, frozen=True, kw_only=True):
    """How a container ended; `message` is what it wrote into its termination message."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(_Seen, frozen=True, kw_only=True):
    """One of three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Seen, frozen=True, kw_only=True):
    """A container."""

    ready: bool = False
    state: ContainerState = ContainerState()


class ResourcesSeen(_Seen, frozen=True, kw_only=True):
    """What a container asks for, and may take at most, in Kubernetes' quantities."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class ContainerSeen(_Seen, frozen=True, kw_only=True):
    """A container, as it is asked for."""

    resources: ResourcesSeen = ResourcesSeen()


class PodSpecSeen(_Seen, frozen=True, kw_only=True):
    """Where a pod is, who places it, and what it asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: list[ContainerSeen] = []


class PodStatus(_Seen, frozen=True, kw_only=True):
    """How a pod is."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class SeenPod(_Seen, frozen=True, kw_only=True):
    """A pod as it is now."""

    metadata: SeenMeta
    spec: PodSpecSeen = PodSpecSeen()
    status: PodStatus = PodStatus()

    @property
    def role(self) -> str:
        """Return what it does in its task."""
        return self.metadata.labels.get(naming.ROLE, "")

    @property
    def state(self) -> ContainerState:
        """Return the state of its one container, or of the init container that it waits for."""
        for init in self.status.init_container_statuses:
            if init.state.running is not None:
                return ContainerState()
            if init.state.terminated is None or init.state.terminated.exit_code != 0:
                return init.state
        statuses = self.status.container_statuses
        return statuses[0].state if statuses else ContainerState()

    @property
    def memory_limit(self) -> str:
        """Return how much memory its one container may take; empty where that is not limited."""
        return self.spec.containers[0].resources.limits.get("memory", "") if self.spec.containers else ""

    @property
    def is_over(self) -> bool:
        """Return whether its container has ended for good."""
        return self.status.phase in {"Succeeded", "Failed"} or self.state.terminated is not None

    @property
    def is_ready(self) -> bool:
        """Return whether its readiness probe succeeds."""
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)

    def condition(self, kind: str) -> Condition | None:
        """Return its condition of that type, if it has it."""
        return next((one for one in self.status.conditions if one.type == kind), None)


class RunPolicySeen(_Seen, frozen=True, kw_only=True):
    """The part of an MPIJob that says whether it waits."""

    suspend: bool | None = None


class JobSpecSeen(_Seen, frozen=True, kw_only=True):
    """Whether a Job, or an MPIJob by its policy, waits."""

    suspend: bool | None = None
    run_policy: RunPolicySeen = RunPolicySeen()


class JobStatus(_Seen, frozen=True, kw_only=True):
    """How a job is."""

    conditions: list[Condition] = []


class SeenJob(_Seen, frozen=True, kw_only=True):
    """An MPIJob or Job as it is now."""

    metadata: SeenMeta
    spec: JobSpecSeen = JobSpecSeen()
    status: JobStatus = JobStatus()

    @property
    def is_suspended(self) -> bool:
        """Return whether it is to wait until somebody, such as Kueue, resumes it."""
        return bool(self.spec.suspend or self.spec.run_policy.suspend)

    @property
    def failure(self) -> Condition | None:
        """Return why it failed, if it did."""
        failed = (one for one in self.status.conditions if one.type == "Failed" and one.status == "True")
        return next(failed, None)


class Involved(_Seen, frozen=True, kw_only=True):
    """What an event is about."""

    kind: str = ""
    name: str = ""


class SeenEvent(_Seen, frozen=True, kw_only=True):
    """An event: what some part of the cluster has to say."""

    metadata: SeenMeta
    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""
    type: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def line(self) -> str:
        """Return it as one line of text."""
        at = self.last_timestamp or self.event_time or ""
        about = f"{self.involved_object.kind}/{self.involved_object.name}"
        return f"{at} {self.type} {self.reason} {about}: {' '.join(self.message.split())}"
