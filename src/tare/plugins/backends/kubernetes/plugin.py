"""Register Kubernetes as a backend (see core.backend_plugin)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from tare.core.backend_plugin import (
    BatchBackend,
    CheckContext,
    Leftover,
    OptionsReader,
    Owner,
    PlannedTask,
    Session,
    Surroundings,
)
from tare.core.checks import Finding
from tare.core.errors import UsageError
from tare.core.scheduler import Scheduler
from tare.plugins.backends.kubernetes.file_types import KubernetesFile
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.plugins.backends.kubernetes.options import options_of as own_options

if TYPE_CHECKING:
    from tare.plugins.backends.kubernetes.cluster import Cluster
    from tare.plugins.backends.kubernetes.leftovers import Leftover as _InCluster

_KEPT = (
    "results are not home from {}: 'tare run' of the campaign fetches what still waits there; else copy what "
    "you need (kubectl logs, kubectl cp), and delete it with kubectl"
)


class KubernetesBackend(BatchBackend[KubernetesFile]):
    """Runs attempts as jobs of a cluster; its pods take the place of nodes."""

    name = "kubernetes"
    title = "Kubernetes"
    summary = "pods of a cluster: jobs of its MPI Operator, or of one pod"
    file_type = KubernetesFile
    runtime = "pod"
    runtime_fault = "a pod is a container already; remove it, or mend the image"
    packet_cure = (
        "let pods run as root, 'kubernetes: {user: 0}', with 'capabilities: [NET_RAW]' where they lack it"
    )
    starts_ranks_in_doctor = False  # its jobs are checked by a dry run

    def read_options(self, written: KubernetesFile | None, reader: OptionsReader) -> KubernetesOptions:
        """Return the options, and report every fault (see BackendPlugin)."""
        from tare.plugins.backends.kubernetes.read_options import kubernetes_options

        if written is None:
            reader.fault_of_platform("pods are made of an image; add 'kubernetes: {image: …}'")
            return KubernetesOptions(image="")
        return kubernetes_options(written, reader)

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler, and delete its objects at the end (see BatchBackend)."""
        from tare.plugins.backends.kubernetes.cluster import Cluster
        from tare.plugins.backends.kubernetes.scheduler import KubernetesScheduler

        options = _one_cluster(session)
        scheduler = KubernetesScheduler(Cluster.connect(options), session.campaign, session.facts)
        try:
            yield scheduler
        finally:
            scheduler.close()

    def show(self, planned: PlannedTask) -> str:
        """Return the manifests as YAML, below the traps that lint found (see BatchBackend)."""
        from tare.plugins.backends.kubernetes.showing import show_manifests

        return show_manifests(planned)

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield findings about the cluster, and about the jobs that it would get (see BackendPlugin)."""
        from tare.plugins.backends.kubernetes.cluster import Cluster
        from tare.plugins.backends.kubernetes.doctor import check_cluster
        from tare.plugins.backends.kubernetes.showing import small_jobs

        options = own_options(context.platform)
        if options is None:
            return
        cluster = Cluster.connect(options)
        for one in check_cluster(cluster, options, context.site.networks, small_jobs(context)):
            yield msgspec.structs.replace(one, name=f"{context.name}: {one.name}")
        cluster.close()

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield the objects of campaigns in the clusters of the named site (see BackendPlugin).

        All objects of one campaign are deleted together, by its label.
        """
        platforms = surroundings.site.platforms.values() if surroundings.site else ()
        found = [options for platform in platforms if (options := own_options(platform)) is not None]
        for options in {(one.context, one.kubeconfig, one.namespace): one for one in found}.values():
            yield from _left_in(options)


def _left_in(options: KubernetesOptions) -> Iterator[Leftover]:
    from tare.plugins.backends.kubernetes.cluster import Cluster
    from tare.plugins.backends.kubernetes.leftovers import leftovers

    cluster = Cluster.connect(options)
    for one in leftovers(cluster):
        owners = tuple(Owner(*origin) for origin in one.origins) or (Owner("", ""),)
        what = f"{', '.join(one.objects)} of {one.origins[0].folder if one.origins else one.campaign}"
        kept = _KEPT.format(", ".join(one.kept)) if one.kept else ""
        yield Leftover("delete", what, owners, partial(_delete, cluster, one), kept)
    cluster.close()


def _delete(cluster: Cluster, one: _InCluster) -> bool:
    from tare.plugins.backends.kubernetes.leftovers import remove

    remove(cluster, one)
    return True


def _one_cluster(session: Session) -> KubernetesOptions:
    """Return the options that name the cluster of a session. Raises UsageError if they name several."""
    every = (own_options(platform) for platform in session.platforms.values())
    found = [options for options in every if options is not None]
    if len({(one.context, one.kubeconfig, one.namespace) for one in found}) > 1:
        raise UsageError(
            "platforms of one study name different clusters or namespaces; give them the same one"
        )
    return found[0]


BACKEND = KubernetesBackend()
