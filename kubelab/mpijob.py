"""The types of an MPIJob with the operator's defaults, and its validation (kubeflow.org/v2beta1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

Doc = dict[str, Any]
"""A document of the API that is passed on unchanged, such as the template of a pod."""

API_VERSION = "kubeflow.org/v2beta1"
OPERATOR = "training.kubeflow.org/operator-name"
JOB_NAME = "training.kubeflow.org/job-name"
JOB_ROLE = "training.kubeflow.org/job-role"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
ROOT_SSH = "/root/.ssh"
CONTROLLER = "kubeflow.org/mpi-operator"

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")  # RFC 1035, as a Service's name must be
_IMPLEMENTATIONS = ("OpenMPI", "Intel", "MPICH")
_CLEAN = ("None", "Running", "All")


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of an MPIJob; fields that the double does not use are ignored."""


class Owner(_Part, frozen=True, kw_only=True):
    """The owner of an object."""

    kind: str
    name: str


class Meta(_Part, frozen=True, kw_only=True):
    """Metadata of an object."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None
    owner_references: list[Owner] = []

    @property
    def key(self) -> tuple[str, str]:
        """Return its namespace and name, which identify it among objects of its kind."""
        return self.namespace, self.name

    @property
    def job(self) -> tuple[str, str]:
        """Return the key of the MPIJob that owns it; the name is empty if none does."""
        owners = (one.name for one in self.owner_references if one.kind == "MPIJob")
        return self.namespace, self.labels.get(JOB_NAME) or next(owners, "")


class RunPolicy(_Part, frozen=True, kw_only=True):
    """The time limit and number of tries, and what is deleted afterwards."""

    clean_pod_policy: str = "None"
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    managed_by: str = CONTROLLER


class Replicas(_Part, frozen=True, kw_only=True):
    """The launcher or the workers."""

    replicas: int | None = None
    restart_policy: str = ""
    template: Doc = {}


class ReplicaSpecs(msgspec.Struct, frozen=True, kw_only=True):
    """The launcher and the workers, under the API's names."""

    launcher: Replicas | None = msgspec.field(name="Launcher", default=None)
    worker: Replicas | None = msgspec.field(name="Worker", default=None)


class Spec(_Part, frozen=True, kw_only=True):
    """The specification, with the operator's defaults, which it does not write into objects."""

    slots_per_worker: int = 1
    run_launcher_as_worker: bool = False
    ssh_auth_mount_path: str = ROOT_SSH
    mpi_implementation: str = "OpenMPI"
    launcher_creation_policy: str = "AtStartup"
    run_policy: RunPolicy = RunPolicy()
    mpi_replica_specs: ReplicaSpecs = ReplicaSpecs()


class Condition(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """A condition of a job: whether it is true, and why."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None


class Status(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """The status of a job."""

    conditions: list[Condition] = []
    replica_statuses: dict[str, dict[str, int]] = {}
    start_time: str | None = None
    completion_time: str | None = None

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type, true or false; None if there is none."""
        return next((one for one in self.conditions if one.type == kind), None)

    def has(self, kind: str) -> bool:
        """Return whether the condition of that type is true."""
        return any(one.type == kind and one.status == "True" for one in self.conditions)

    @property
    def is_finished(self) -> bool:
        """Return whether it succeeded or failed."""
        return self.has("Succeeded") or self.has("Failed")


class MpiJob(_Part, frozen=True, kw_only=True):
    """An MPIJob."""

    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def n_workers(self) -> int:
        """Return the number of workers."""
        worker = self.spec.mpi_replica_specs.worker
        return (worker.replicas or 0) if worker else 0

    @property
    def is_suspended(self) -> bool:
        """Return whether it is suspended."""
        return self.spec.run_policy.suspend

    def worker_name(self, number: int) -> str:
        """Return the name of a worker's pod."""
        return f"{self.metadata.name}-worker-{number}"


def faults(job: MpiJob) -> Iterator[str]:
    """Yield the operator's reasons to refuse a job that the API server accepted."""
    spec = job.spec
    name = job.worker_name(max(job.n_workers - 1, 0))
    if not _DNS_LABEL.fullmatch(name):
        yield f'metadata.name: Invalid value: "{job.metadata.name}": will not able to create pod and service'
    if spec.slots_per_worker < 0:
        yield "spec.slotsPerWorker: Invalid value: must be greater than or equal to 0"
    if spec.run_policy.clean_pod_policy not in _CLEAN:
        yield f'spec.runPolicy.cleanPodPolicy: Unsupported value: "{spec.run_policy.clean_pod_policy}"'
    if spec.mpi_implementation not in _IMPLEMENTATIONS:
        yield f'spec.mpiImplementation: Unsupported value: "{spec.mpi_implementation}"'
    replicas = spec.mpi_replica_specs
    if replicas.launcher is None:
        yield "spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher replica spec"
    else:
        yield from _faults_of("Launcher", replicas.launcher)
        count = replicas.launcher.replicas
        if count not in {None, 1}:
            yield f"spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: {count}: must be 1"
    if replicas.worker is not None:
        yield from _faults_of("Worker", replicas.worker)
        if job.n_workers < 1:
            where = "spec.mpiReplicaSpecs[Worker].replicas"
            yield f"{where}: Invalid value: {job.n_workers}: must be greater than or equal to 1"


def _faults_of(role: str, replicas: Replicas) -> Iterator[str]:
    where = f"spec.mpiReplicaSpecs[{role}]"
    if replicas.restart_policy not in {"", "Never", "OnFailure"}:
        yield f'{where}.restartPolicy: Unsupported value: "{replicas.restart_policy}"'
    if not replicas.template.get("spec", {}).get("containers"):
        yield f"{where}.template.spec.containers: Required value: must define at least one container"
