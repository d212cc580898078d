"""What is found in a Kubernetes cluster: each fact as the API server states it."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes.checks.mpi_operator import Operator


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A context of a kubeconfig file."""

    name: str
    kubeconfig: str
    namespace: str = "default"
    is_current: bool = False


class NodeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that are alike, ready for pods. `free_cpus` and `memory_bytes` are those of the node with least.

    `free_cpus` are not requested by any pod now. `own_labels` are those that all of them have and no others,
    `taints` the keys that keep off pods which do not tolerate them, and `devices` the extended resources.
    """

    nodes: tuple[str, ...]
    cpus: int
    free_cpus: int
    memory_bytes: int
    own_labels: dict[str, str] = {}
    taints: tuple[str, ...] = ()
    devices: dict[str, str] = {}


class AttachmentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A NetworkAttachmentDefinition: the CNI plug-in, the interface under it, and who gives out addresses.

    `device` is the extended resource that it needs.
    """

    namespace: str
    name: str
    kind: str = ""
    master: str = ""
    addressing: str = ""
    device: str = ""


class ClaimFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A PersistentVolumeClaim. One that `is_shared` may be mounted by pods of several nodes."""

    name: str
    access_modes: tuple[str, ...]
    phase: str
    storage_class: str = ""
    size: str = ""
    is_shared: bool = False


class StorageClassFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A storage class, and what makes its volumes."""

    name: str
    provisioner: str
    is_default: bool = False


class QuotaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A ResourceQuota: what it allows, and how much of that is used."""

    name: str
    hard: dict[str, str]
    used: dict[str, str] = {}


class LimitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a LimitRange says about containers or pods."""

    name: str
    kind: str
    least: dict[str, str] = {}
    most: dict[str, str] = {}
    default: dict[str, str] = {}


class ImageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The image of an MPIJob that is there, and the MPI that the job names."""

    image: str
    mpi: str
    job: str


class KubernetesFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, and one namespace of it.

    `groups` are nodes on which pods may be, the largest group first; `n_unusable` counts the others.
    `pod_security` is the level that the namespace enforces. `missing_rights` are those that campaigns use
    and this user lacks; None if that is not known.
    """

    context: Context
    namespace: str
    version: str
    is_openshift: bool = False
    groups: tuple[NodeGroup, ...] = ()
    n_unusable: int = 0
    operator: Operator | None = None
    attachments: tuple[AttachmentFacts, ...] = ()
    claims: tuple[ClaimFacts, ...] = ()
    storage_classes: tuple[StorageClassFacts, ...] = ()
    quotas: tuple[QuotaFacts, ...] = ()
    limits: tuple[LimitFacts, ...] = ()
    images: tuple[ImageFacts, ...] = ()
    pod_security: str = ""
    missing_rights: tuple[str, ...] | None = None
