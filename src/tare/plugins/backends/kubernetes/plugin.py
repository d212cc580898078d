"""Register Kubernetes as a backend (see core.backend_plugin)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tare.core.backend_plugin import (
    BatchBackend,
    CheckContext,
    Leftover,
    OptionsReader,
    PlannedTask,
    Session,
    Surroundings,
)
from tare.core.checks import Finding
from tare.core.errors import UsageError
from tare.core.scheduler import Scheduler
from tare.plugins.backends.kubernetes.options import KubernetesOptions, options_of


class KubernetesBackend(BatchBackend[KubernetesOptions]):
    """Runs attempts as jobs of a cluster; its pods take the place of nodes."""

    name = "kubernetes"
    title = "Kubernetes"
    summary = "pods of a cluster: jobs of its MPI Operator, or of one pod"
    file_type = KubernetesOptions
    runtime = "pod"
    runtime_fault = "a pod is a container already; remove it, or mend the image"
    packet_cure = (
        "let pods run as root, 'kubernetes: {user: 0}', with 'capabilities: [NET_RAW]' where they lack it"
    )
    starts_ranks_in_doctor = False  # its jobs are checked by a dry run

    def read_options(self, written: KubernetesOptions | None, reader: OptionsReader) -> KubernetesOptions:
        """Return the options, and report every fault (see BackendPlugin)."""
        from tare.plugins.backends.kubernetes.read_options import read_options

        if written is None:
            reader.fault_of_platform("pods are made of an image; add 'kubernetes: {image: …}'")
            return KubernetesOptions(image="")
        return read_options(written, reader)

    @contextmanager
    def open(self, session: Session) -> Iterator[Scheduler]:
        """Yield the scheduler, and delete its objects at the end (see BatchBackend)."""
        from tare.plugins.backends.kubernetes.api.cluster import Cluster
        from tare.plugins.backends.kubernetes.objects.ownership import CreatedBy
        from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

        options = _one_cluster(session)
        own = CreatedBy(session.campaign, session.label, session.files, str(session.folder))
        scheduler = KubernetesScheduler(Cluster.connect(options), session.campaign, session.facts, own=own)
        try:
            yield scheduler
        finally:
            scheduler.close()

    def show(self, planned: PlannedTask) -> str:
        """Return the manifests as YAML, below the traps that lint found (see BatchBackend)."""
        from tare.plugins.backends.kubernetes.manifests.showing import show_manifests

        return show_manifests(planned)

    def traps(self, planned: PlannedTask) -> Iterator[str]:
        """Yield the traps that lint finds in the manifests (see BatchBackend)."""
        from tare.plugins.backends.kubernetes.manifests.showing import task_manifests, traps_of

        yield from map(str, traps_of(planned, task_manifests(planned)))

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield findings about the cluster, and about the jobs that it would get (see BackendPlugin)."""
        from tare.plugins.backends.kubernetes.api.cluster import Cluster
        from tare.plugins.backends.kubernetes.checks.doctor import check_cluster
        from tare.plugins.backends.kubernetes.manifests.showing import small_jobs

        options = options_of(context.platform)
        cluster = Cluster.connect(options)
        has_mpi, jobs = context.platform.launcher != "none", small_jobs(context)
        for one in check_cluster(cluster, options, context.site.networks, jobs, has_mpi=has_mpi):
            yield msgspec.structs.replace(one, name=f"{context.name}: {one.name}")
        cluster.close()

    def leftovers(self, surroundings: Surroundings) -> Iterator[Leftover]:
        """Yield the objects of campaigns in the clusters of the named site (see BackendPlugin)."""
        from tare.plugins.backends.kubernetes.api.cluster import Cluster
        from tare.plugins.backends.kubernetes.scheduling.leftovers import leftovers

        platforms = surroundings.site.platforms.values() if surroundings.site else ()
        every = [one.options for one in platforms if isinstance(one.options, KubernetesOptions)]
        for options in {one.namespace_of_cluster: one for one in every}.values():
            cluster = Cluster.connect(options)
            yield from leftovers(cluster)
            cluster.close()


def _one_cluster(session: Session) -> KubernetesOptions:
    """Return the options that name the cluster of a session. Raises UsageError if they name several."""
    found = [options_of(platform) for platform in session.platforms.values()]
    if len({one.namespace_of_cluster for one in found}) > 1:
        raise UsageError(
            "platforms of one study name different clusters or namespaces; give them the same one"
        )
    return found[0]


BACKEND = KubernetesBackend()
