"""The Kubernetes objects that Tare creates, as types: the part of the API that it uses.

Names and meaning are those of the API (core/v1, batch/v1, k8s.cni.cncf.io/v1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.objects.merging import Json


class ApiObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Part of a manifest; fields with default values are left out."""


class Meta(ApiObject, frozen=True, kw_only=True):
    """Metadata of an object; a change with a `resource_version` is refused if the object has another one."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Manifest(ApiObject, frozen=True, kw_only=True):
    """An object that Tare creates."""

    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]
    metadata: Meta = Meta()

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON for the API."""
        fields = decode_json(msgspec.json.encode(self), type=dict[str, Any])
        return {"apiVersion": self.API_VERSION, "kind": self.KIND, **fields}


class FieldRef(ApiObject, frozen=True, kw_only=True):
    """A field of the pod itself."""

    field_path: str


class EnvSource(ApiObject, frozen=True, kw_only=True):
    """The source of a variable's value."""

    field_ref: FieldRef


class EnvVar(ApiObject, frozen=True, kw_only=True):
    """An environment variable of a container."""

    name: str
    value: str = ""
    value_from: EnvSource | None = None


class TcpSocket(ApiObject, frozen=True, kw_only=True):
    """A port that must take connections."""

    port: int


class ExecAction(ApiObject, frozen=True, kw_only=True):
    """A command that must succeed."""

    command: tuple[str, ...]


class Probe(ApiObject, frozen=True, kw_only=True):
    """How the kubelet checks whether a container is ready."""

    tcp_socket: TcpSocket | None = None
    exec: ExecAction | None = None
    period_seconds: int = 10


Quantities = dict[str, str | int | float]
"""Amounts by resource. The API server writes them as text; people may write numbers."""


class Resources(ApiObject, frozen=True, kw_only=True):
    """The resources that a container requests, and its limits."""

    requests: Quantities = {}
    limits: Quantities = {}


class Capabilities(ApiObject, frozen=True, kw_only=True):
    """Linux capabilities of a container."""

    drop: tuple[str, ...] = ()
    add: tuple[str, ...] = ()


class SeccompProfile(ApiObject, frozen=True, kw_only=True):
    """The system calls that a pod may make."""

    type: str


class SecurityContext(ApiObject, frozen=True, kw_only=True):
    """The user that a pod or container runs as, and its privileges."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities | None = None
    seccomp_profile: SeccompProfile | None = None


class Port(ApiObject, frozen=True, kw_only=True):
    """A port of a container; on the host network, pods with the same port go to different nodes."""

    container_port: int
    name: str = ""


class Mount(ApiObject, frozen=True, kw_only=True):
    """Where a container mounts a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Container(ApiObject, frozen=True, kw_only=True):
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


class KeyPath(ApiObject, frozen=True, kw_only=True):
    """A key of a ConfigMap, and the path of the file that it becomes."""

    key: str
    path: str


class ConfigMapSource(ApiObject, frozen=True, kw_only=True):
    """Files from a ConfigMap."""

    name: str
    items: tuple[KeyPath, ...] = ()


class EmptyDir(ApiObject, frozen=True, kw_only=True):
    """A folder that lives as long as its pod."""

    medium: str = ""
    size_limit: str = ""


class ClaimSource(ApiObject, frozen=True, kw_only=True):
    """A PersistentVolumeClaim."""

    claim_name: str


class Volume(ApiObject, frozen=True, kw_only=True):
    """A volume of a pod; it has one of these sources."""

    name: str
    config_map: ConfigMapSource | None = None
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimSource | None = None


class Requirement(ApiObject, frozen=True, kw_only=True):
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


class NodeTerm(ApiObject, frozen=True, kw_only=True):
    """Conditions that a node must meet together."""

    match_expressions: tuple[Requirement, ...]


class NodeTerms(ApiObject, frozen=True, kw_only=True):
    """Conditions of which a node must meet one."""

    node_selector_terms: tuple[NodeTerm, ...]


class NodeAffinity(ApiObject, frozen=True, kw_only=True):
    """The nodes that a pod may be on."""

    required_during_scheduling_ignored_during_execution: NodeTerms


class LabelSelector(ApiObject, frozen=True, kw_only=True):
    """Pods with these labels, which meet these conditions too."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether it selects an object with these labels."""
        has_labels = self.match_labels.items() <= labels.items()
        return has_labels and all(one.holds(labels.get(one.key)) for one in self.match_expressions)


class PodTerm(ApiObject, frozen=True, kw_only=True):
    """Pods to be near to, or away from, within one value of the node label `topology_key`."""

    label_selector: LabelSelector
    topology_key: str


class PodAffinity(ApiObject, frozen=True, kw_only=True):
    """Pods that must be together, or apart."""

    required_during_scheduling_ignored_during_execution: tuple[PodTerm, ...]


class Affinity(ApiObject, frozen=True, kw_only=True):
    """Where a pod may go."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpread(ApiObject, frozen=True, kw_only=True):
    """How evenly pods are spread over the values of the node label `topology_key`."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector


class TolerationSpec(ApiObject, frozen=True, kw_only=True):
    """A taint that a pod tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NameRef(ApiObject, frozen=True, kw_only=True):
    """The name of another object."""

    name: str


class PodSpec(ApiObject, frozen=True, kw_only=True):
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


class PodTemplate(ApiObject, frozen=True, kw_only=True):
    """The template from which pods are created."""

    metadata: Meta = Meta()
    spec: PodSpec


class Pod(Manifest, frozen=True, kw_only=True):
    """A pod by itself."""

    API_VERSION = "v1"
    KIND = "Pod"
    spec: PodSpec


class ConfigMap(Manifest, frozen=True, kw_only=True):
    """Small files. An immutable one is not watched by kubelets."""

    API_VERSION = "v1"
    KIND = "ConfigMap"
    immutable: bool = False
    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}


class JobSpec(ApiObject, frozen=True, kw_only=True):
    """What a Job runs."""

    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    template: PodTemplate


class Job(Manifest, frozen=True, kw_only=True):
    """A pod that runs to its end."""

    API_VERSION = "batch/v1"
    KIND = "Job"
    spec: JobSpec


class AttachmentSpec(ApiObject, frozen=True, kw_only=True):
    """The CNI configuration of an additional network, in JSON."""

    config: str


class AttachmentDefinition(Manifest, frozen=True, kw_only=True):
    """A NetworkAttachmentDefinition: an additional network of pods, which Multus attaches."""

    API_VERSION = "k8s.cni.cncf.io/v1"
    KIND = "NetworkAttachmentDefinition"
    spec: AttachmentSpec
