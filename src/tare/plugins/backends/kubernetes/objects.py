"""The Kubernetes objects that Tare creates, as types: the part of the API that it uses.

Names and meaning are those of the API (core/v1, batch/v1, coordination.k8s.io/v1, kubeflow.org/v2beta1,
k8s.cni.cncf.io/v1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from tare.plugins.backends.kubernetes.merging import Json


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Part of a manifest; fields with default values are left out."""


class Meta(_Object, frozen=True, kw_only=True):
    """Metadata of an object; a change with a `resource_version` is refused if the object has another one."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class FieldRef(_Object, frozen=True, kw_only=True):
    """A field of the pod itself."""

    field_path: str


class EnvSource(_Object, frozen=True, kw_only=True):
    """The source of a variable's value."""

    field_ref: FieldRef


class EnvVar(_Object, frozen=True, kw_only=True):
    """An environment variable of a container."""

    name: str
    value: str = ""
    value_from: EnvSource | None = None


class TcpSocket(_Object, frozen=True, kw_only=True):
    """A port that must take connections."""

    port: int


class ExecAction(_Object, frozen=True, kw_only=True):
    """A command that must succeed."""

    command: tuple[str, ...]


class Probe(_Object, frozen=True, kw_only=True):
    """How the kubelet checks whether a container is ready."""

    tcp_socket: TcpSocket | None = None
    exec: ExecAction | None = None
    period_seconds: int = 10


Quantities = dict[str, str | int | float]
"""Amounts by resource. The API server writes them as text; people may write numbers."""


class Resources(_Object, frozen=True, kw_only=True):
    """The resources that a container requests, and its limits."""

    requests: Quantities = {}
    limits: Quantities = {}


class Capabilities(_Object, frozen=True, kw_only=True):
    """Linux capabilities of a container."""

    drop: tuple[str, ...] = ()
    add: tuple[str, ...] = ()


class SeccompProfile(_Object, frozen=True, kw_only=True):
    """The system calls that a pod may make."""

    type: str


class SecurityContext(_Object, frozen=True, kw_only=True):
    """The user that a pod or container runs as, and its privileges."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    seccomp_profile: SeccompProfile | None = None


class Port(_Object, frozen=True, kw_only=True):
    """A port of a container; on the host network, pods with the same port go to different nodes."""

    container_port: int
    name: str = ""


class Mount(_Object, frozen=True, kw_only=True):
    """Where a container mounts a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Container(_Object, frozen=True, kw_only=True):
    """A container of a pod."""

    name: str
    image: str
    image_pull_policy: str = ""
    command: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    ports: tuple[Port, ...] = ()
    readiness_probe: Probe | None = None
    resources: Resources = Resources()
    security_context: SecurityContext | None = None
    volume_mounts: tuple[Mount, ...] = ()
    termination_message_policy: str = ""


class KeyPath(_Object, frozen=True, kw_only=True):
    """A key of a ConfigMap, and the path of the file that it becomes."""

    key: str
    path: str


class ConfigMapSource(_Object, frozen=True, kw_only=True):
    """Files from a ConfigMap."""

    name: str
    items: tuple[KeyPath, ...] = ()


class EmptyDir(_Object, frozen=True, kw_only=True):
    """A folder that lives as long as its pod."""

    medium: str = ""
    size_limit: str = ""


class ClaimSource(_Object, frozen=True, kw_only=True):
    """A PersistentVolumeClaim."""

    claim_name: str


class Volume(_Object, frozen=True, kw_only=True):
    """A volume of a pod; it has one of these sources."""

    name: str
    config_map: ConfigMapSource | None = None
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimSource | None = None


class Requirement(_Object, frozen=True, kw_only=True):
    """A condition on the labels of nodes or pods."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, value: str | None) -> bool:
        """Return whether the label's value meets the condition; None is a label that is missing."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case _:
                return self.operator == "DoesNotExist" and value is None


class NodeTerm(_Object, frozen=True, kw_only=True):
    """Conditions that a node must meet together."""

    match_expressions: tuple[Requirement, ...]


class NodeTerms(_Object, frozen=True, kw_only=True):
    """Conditions of which a node must meet one."""

    node_selector_terms: tuple[NodeTerm, ...]


class NodeAffinity(_Object, frozen=True, kw_only=True):
    """The nodes that a pod may be on."""

    required_during_scheduling_ignored_during_execution: NodeTerms


class LabelSelector(_Object, frozen=True, kw_only=True):
    """Pods with these labels, which meet these conditions too."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it selects an object with these labels."""
        has_labels = self.match_labels.items() <= labels.items()
        return has_labels and all(one.holds(labels.get(one.key)) for one in self.match_expressions)


class PodTerm(_Object, frozen=True, kw_only=True):
    """Pods to be near to, or away from, within one value of the node label `topology_key`."""

    label_selector: LabelSelector
    topology_key: str


class PodAffinity(_Object, frozen=True, kw_only=True):
    """Pods that must be together, or apart."""

    required_during_scheduling_ignored_during_execution: tuple[PodTerm, ...]


class Affinity(_Object, frozen=True, kw_only=True):
    """Where a pod may go."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpread(_Object, frozen=True, kw_only=True):
    """How evenly pods are spread over the values of the node label `topology_key`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector


class TolerationSpec(_Object, frozen=True, kw_only=True):
    """A taint that a pod tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NameRef(_Object, frozen=True, kw_only=True):
    """The name of another object."""

    name: str


class PodSpec(_Object, frozen=True, kw_only=True):
    """A pod."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    topology_spread_constraints: tuple[TopologySpread, ...] = ()
    tolerations: tuple[TolerationSpec, ...] = ()
    host_network: bool = False
    dns_policy: str = ""
    service_account_name: str = ""
    automount_service_account_token: bool | None = None
    enable_service_links: bool | None = None
    image_pull_secrets: tuple[NameRef, ...] = ()
    priority_class_name: str = ""
    scheduler_name: str = ""
    runtime_class_name: str = ""
    security_context: SecurityContext | None = None


class PodTemplate(_Object, frozen=True, kw_only=True):
    """The template from which pods are created."""

    metadata: Meta = Meta()
    spec: PodSpec


class Pod(_Object, frozen=True, kw_only=True):
    """A pod by itself."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "Pod"
    metadata: Meta
    spec: PodSpec


class ConfigMap(_Object, frozen=True, kw_only=True):
    """Small files. An immutable one is not watched by kubelets."""

    API_VERSION: ClassVar[str] = "v1"
    KIND: ClassVar[str] = "ConfigMap"
    metadata: Meta
    immutable: bool = False
    data: dict[str, str] = {}


class JobSpec(_Object, frozen=True, kw_only=True):
    """What a Job runs."""

    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    template: PodTemplate


class Job(_Object, frozen=True, kw_only=True):
    """A pod that runs to its end."""

    API_VERSION: ClassVar[str] = "batch/v1"
    KIND: ClassVar[str] = "Job"
    metadata: Meta
    spec: JobSpec


class SchedulingPolicySpec(_Object, frozen=True, kw_only=True):
    """The settings of an MPIJob for a gang scheduler."""

    min_available: int | None = None
    queue: str = ""
    min_resources: dict[str, str] = {}
    priority_class: str = ""
    schedule_timeout_seconds: int | None = None


class RunPolicy(_Object, frozen=True, kw_only=True):
    """The time limit and number of tries of an MPIJob, and what is deleted after it."""

    clean_pod_policy: str = ""
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    scheduling_policy: SchedulingPolicySpec | None = None


class ReplicaSpec(_Object, frozen=True, kw_only=True):
    """The launcher or the workers of an MPIJob."""

    replicas: int | None = None
    restart_policy: str = ""
    template: PodTemplate


class ReplicaSpecs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The launcher and the workers, under the operator's names."""

    launcher: ReplicaSpec | None = msgspec.field(name="Launcher", default=None)
    worker: ReplicaSpec | None = msgspec.field(name="Worker", default=None)


class MpiJobSpec(_Object, frozen=True, kw_only=True):
    """What an MPIJob runs."""

    slots_per_worker: int | None = None
    ssh_auth_mount_path: str = ""
    launcher_creation_policy: str = ""
    mpi_implementation: str = ""
    run_policy: RunPolicy = RunPolicy()
    mpi_replica_specs: ReplicaSpecs


class MpiJob(_Object, frozen=True, kw_only=True):
    """A launcher and workers, which the MPI Operator starts (kubeflow.org/v2beta1)."""

    API_VERSION: ClassVar[str] = "kubeflow.org/v2beta1"
    KIND: ClassVar[str] = "MPIJob"
    metadata: Meta
    spec: MpiJobSpec


class LeaseSpec(_Object, frozen=True, kw_only=True):
    """Who holds a Lease, for how long, and since when."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: str = ""


class Lease(_Object, frozen=True, kw_only=True):
    """A Lease, which one holder has until it expires."""

    API_VERSION: ClassVar[str] = "coordination.k8s.io/v1"
    KIND: ClassVar[str] = "Lease"
    metadata: Meta = Meta()
    spec: LeaseSpec = LeaseSpec()


class AttachmentSpec(_Object, frozen=True, kw_only=True):
    """The CNI configuration of an additional network, in JSON."""

    config: str


class AttachmentDefinition(_Object, frozen=True, kw_only=True):
    """A NetworkAttachmentDefinition: an additional network of pods, which Multus attaches."""

    API_VERSION: ClassVar[str] = "k8s.cni.cncf.io/v1"
    KIND: ClassVar[str] = "NetworkAttachmentDefinition"
    metadata: Meta
    spec: AttachmentSpec


Manifest = ConfigMap | AttachmentDefinition | MpiJob | Job | Pod | Lease


def as_document(manifest: Manifest) -> dict[str, Json]:
    """Return an object as JSON for the API."""
    fields = msgspec.json.decode(msgspec.json.encode(manifest), type=dict[str, Any])
    return {"apiVersion": manifest.API_VERSION, "kind": manifest.KIND, **fields}
