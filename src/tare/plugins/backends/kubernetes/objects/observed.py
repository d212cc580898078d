"""The parts of a cluster's objects that Tare reads, as types (core/v1, batch/v1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.created import Resources

_FAILURES = ("Failed", "FailureTarget")
"""The conditions of a Job that has failed; the second comes first, while its pods end (batch/v1)."""
_AFTER_INIT = "PodInitializing"
"""The reason of a container that waits for init containers (kubelet, kuberuntime)."""


class _Seen(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an object; fields that Tare does not need are ignored."""


class OwnerReference(_Seen, frozen=True, kw_only=True):
    """An object with which another one is deleted; one of them may be its controller, which created it."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class SeenMeta(_Seen, frozen=True, kw_only=True):
    """Metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    resource_version: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """Return the object whose controller created it; None if it was created by itself."""
        return next((one for one in self.owner_references if one.controller), None)

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


class _Status(_Seen, frozen=True, kw_only=True):
    """The status of an object that has conditions."""

    conditions: list[Condition] = []

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type; None if there is none."""
        return next((one for one in self.conditions if one.type == kind), None)

    def has(self, kind: str) -> bool:
        """Return whether the condition of that type is true."""
        found = self.condition(kind)
        return found is not None and found.status == "True"


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

    name: str = ""
    ready: bool = False
    state: ContainerState = ContainerState()


class SeenContainer(_Seen, frozen=True, kw_only=True):
    """The specification of a container."""

    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    resources: Resources = Resources()


class SeenPodSpec(_Seen, frozen=True, kw_only=True):
    """The node of a pod, what chooses that node, and the resources that it requests."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: msgspec.Raw = msgspec.Raw(b"null")
    host_network: bool = False
    runtime_class_name: str = ""
    scheduler_name: str = ""
    priority_class_name: str = ""
    active_deadline_seconds: int | None = None
    init_containers: list[SeenContainer] = []
    containers: list[SeenContainer] = []
    overhead: dict[str, str] = {}


class PodStatus(_Status, frozen=True, kw_only=True):
    """The status of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class SeenPod(_Seen, frozen=True, kw_only=True):
    """A pod's current state."""

    metadata: SeenMeta = SeenMeta()
    spec: SeenPodSpec = SeenPodSpec()
    status: PodStatus = PodStatus()

    @property
    def role(self) -> str:
        """Return its role in its task."""
        return self.metadata.labels.get(naming.ROLE, "")

    @property
    def state(self) -> ContainerState:
        """Return the state of Tare's container, or of the init container that it waits for.

        Init containers that run on beside it are sidecars (KEP 753).
        """
        own = _own(self.status.container_statuses)
        has_begun = own is not None and (own.state.waiting is None or own.state.waiting.reason != _AFTER_INIT)
        for init in () if has_begun else self.status.init_container_statuses:
            if init.state.running is not None:
                return ContainerState()
            if init.state.terminated is None or init.state.terminated.exit_code != 0:
                return init.state
        return own.state if own is not None else ContainerState()

    @property
    def memory_limit(self) -> str:
        """Return the memory limit of Tare's container; empty without a limit."""
        own = self.own_container
        return str(own.resources.limits.get("memory", "")) if own is not None else ""

    @property
    def own_container(self) -> SeenContainer | None:
        """Return the specification of Tare's container; None if it is not known."""
        return _own(self.spec.containers)

    @property
    def is_over(self) -> bool:
        """Return whether its container has ended for good, or will never begin."""
        own = _own(self.status.container_statuses)
        has_ended = own is not None and own.state.terminated is not None
        return has_ended or self.status.phase in {"Succeeded", "Failed"}

    @property
    def has_begun(self) -> bool:
        """Return whether its container has begun, and may have ended since."""
        own = _own(self.status.container_statuses)
        return own is not None and (own.state.running is not None or own.state.terminated is not None)

    @property
    def failed_init(self) -> tuple[str, Terminated] | None:
        """Return the name and the end of the init container that failed; None if none did."""
        for one in self.status.init_container_statuses:
            ended = one.state.terminated
            if ended is not None and ended.exit_code != 0:
                return one.name, ended
        return None

    @property
    def is_ready(self) -> bool:
        """Return whether its readiness probe succeeds."""
        return self.status.has("Ready")

    @property
    def unscheduled(self) -> Condition | None:
        """Return the scheduler's reason why it has no node; None where the scheduler reports none."""
        scheduled = self.status.condition("PodScheduled")
        return scheduled if scheduled is not None and scheduled.status == "False" else None


_HARD = frozenset({"NoSchedule", "NoExecute"})
_OF_CONTROLLERS = re.compile(r"node\.(\S+\.)?kubernetes\.io/")
"""Taints such as node.kubernetes.io/unreachable and node.cloudprovider.kubernetes.io/shutdown."""

_Named = TypeVar("_Named", SeenContainer, ContainerStatus)


def _own(several: Sequence[_Named]) -> _Named | None:
    """Return Tare's own one of a pod's containers, whose order the cluster may change."""
    return next((one for one in several if one.name in naming.CONTAINERS), next(iter(several), None))


class SeenRunPolicy(_Seen, frozen=True, kw_only=True):
    """The run policy of an MPIJob."""

    suspend: bool | None = None


class SeenJobSpec(_Seen, frozen=True, kw_only=True):
    """Whether a Job, or an MPIJob by its run policy, is suspended."""

    suspend: bool | None = None
    run_policy: SeenRunPolicy = SeenRunPolicy()


class SeenJob(_Seen, frozen=True, kw_only=True):
    """The current state of an MPIJob or Job, or of any object whose metadata alone matter."""

    metadata: SeenMeta
    spec: SeenJobSpec = SeenJobSpec()
    status: _Status = _Status()

    @property
    def is_suspended(self) -> bool:
        """Return whether it is suspended until another program, such as Kueue, resumes it."""
        return bool(self.spec.suspend or self.spec.run_policy.suspend)

    @property
    def failure(self) -> Condition | None:
        """Return the condition that says why it failed, or fails as soon as its pods have ended; or None."""
        found = [self.status.condition(kind) for kind in _FAILURES if self.status.has(kind)]
        return found[0] if found else None


class Taint(_Seen, frozen=True, kw_only=True):
    """A taint of a node: pods that do not tolerate it are kept off."""

    key: str
    value: str = ""
    effect: str = ""


class SeenNodeSpec(_Seen, frozen=True, kw_only=True):
    """The taints of a node, and whether it is cordoned."""

    taints: list[Taint] = []
    unschedulable: bool = False


class NodeInfo(_Seen, frozen=True, kw_only=True):
    """The software of a node."""

    kubelet_version: str = ""
    container_runtime_version: str = ""
    os_image: str = ""


class NodeStatus(_Status, frozen=True, kw_only=True):
    """The status of a node."""

    node_info: NodeInfo = NodeInfo()
    allocatable: dict[str, str] = {}


class SeenNode(_Seen, frozen=True, kw_only=True):
    """The current state of a node."""

    metadata: SeenMeta
    spec: SeenNodeSpec = SeenNodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Return whether it takes pods: it is not cordoned, and its kubelet does not report it unready."""
        ready = self.status.condition("Ready")
        return (ready is None or ready.status == "True") and not self.spec.unschedulable

    @property
    def is_taken_away(self) -> bool:
        """Return whether it takes no pods for now: it is cordoned, or has a taint of a controller."""
        taints = (one for one in self.spec.taints if one.effect in _HARD)
        return self.spec.unschedulable or any(_OF_CONTROLLERS.match(one.key) for one in taints)


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


class ClaimSpec(_Seen, frozen=True, kw_only=True):
    """How a claim may be mounted, and by which storage class its volume is made."""

    access_modes: list[str] = []
    storage_class_name: str = ""


class ClaimStatus(_Seen, frozen=True, kw_only=True):
    """Whether a claim has its volume, and how much that holds."""

    phase: str = ""
    capacity: dict[str, str] = {}


class SeenClaim(_Seen, frozen=True, kw_only=True):
    """The current state of a PersistentVolumeClaim."""

    metadata: SeenMeta = SeenMeta()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def is_usable(self) -> bool:
        """Return whether pods of several nodes may mount it: it is ReadWriteMany, and not lost."""
        return "ReadWriteMany" in self.spec.access_modes and self.status.phase in {"Bound", "Pending"}
