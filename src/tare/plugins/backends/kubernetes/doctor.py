"""Check a cluster before a campaign: operator, access rights, networks, claims, quotas, CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tare.core.checks import Finding
from tare.core.errors import BackendError
from tare.core.site import Network
from tare.plugins.backends.kubernetes.attachments import split_name
from tare.plugins.backends.kubernetes.cluster import (
    ATTACHMENTS,
    CLAIMS,
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    LEASES,
    MPI_JOBS,
    NODES,
    PODS,
    Cluster,
    Refusal,
    Resource,
)
from tare.plugins.backends.kubernetes.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.dry_run import check_job
from tare.plugins.backends.kubernetes.leases import VERBS
from tare.plugins.backends.kubernetes.merging import Json
from tare.plugins.backends.kubernetes.mpi_operator import check_operator
from tare.plugins.backends.kubernetes.naming import MANAGED_BY, OPERATOR_ROLE, ROLE, WORKER
from tare.plugins.backends.kubernetes.neighbours import check_neighbourhood
from tare.plugins.backends.kubernetes.network_policies import check_policies
from tare.plugins.backends.kubernetes.observed import SeenNode
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.quotas import check_quotas

RIGHTS: tuple[tuple[Resource, tuple[str, ...]], ...] = (
    (MPI_JOBS, ("create", "list", "watch", "deletecollection")),
    (JOBS, ("create", "list", "watch", "deletecollection")),
    (PODS, ("create", "list", "watch", "patch", "deletecollection")),
    (CONFIG_MAPS, ("create", "list", "deletecollection")),
    (EVENTS, ("list", "watch")),
)
"""All verbs that a campaign uses; deploy/kubernetes/role.yaml grants them."""
_ISOLATED = (
    "Multus with namespaceIsolation, as OpenShift's is set, attaches pods to none but their own namespace's "
    "networks, and those of 'default' and 'openshift-multus'"
)
_OWN_COPY = "make the NetworkAttachmentDefinition in the pods' namespace, or in 'default', and name it so"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    reason: str = ""


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


class _ClaimSpec(msgspec.Struct, frozen=True, rename="camel"):
    access_modes: list[str] = []


class _ClaimStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class _Claim(msgspec.Struct, frozen=True):
    spec: _ClaimSpec = _ClaimSpec()
    status: _ClaimStatus = _ClaimStatus()


class _Kubelet(msgspec.Struct, frozen=True, rename="camel"):
    cpu_manager_policy: str = "none"


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: _Kubelet = _Kubelet()


def check_cluster(
    cluster: Cluster,
    options: KubernetesOptions,
    networks: Mapping[str, Network],
    jobs: Mapping[str, Sequence[Json]] | None = None,
) -> Iterator[Finding]:
    """Yield the findings; the first says whether the API server answers, and is the only one if not.

    `jobs` are the manifests of one job on each network; they are checked here, and the API server validates
    them.
    """
    try:
        version = msgspec.json.decode(cluster.version(), type=_Version).git_version
    except BackendError as error:
        cure = "mend kubeconfig or context, or log in again"
        yield Finding(name="API server", is_met=False, found=str(error), cure=cure)
        return
    yield Finding(name="API server", is_met=True, found=version)
    yield from check_operator(cluster, options)
    yield from _check_rights(cluster, options)
    yield from _check_networks(cluster, options, networks)
    yield from _check_claims(cluster, options)
    yield from check_quotas(cluster)
    yield _check_cpu_manager(cluster)
    yield from check_neighbourhood(cluster, options)
    if any(not network.pod.is_host for network in networks.values()):
        own = options.labels | MANAGED_BY | {ROLE: WORKER, OPERATOR_ROLE: WORKER}
        yield from check_policies(cluster, own, options.ssh_port)
    for network, manifests in (jobs or {}).items():
        yield from check_job(cluster, network, manifests, options.in_flight)


def _check_rights(cluster: Cluster, options: KubernetesOptions) -> Iterator[Finding]:
    """Yield a finding for the rights; each missing right is a finding of its own."""
    namespace = options.namespace
    wanted = [(resource, "", verb) for resource, verbs in RIGHTS for verb in verbs]
    wanted.append((PODS, "log", "get"))
    if options.work is None:  # otherwise results are written to the claim
        wanted += [(PODS, "exec", "get"), (PODS, "exec", "create")]
    missing = [one for one in wanted if not _may(cluster, namespace, *one)]
    for resource, part, verb in missing:
        name = resource.plural + (f"/{part}" if part else "")
        yield Finding(name=f"right to {verb} {name}", is_met=False, found="no", cure=MISSING_RIGHT)
    if not missing:
        yield Finding(name=f"rights in {namespace}", is_met=True, found=f"all {len(wanted)}")
    if not all(_may(cluster, options.namespace, LEASES, "", verb) for verb in VERBS):
        found = "Leases of nodes cannot be held: whether two campaigns meet on a node stays unknown"
        yield Finding(name="right to hold nodes", is_met=None, found=found, cure=MISSING_RIGHT)
    if not _may(cluster, "", NODES, "", "list") or not _may(cluster, "", PODS, "", "list"):
        found = "nodes, or pods of all namespaces, cannot be listed: what else ran stays unknown"
        yield Finding(name="right to see neighbours", is_met=None, found=found, cure=MISSING_RIGHT)
    elif not _may(cluster, "", NODES, "", "watch"):
        found = "nodes cannot be watched: a lost node shows in its pods alone, without the reason"
        yield Finding(name="right to watch nodes", is_met=None, found=found, cure=MISSING_RIGHT)


def _may(cluster: Cluster, namespace: str, resource: Resource, part: str, verb: str) -> bool:
    group = "" if resource.group == "api/v1" else resource.group.split("/")[1]
    attributes: Json = {
        "namespace": namespace, "group": group, "resource": resource.plural,
        "subresource": part, "verb": verb,
    }  # fmt: skip
    body: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return msgspec.json.decode(cluster.post(_REVIEWS, body), type=_Review).status.allowed


def _check_networks(
    cluster: Cluster, options: KubernetesOptions, networks: Mapping[str, Network]
) -> Iterator[Finding]:
    for name, network in networks.items():
        if network.pod.attachment is None:
            continue
        home, attachment = split_name(network.pod.attachment, options.namespace)
        what = f"network {name}"
        try:
            found = cluster.get(ATTACHMENTS, attachment, namespace=home)
        except Refusal as refusal:
            yield Finding(name=what, is_met=None, found=str(refusal), cure=MISSING_RIGHT)
            continue
        is_made = network.pod.definition is not None
        state = "is there" if found else "is to be made" if is_made else "is not there"
        yield Finding(
            name=what,
            is_met=found is not None or is_made,
            found=f"NetworkAttachmentDefinition {home}/{attachment} {state}",
            cure="install Multus, and make it, or give the network a 'definition'",
        )
        if home not in {options.namespace, "default"} and not home.startswith("openshift-"):
            yield Finding(name=f"{what}, of another namespace", is_met=None, found=_ISOLATED, cure=_OWN_COPY)


def _check_claims(cluster: Cluster, options: KubernetesOptions) -> Iterator[Finding]:
    claims = dict(options.storage) | ({"campaigns": options.work.claim} if options.work else {})
    for name, claim in claims.items():
        what, content = f"claim {claim} for {name}", cluster.get(CLAIMS, claim)
        if content is None:
            yield Finding(name=what, is_met=False, found="is not there", cure="make it, ReadWriteMany")
            continue
        found = msgspec.json.decode(content, type=_Claim)
        is_shared = "ReadWriteMany" in found.spec.access_modes
        yield Finding(
            name=what,
            is_met=is_shared and found.status.phase in {"Bound", "Pending"},
            found=f"{', '.join(found.spec.access_modes)}, {found.status.phase}",
            cure="pods of several nodes need ReadWriteMany; choose a storage class that has it",
        )


def _check_cpu_manager(cluster: Cluster) -> Finding:
    """Return whether kubelets give pods exclusive CPUs, if the kubelets can be asked (nodes/proxy)."""
    name, cure = "CPU manager", "set cpuManagerPolicy: static on the kubelets of the nodes to measure"
    try:
        nodes = [one.metadata.name for one in cluster.read_all(NODES, SeenNode)]
        policies = [
            msgspec.json.decode(content, type=_Configz).kubeletconfig.cpu_manager_policy
            for node in nodes[:3]
            if (content := cluster.get(NODES, f"{node}/proxy/configz")) is not None
        ]
    except BackendError as error:
        return Finding(name=name, is_met=None, found=str(error), cure=cure)
    found = ", ".join(sorted(set(policies))) or "not known"
    return Finding(name=name, is_met=True if set(policies) == {"static"} else None, found=found, cure=cure)
