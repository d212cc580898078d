"""Check a cluster before a campaign: operator, access rights, networks, claims, quotas, CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tare.core.checks import Finding
from tare.core.decoding import decode_json
from tare.core.errors import BackendError
from tare.core.site import Network
from tare.plugins.backends.kubernetes.api.cluster import (
    ATTACHMENTS,
    CLAIMS,
    LEASES,
    NODES,
    PODS,
    Cluster,
    Refusal,
)
from tare.plugins.backends.kubernetes.api.connection import MISSING_RIGHT
from tare.plugins.backends.kubernetes.checks.dry_run import check_job
from tare.plugins.backends.kubernetes.checks.mpi_operator import check_operator
from tare.plugins.backends.kubernetes.checks.neighbours import check_neighbourhood
from tare.plugins.backends.kubernetes.checks.network_policies import check_policies
from tare.plugins.backends.kubernetes.checks.rights import Right, may, missing_rights, rights_of_campaigns
from tare.plugins.backends.kubernetes.diagnosis.quotas import check_quotas
from tare.plugins.backends.kubernetes.manifests.attachments import split_name
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.naming import MANAGED_BY, OPERATOR_ROLE, ROLE, WORKER
from tare.plugins.backends.kubernetes.objects.observed import SeenClaim, SeenNode
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.scheduling.leases import HOLDING, REMOVING

_ISOLATED = (
    "Multus with namespaceIsolation, as OpenShift's is set, attaches pods to none but their own namespace's "
    "networks, and those of 'default' and 'openshift-multus'"
)
_OWN_COPY = "make the NetworkAttachmentDefinition in the pods' namespace, or in 'default', and name it so"


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


class _Kubelet(msgspec.Struct, frozen=True, rename="camel"):
    cpu_manager_policy: str = "none"


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: _Kubelet = _Kubelet()


def check_cluster(
    cluster: Cluster,
    options: KubernetesOptions,
    networks: Mapping[str, Network],
    jobs: Mapping[str, Sequence[Json]] | None = None,
    *,
    has_mpi: bool = True,
) -> Iterator[Finding]:
    """Yield the findings; the first says whether the API server answers, and is the only one if not.

    `jobs` are the manifests of one job on each network; they are checked here, and the API server validates
    them. A platform that `has_mpi` needs the MPI Operator.
    """
    try:
        version = decode_json(cluster.version(), type=_Version).git_version
    except BackendError as error:
        cure = "mend kubeconfig or context, or log in again"
        yield Finding(name="API server", is_met=False, found=str(error), cure=cure)
        return
    yield Finding(name="API server", is_met=True, found=version)
    yield from check_operator(cluster, options, is_needed=has_mpi)
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
    wanted = rights_of_campaigns(uses_exec=options.work is None)  # with it, results are written to the claim
    missing = missing_rights(cluster, namespace, wanted)
    for one in missing:
        yield Finding(name=f"right to {one}", is_met=False, found="no", cure=MISSING_RIGHT)
    if not missing:
        yield Finding(name=f"rights in {namespace}", is_met=True, found=f"all {len(wanted)}")
    if missing_rights(cluster, namespace, [Right(LEASES, verb) for verb in HOLDING]):
        found = "Leases of nodes cannot be held: whether two campaigns meet on a node stays unknown"
        yield Finding(name="right to hold nodes", is_met=None, found=found, cure=MISSING_RIGHT)
    elif missing_rights(cluster, namespace, [Right(LEASES, verb) for verb in REMOVING]):
        found = "Leases of nodes cannot be listed and deleted: they stay after a campaign, and expire"
        yield Finding(name="right to delete Leases", is_met=None, found=found, cure=MISSING_RIGHT)
    if missing_rights(cluster, "", [Right(NODES, "list"), Right(PODS, "list")]):
        found = "nodes, or pods of all namespaces, cannot be listed: what else ran stays unknown"
        yield Finding(name="right to see neighbours", is_met=None, found=found, cure=MISSING_RIGHT)
    elif not may(cluster, "", Right(NODES, "watch")):
        found = "nodes cannot be watched: a lost node shows in its pods alone, without the reason"
        yield Finding(name="right to watch nodes", is_met=None, found=found, cure=MISSING_RIGHT)


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
        found = decode_json(content, type=SeenClaim)
        yield Finding(
            name=what,
            is_met=found.is_usable,
            found=f"{', '.join(found.spec.access_modes)}, {found.status.phase}",
            cure="pods of several nodes need ReadWriteMany; choose a storage class that has it",
        )


def _check_cpu_manager(cluster: Cluster) -> Finding:
    """Return whether kubelets give pods exclusive CPUs, if the kubelets can be asked (nodes/proxy)."""
    name, cure = "CPU manager", "set cpuManagerPolicy: static on the kubelets of the nodes to measure"
    try:
        nodes = [one.metadata.name for one in cluster.read_all(NODES, SeenNode)]
        policies = [
            decode_json(content, type=_Configz).kubeletconfig.cpu_manager_policy
            for node in nodes[:3]
            if (content := cluster.get(NODES, f"{node}/proxy/configz")) is not None
        ]
    except BackendError as error:
        return Finding(name=name, is_met=None, found=str(error), cure=cure)
    found = ", ".join(sorted(set(policies))) or "not known"
    return Finding(name=name, is_met=True if set(policies) == {"static"} else None, found=found, cure=cure)
