"""Find what a Kubernetes cluster offers in one namespace, by its API; nothing is created."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, BackendError
from tare.discovery.commands import Report
from tare.discovery.kubernetes_facts import (
    AttachmentFacts,
    ClaimFacts,
    Context,
    ImageFacts,
    KubernetesFacts,
    LimitFacts,
    QuotaFacts,
    StorageClassFacts,
)
from tare.discovery.kubernetes_nodes import find_groups
from tare.plugins.backends.kubernetes.api.cluster import (
    ATTACHMENTS,
    CLAIMS,
    LIMIT_RANGES,
    MPI_JOBS,
    NAMESPACES,
    STORAGE_CLASSES,
    Cluster,
    Resource,
)
from tare.plugins.backends.kubernetes.checks.mpi_operator import read_operator
from tare.plugins.backends.kubernetes.checks.rights import missing_rights, rights_of_campaigns
from tare.plugins.backends.kubernetes.diagnosis.nodes import read_nodes, read_pods
from tare.plugins.backends.kubernetes.diagnosis.quotas import read_quotas
from tare.plugins.backends.kubernetes.objects.observed import SeenClaim, SeenMeta, SeenPodSpec

_OPENSHIFT = "apis/security.openshift.io/v1"
_SECURITY = "pod-security.kubernetes.io/enforce"
_IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_DEVICE = "k8s.v1.cni.cncf.io/resourceName"
_EVERYWHERE = "default"  # Multus finds networks of this namespace for pods of all
_Kind = TypeVar("_Kind")


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()


class _Spec(msgspec.Struct, frozen=True):
    config: str = ""


class _Attachment(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()
    spec: _Spec = _Spec()


class _Ipam(msgspec.Struct, frozen=True):
    type: str = ""


class _Plugin(msgspec.Struct, frozen=True):
    """A CNI configuration: of one plug-in, or of several in a row (CNI specification 1.0)."""

    type: str = ""
    master: str = ""
    ipam: _Ipam = _Ipam()
    plugins: list[_Plugin] = []


class _StorageClass(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()
    provisioner: str = ""


class _Limit(msgspec.Struct, frozen=True):
    type: str = ""
    min: dict[str, str] = {}
    max: dict[str, str] = {}
    default: dict[str, str] = {}


class _LimitSpec(msgspec.Struct, frozen=True):
    limits: list[_Limit] = []


class _LimitRange(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()
    spec: _LimitSpec = _LimitSpec()


class _Template(msgspec.Struct, frozen=True):
    spec: SeenPodSpec = SeenPodSpec()


class _Replica(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class _JobSpec(msgspec.Struct, frozen=True, rename="camel"):
    mpi_implementation: str = ""
    mpi_replica_specs: dict[str, _Replica] = {}


class _MpiJob(msgspec.Struct, frozen=True):
    metadata: SeenMeta = SeenMeta()
    spec: _JobSpec = _JobSpec()


def find_kubernetes(cluster: Cluster, context: Context, report: Report) -> KubernetesFacts:
    """Return what is found; what may not be read is reported. Raises BackendError without an API server."""
    namespace = cluster.namespace
    try:
        version = decode_json(cluster.version(), type=_Version).git_version
    except NOT_JSON as error:
        raise BackendError(f"the API server does not say its version: {error}") from error
    ask = _Asker(cluster, report)
    nodes = ask.try_all("nodes", lambda: read_nodes(cluster))
    pods = ask.one("pods on nodes, so all CPUs count as free", lambda: read_pods(cluster)) if nodes else None
    groups = find_groups(nodes, pods or {})
    wanted = rights_of_campaigns(uses_exec=True)
    missing = ask.one("your rights", lambda: missing_rights(cluster, namespace, wanted))
    return KubernetesFacts(
        context=context,
        namespace=namespace,
        version=version,
        is_openshift=bool(ask.one("OpenShift", lambda: cluster.serves(_OPENSHIFT))),
        groups=groups,
        n_unusable=len(nodes) - sum(len(one.nodes) for one in groups),
        operator=ask.one("the MPI Operator", lambda: read_operator(cluster)),
        attachments=tuple(_attachments(ask, namespace)),
        claims=tuple(_claim(one) for one in ask.objects(CLAIMS, SeenClaim)),
        storage_classes=tuple(_storage_class(one) for one in ask.objects(STORAGE_CLASSES, _StorageClass)),
        quotas=tuple(
            QuotaFacts(name=one.metadata.name, hard=one.status.hard, used=one.status.used)
            for one in ask.try_all("quotas", lambda: read_quotas(cluster))
        ),
        limits=tuple(_limits(ask.objects(LIMIT_RANGES, _LimitRange))),
        images=tuple(_images(ask.objects(MPI_JOBS, _MpiJob))),
        pod_security=_pod_security(cluster),
        missing_rights=None if missing is None else tuple(map(str, missing)),
    )


class _Asker:
    """Asks the API server; what it refuses is reported, and counts as nothing."""

    def __init__(self, cluster: Cluster, report: Report) -> None:
        self.cluster, self._report = cluster, report

    def one(self, what: str, ask: Callable[[], _Kind]) -> _Kind | None:
        try:
            return ask()
        except (BackendError, *NOT_JSON) as error:
            self._report(f"{what}: {error}")
            return None

    def try_all(self, what: str, ask: Callable[[], Sequence[_Kind]]) -> Sequence[_Kind]:
        return self.one(what, ask) or ()

    def objects(self, resource: Resource, kind: type[_Kind], namespace: str = "") -> Sequence[_Kind]:
        """Return the objects of a namespace; by default of the cluster's own."""
        cluster = Cluster(self.cluster.connection, namespace) if namespace else self.cluster
        where = f" in {namespace}" if namespace and namespace != self.cluster.namespace else ""
        return self.try_all(f"{resource.plural}{where}", lambda: cluster.read_all(resource, kind))


def _attachments(ask: _Asker, namespace: str) -> Iterator[AttachmentFacts]:
    for home in dict.fromkeys((namespace, _EVERYWHERE)):
        for one in ask.objects(ATTACHMENTS, _Attachment, home):
            first = _plugin(one.spec.config)
            yield AttachmentFacts(
                namespace=home,
                name=one.metadata.name,
                kind=first.type,
                master=first.master,
                addressing=first.ipam.type,
                device=one.metadata.annotations.get(_DEVICE, ""),
            )


def _plugin(config: str) -> _Plugin:
    """Return the first plug-in of a CNI configuration; an empty one where the text is none."""
    try:
        found = decode_json(config, type=_Plugin)
    except NOT_JSON:
        return _Plugin()
    return found.plugins[0] if found.plugins else found


def _claim(one: SeenClaim) -> ClaimFacts:
    return ClaimFacts(
        name=one.metadata.name,
        access_modes=tuple(one.spec.access_modes),
        phase=one.status.phase,
        storage_class=one.spec.storage_class_name,
        size=one.status.capacity.get("storage", ""),
        is_shared=one.is_usable and one.metadata.deletion_timestamp is None,
    )


def _storage_class(one: _StorageClass) -> StorageClassFacts:
    meta = one.metadata
    is_default = meta.annotations.get(_IS_DEFAULT) == "true"
    return StorageClassFacts(name=meta.name, provisioner=one.provisioner, is_default=is_default)


def _limits(ranges: Sequence[_LimitRange]) -> Iterator[LimitFacts]:
    for one in ranges:
        for limit in one.spec.limits:
            yield LimitFacts(
                name=one.metadata.name,
                kind=limit.type,
                least=limit.min,
                most=limit.max,
                default=limit.default,
            )


def _images(jobs: Sequence[_MpiJob]) -> Iterator[ImageFacts]:
    """Yield the images in which workers of MPIJobs run, the latest job's first."""
    seen = set()
    for one in sorted(jobs, key=lambda job: job.metadata.creation_timestamp, reverse=True):
        worker = one.spec.mpi_replica_specs.get("Worker", _Replica())
        image = next((container.image for container in worker.template.spec.containers), "")
        if image and image not in seen:
            seen.add(image)
            yield ImageFacts(image=image, mpi=one.spec.mpi_implementation, job=one.metadata.name)


def _pod_security(cluster: Cluster) -> str:
    """Return the level that the namespace's label enforces; empty if there is none, or it may not be read."""
    try:
        content = cluster.get(NAMESPACES, cluster.namespace)
        labels = decode_json(content, type=_Object).metadata.labels if content else {}
    except (BackendError, *NOT_JSON):
        return ""
    return labels.get(_SECURITY, "")
