"""The MPIJob of the MPI Operator, as types (kubeflow.org/v2beta1)."""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes.objects.created import ApiObject, Manifest, PodTemplate


class SchedulingPolicySpec(ApiObject, frozen=True, kw_only=True):
    """The settings of an MPIJob for a gang scheduler."""

    min_available: int | None = None
    queue: str = ""
    min_resources: dict[str, str] = msgspec.field(default_factory=dict)
    priority_class: str = ""
    schedule_timeout_seconds: int | None = None


class RunPolicy(ApiObject, frozen=True, kw_only=True):
    """The time limit and number of tries of an MPIJob, and what is deleted after it."""

    clean_pod_policy: str = ""
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    scheduling_policy: SchedulingPolicySpec | None = None


class ReplicaSpec(ApiObject, frozen=True, kw_only=True):
    """The launcher or the workers of an MPIJob."""

    replicas: int | None = None
    restart_policy: str = ""
    template: PodTemplate


class ReplicaSpecs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The launcher and the workers, under the operator's names."""

    launcher: ReplicaSpec | None = msgspec.field(name="Launcher", default=None)
    worker: ReplicaSpec | None = msgspec.field(name="Worker", default=None)


class MpiJobSpec(ApiObject, frozen=True, kw_only=True):
    """What an MPIJob runs."""

    slots_per_worker: int | None = None
    ssh_auth_mount_path: str = ""
    launcher_creation_policy: str = ""
    mpi_implementation: str = ""
    run_policy: RunPolicy = RunPolicy()
    mpi_replica_specs: ReplicaSpecs


class MpiJob(Manifest, frozen=True, kw_only=True):
    """A launcher and workers, which the MPI Operator starts (kubeflow.org/v2beta1)."""

    API_VERSION = "kubeflow.org/v2beta1"
    KIND = "MPIJob"
    spec: MpiJobSpec
