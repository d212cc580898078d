"""Build the cluster objects of a task. Pure, but for reading the task's input files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.manifests import attachments
from tare.plugins.backends.kubernetes.manifests.pods import PodMaker
from tare.plugins.backends.kubernetes.manifests.script import Inputs, config_map, files_of
from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.merging import (
    Json as Json,  # makers of manifests need no other import
)
from tare.plugins.backends.kubernetes.objects.merging import merged
from tare.plugins.backends.kubernetes.objects.mpi_job import (
    MpiJob,
    MpiJobSpec,
    ReplicaSpec,
    ReplicaSpecs,
    RunPolicy,
    SchedulingPolicySpec,
)
from tare.plugins.backends.kubernetes.options import LauncherCreation, options_of

ADDRESS_LATER = "{address0}"
"""Stands for the server's address in manifests that are shown; it is known when the server is ready."""
_START_AND_END_S = 300  # added to a task's time-out: after that the cluster ends it, if Tare is gone
_IMPLEMENTATIONS = {"intelmpi": "Intel", "mpich": "MPICH"}


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of a task, in the order of creation; `shared` ones may exist from an earlier run.

    `maker` makes the client of a pair when the server is ready and its address is known.
    """

    shared: tuple[k8s.ConfigMap | k8s.AttachmentDefinition, ...]
    job: MpiJob | k8s.Job | k8s.Pod
    maker: PodMaker

    @property
    def is_pair(self) -> bool:
        """Return whether a client is created later."""
        return isinstance(self.job, k8s.Pod)

    def client(self, address: str) -> k8s.Pod:
        """Return the client pod of a pair, given the server's address."""
        return _pod(self.maker, self.maker.client(address), naming.CLIENT)

    def to_json(self, manifest: k8s.Manifest) -> Json:
        """Return a manifest of the task as JSON for the API, with the site's patch applied (see merging)."""
        return merged(manifest.as_json(), self.maker.options.merge)

    @property
    def documents(self) -> list[Json]:
        """Return all objects of the task as JSON, in the order of creation."""
        client = [self.client(ADDRESS_LATER)] if self.is_pair else []
        return [self.to_json(one) for one in (*self.shared, self.job, *client)]


def render(task: Task, facts: str = "", inputs: Inputs | None = None) -> Rendered:
    """Return the objects of `task`: an MPIJob, a k8s.Job where it takes one node, or two pods of a pair.

    `facts` is the shell script that collects the facts of a node (see script.config_map). `inputs` are the
    task's files by path, by default those of its folder. Raises UsageError where they are too large.
    """
    options = options_of(task.platform)
    if inputs is None:
        inputs = {} if options.work else files_of(task)
    config = config_map(task, options, facts, inputs)
    maker = PodMaker(task=task, options=options, config=config.metadata.name, inputs=inputs)
    network = attachments.definition(task.network, options.namespace) if task.network else None
    job: MpiJob | k8s.Job | k8s.Pod
    if task.steps[-1].is_pair:
        job = _pod(maker, maker.server(), naming.SERVER)
    elif task.layout.nodes > 1:
        job = _mpi_job(maker)
    else:
        job = _job(maker)
    return Rendered(shared=(config, network) if network else (config,), job=job, maker=maker)


class Role(NamedTuple):
    """The pods of one role in a job: its name, their number, and the manifest of one of them."""

    name: str
    n_pods: int
    pod: Json

    @property
    def spec(self) -> Json:
        """Return the specification of its pods."""
        return _get(self.pod, "spec")


def roles_of(documents: Iterable[Json]) -> list[Role]:
    """Return the pods of one job's objects, in the form in which controllers would create them."""
    found: list[Role] = []
    for document in documents:
        kind, spec, meta = _get(document, "kind"), _get(document, "spec"), _get(document, "metadata")
        if kind == "MPIJob":
            for key, role in (("Launcher", naming.LAUNCHER), ("Worker", naming.WORKER)):
                part = _get(_get(spec, "mpiReplicaSpecs"), key)
                replicas = _get(part, "replicas")
                count = replicas if isinstance(replicas, int) else 1
                found.append(Role(role, count, _created(_get(part, "template"), meta, role)))
        elif kind == "Job":
            found.append(Role("pod", 1, _created(_get(spec, "template"), meta, "pod")))
        elif kind == "Pod":
            role = str(_get(_get(meta, "labels"), naming.ROLE) or "pod")
            found.append(Role(role, 1, document))
    return found


def _created(template: Json, owner: Json, role: str) -> Json:
    """Return a pod of `template` as its controller would create it, with its owner's namespace and name."""
    meta, spec = _get(template, "metadata"), _get(template, "spec")
    own: dict[str, Json] = {"name": f"{_get(owner, 'name')}-{role}-0", "namespace": _get(owner, "namespace")}
    never: dict[str, Json] = {"restartPolicy": "Never"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": (meta if isinstance(meta, dict) else {}) | own,
        "spec": never | (spec if isinstance(spec, dict) else {}),
    }


def _get(document: Json, key: str) -> Json:
    return document.get(key) if isinstance(document, dict) else None


def deadline_s(task: Task) -> int:
    """Return after how many seconds the cluster itself ends a task, in case Tare is gone."""
    return math.ceil(task.timeout_s) + _START_AND_END_S


def _end_s(maker: PodMaker) -> int:
    """Return after how many seconds the cluster ends the job; it may wait for its results to be fetched."""
    options = maker.options
    return deadline_s(maker.task) + (0 if options.work else math.ceil(options.timeouts.fetched_s))


def _meta(maker: PodMaker, suffix: str = "") -> k8s.Meta:
    task, options = maker.task, maker.options
    return k8s.Meta(
        name=naming.object_name(task) + suffix,
        namespace=options.namespace,
        labels=options.labels | naming.queue(options) | naming.labels(task),
        annotations=naming.origin(task),
    )


def _mpi_job(maker: PodMaker) -> MpiJob:
    task, options = maker.task, maker.options
    policy = RunPolicy(
        clean_pod_policy=options.clean_pods.value,
        backoff_limit=0,  # Tare decides whether a run is tried again, and records it
        active_deadline_seconds=_end_s(maker),
        scheduling_policy=_scheduling(maker),
    )
    replicas = ReplicaSpecs(
        launcher=_replicas(1, maker.launcher()), worker=_replicas(task.layout.nodes, maker.worker())
    )
    return MpiJob(
        metadata=_meta(maker),
        spec=MpiJobSpec(
            slots_per_worker=task.layout.ranks_per_node,
            ssh_auth_mount_path=options.ssh_mount,
            launcher_creation_policy=options.launcher_creation.value,
            mpi_implementation=_IMPLEMENTATIONS.get(task.platform.launcher, "OpenMPI"),
            run_policy=policy,
            mpi_replica_specs=replicas,
        ),
    )


def _scheduling(maker: PodMaker) -> SchedulingPolicySpec | None:
    """Return the settings for a gang scheduler; a launcher that waits for workers is not in their gang."""
    own = maker.options.scheduling_policy
    if own is None:
        return None
    waits = maker.options.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS
    timeout_s = own.schedule_timeout_s
    return SchedulingPolicySpec(
        min_available=own.min_available or maker.task.layout.nodes + (0 if waits else 1),
        queue=own.queue or "",
        min_resources=own.min_resources,
        priority_class=own.priority_class or "",
        schedule_timeout_seconds=None if timeout_s is None else round(timeout_s),
    )


def _replicas(count: int, template: k8s.PodTemplate) -> ReplicaSpec:
    """Return pods of a template; the operator warns of a restart policy in the template itself."""
    spec = msgspec.structs.replace(template.spec, restart_policy="")
    template = msgspec.structs.replace(template, spec=spec)
    return ReplicaSpec(replicas=count, restart_policy="Never", template=template)


def _job(maker: PodMaker) -> k8s.Job:
    spec = k8s.JobSpec(backoff_limit=0, active_deadline_seconds=_end_s(maker), template=maker.single())
    return k8s.Job(metadata=_meta(maker), spec=spec)


def _pod(maker: PodMaker, template: k8s.PodTemplate, role: str) -> k8s.Pod:
    meta = _meta(maker, f"-{role}")
    meta = msgspec.structs.replace(
        meta,
        labels=naming.queue(maker.options) | template.metadata.labels,
        annotations=meta.annotations | template.metadata.annotations,
    )
    return k8s.Pod(metadata=meta, spec=template.spec)
