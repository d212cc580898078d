"""Build the cluster objects of a task. Pure, but for reading the task's input files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import msgspec

from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes import attachments, naming
from tare.plugins.backends.kubernetes.merging import Json as Json  # makers of manifests need no other import
from tare.plugins.backends.kubernetes.merging import merged
from tare.plugins.backends.kubernetes.objects import (
    AttachmentDefinition,
    ConfigMap,
    Job,
    JobSpec,
    Manifest,
    Meta,
    MpiJob,
    MpiJobSpec,
    Pod,
    PodTemplate,
    ReplicaSpec,
    ReplicaSpecs,
    RunPolicy,
    SchedulingPolicySpec,
)
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherCreation, options_of
from tare.plugins.backends.kubernetes.pods import PodMaker
from tare.plugins.backends.kubernetes.script import config_map, files_of

ADDRESS_LATER = "{address0}"
"""Stands for the server's address in manifests that are shown; it is known when the server is ready."""
_START_AND_END_S = 300  # added to a task's time-out: after that the cluster ends it, if Tare is gone
_IMPLEMENTATIONS = {"intelmpi": "Intel", "mpich": "MPICH"}


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of a task, in the order of creation; `shared` ones may exist from an earlier run.

    `maker` makes the client of a pair when the server is ready and its address is known.
    """

    shared: tuple[ConfigMap | AttachmentDefinition, ...]
    job: MpiJob | Job | Pod
    maker: PodMaker

    @property
    def is_pair(self) -> bool:
        """Return whether a client is created later."""
        return isinstance(self.job, Pod)

    def client(self, address: str) -> Pod:
        """Return the client pod of a pair, given the server's address."""
        return _pod(self.maker.task, self.maker.client(address), naming.CLIENT)


def render(task: Task, facts: str = "", inputs: Mapping[str, str] | None = None) -> Rendered:
    """Return the objects of `task`: an MPIJob, a Job where it takes one node, or two pods of a pair.

    `facts` is the shell script that collects the facts of a node (see script.config_map). `inputs` are the
    task's files by path, by default those of its folder. Raises UsageError where they are too large.
    """
    options = options_of(task.platform)
    if options is None:
        raise ValueError(f"{task.name}: its platform has no options of Kubernetes")
    if inputs is None:
        inputs = {} if options.work else files_of(task)
    config = config_map(task, options, facts, inputs)
    maker = PodMaker(task=task, options=options, config=config.metadata.name, inputs=inputs)
    network = attachments.definition(task.network, options.namespace) if task.network else None
    job: MpiJob | Job | Pod
    if task.steps[-1].is_pair:
        job = _pod(task, maker.server(), naming.SERVER)
    elif task.layout.nodes > 1:
        job = _mpi_job(task, options, maker)
    else:
        job = _job(task, options, maker)
    return Rendered(shared=(config, network) if network else (config,), job=job, maker=maker)


def manifests(rendered: Rendered) -> list[Manifest]:
    """Return all objects of a task for display, in the order of creation."""
    client = [rendered.client(ADDRESS_LATER)] if rendered.is_pair else []
    return [*rendered.shared, rendered.job, *client]


def to_json(manifest: Manifest, merge: str = "") -> Json:
    """Return a manifest as JSON for the API, with the site's patch `merge` applied (see merging)."""
    fields = msgspec.json.decode(msgspec.json.encode(manifest), type=dict[str, object])
    built = cast(Json, {"apiVersion": manifest.API_VERSION, "kind": manifest.KIND, **fields})
    return merged(built, merge)


def deadline_s(task: Task) -> int:
    """Return after how many seconds the cluster itself ends a task, in case Tare is gone."""
    return math.ceil(task.timeout_s) + _START_AND_END_S


def _end_s(task: Task, options: KubernetesOptions) -> int:
    """Return after how many seconds the cluster ends the job; it may wait for its results to be fetched."""
    return deadline_s(task) + (0 if options.work else math.ceil(options.timeouts.fetched_s))


def _meta(task: Task, suffix: str = "") -> Meta:
    options = options_of(task.platform)
    return Meta(
        name=naming.object_name(task) + suffix,
        namespace=options.namespace if options else "",
        labels=(options.labels if options else {}) | naming.queue(options) | naming.labels(task),
        annotations=naming.origin(task),
    )


def _mpi_job(task: Task, options: KubernetesOptions, maker: PodMaker) -> MpiJob:
    policy = RunPolicy(
        clean_pod_policy=options.clean_pods.value,
        backoff_limit=0,  # Tare decides whether a run is tried again, and records it
        active_deadline_seconds=_end_s(task, options),
        scheduling_policy=_scheduling(task, options),
    )
    replicas = ReplicaSpecs(
        launcher=ReplicaSpec(replicas=1, restart_policy="Never", template=_unruled(maker.launcher())),
        worker=ReplicaSpec(
            replicas=task.layout.nodes, restart_policy="Never", template=_unruled(maker.worker())
        ),
    )
    return MpiJob(
        metadata=_meta(task),
        spec=MpiJobSpec(
            slots_per_worker=task.layout.ranks_per_node,
            ssh_auth_mount_path=options.ssh_mount,
            launcher_creation_policy=options.launcher_creation.value,
            mpi_implementation=_IMPLEMENTATIONS.get(task.platform.launcher, "OpenMPI"),
            run_policy=policy,
            mpi_replica_specs=replicas,
        ),
    )


def _scheduling(task: Task, options: KubernetesOptions) -> SchedulingPolicySpec | None:
    """Return the settings for a gang scheduler; a launcher that waits for workers is not in their gang."""
    own = options.scheduling_policy
    if own is None:
        return None
    waits = options.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS
    return SchedulingPolicySpec(
        min_available=own.min_available or task.layout.nodes + (0 if waits else 1),
        queue=own.queue or "",
        min_resources=own.min_resources,
        priority_class=own.priority_class or "",
        schedule_timeout_seconds=own.schedule_timeout_s,
    )


def _unruled(template: PodTemplate) -> PodTemplate:
    """Return a template without a restart policy; the operator uses the replicas' and warns of one here."""
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(template.spec, restart_policy=""))


def _job(task: Task, options: KubernetesOptions, maker: PodMaker) -> Job:
    spec = JobSpec(backoff_limit=0, active_deadline_seconds=_end_s(task, options), template=maker.alone())
    return Job(metadata=_meta(task), spec=spec)


def _pod(task: Task, template: PodTemplate, role: str) -> Pod:
    meta = _meta(task, f"-{role}")
    meta = msgspec.structs.replace(
        meta,
        labels=naming.queue(options_of(task.platform)) | template.metadata.labels,
        annotations=meta.annotations | template.metadata.annotations,
    )
    return Pod(metadata=meta, spec=template.spec)
