"""The parts of a cluster's objects that Tare reads, as types (core/v1, batch/v1)."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes import naming


class _Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an object; fields that Tare does not need are ignored."""


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
        """Return the name of the task that it belongs to; empty if Tare did not create it."""
        return self.labels.get(naming.TASK, "")


class Condition(_Seen, frozen=True, kw_only=True):
    """A condition of an object: whether it is true, and why."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Waiting(_Seen, frozen=True, kw_only=True):
    """The reason why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Running(_Seen, frozen=True, kw_only=True):
    """The time since which a container runs."""

    started_at: str = ""


class Terminated(_Seen, frozen=True, kw_only=True):
    """How a container ended; `message` is the text of its termination message."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(_Seen, frozen=True, kw_only=True):
    """The state of a container; one of the three is set."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Seen, frozen=True, kw_only=True):
    """The status of a container."""

    ready: bool = False
    state: ContainerState = ContainerState()


class ResourcesSeen(_Seen, frozen=True, kw_only=True):
    """The resources that a container requests, and its limits, as Kubernetes' quantities."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class ContainerSeen(_Seen, frozen=True, kw_only=True):
    """The specification of a container."""

    resources: ResourcesSeen = ResourcesSeen()


class PodSpecSeen(_Seen, frozen=True, kw_only=True):
    """The node of a pod, its scheduler, and the resources that it requests."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: list[ContainerSeen] = []


class PodStatus(_Seen, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class SeenPod(_Seen, frozen=True, kw_only=True):
    """A pod's current state."""

    metadata: SeenMeta
    spec: PodSpecSeen = PodSpecSeen()
    status: PodStatus = PodStatus()

    @property
    def role(self) -> str:
        """Return its role in its task."""
        return self.metadata.labels.get(naming.ROLE, "")

    @property
    def state(self) -> ContainerState:
        """Return the state of its only container, or of the init container that it waits for."""
        for init in self.status.init_container_statuses:
            if init.state.running is not None:
                return ContainerState()
            if init.state.terminated is None or init.state.terminated.exit_code != 0:
                return init.state
        statuses = self.status.container_statuses
        return statuses[0].state if statuses else ContainerState()

    @property
    def memory_limit(self) -> str:
        """Return the memory limit of its only container; empty without a limit."""
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
        """Return its condition of that type; None if it has none."""
        return next((one for one in self.status.conditions if one.type == kind), None)


class RunPolicySeen(_Seen, frozen=True, kw_only=True):
    """The part of an MPIJob's run policy that says whether it is suspended."""

    suspend: bool | None = None


class JobSpecSeen(_Seen, frozen=True, kw_only=True):
    """Whether a Job, or an MPIJob by its run policy, is suspended."""

    suspend: bool | None = None
    run_policy: RunPolicySeen = RunPolicySeen()


class JobStatus(_Seen, frozen=True, kw_only=True):
    """The status of a job."""

    conditions: list[Condition] = []


class SeenJob(_Seen, frozen=True, kw_only=True):
    """The current state of an MPIJob or Job."""

    metadata: SeenMeta
    spec: JobSpecSeen = JobSpecSeen()
    status: JobStatus = JobStatus()

    @property
    def is_suspended(self) -> bool:
        """Return whether it is suspended until another program, such as Kueue, resumes it."""
        return bool(self.spec.suspend or self.spec.run_policy.suspend)

    @property
    def failure(self) -> Condition | None:
        """Return the condition that says why it failed; None if it did not."""
        failed = (one for one in self.status.conditions if one.type == "Failed" and one.status == "True")
        return next(failed, None)


class Involved(_Seen, frozen=True, kw_only=True):
    """The object that an event is about."""

    kind: str = ""
    name: str = ""


class SeenEvent(_Seen, frozen=True, kw_only=True):
    """An event that a component of the cluster reported."""

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
