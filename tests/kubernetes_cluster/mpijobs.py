"""MPIJobs of which nothing is Tare's, and what an operator makes and says of them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from kubelab.mpijob import JOB_NAME, JOB_ROLE
from support.waiting import until
from tare.plugins.backends.kubernetes.api.cluster import (
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    MPI_JOBS,
    PODS,
    Cluster,
    Resource,
)

Doc = dict[str, Any]
SERVICES, SECRETS = Resource("api/v1", "services", "Service"), Resource("api/v1", "secrets", "Secret")
_ENDS = {"tare/role": "client"}
"""The label by which kwok ends a pod that no Job made (kubelab/manifests/stages.yaml)."""
_OF_THE_DAY = {
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "status", "nodeName",
    "clusterIP", "clusterIPs", "finalizers",
    "controller-uid", "batch.kubernetes.io/controller-uid",
}  # fmt: skip
"""What the API server adds, and differs from one day to the next."""


def mpijob(
    name: str,
    *,
    workers: int = 2,
    launcher: Doc | None = None,
    worker: Doc | None = None,
    steering: Doc | None = None,
    **spec: object,
) -> Doc:
    """Return a job; `launcher` and `worker` are merged into the templates' specs.

    `steering` are annotations for kwok, of the launcher; with ``worker `` before their name, of the
    workers, which then end like it.
    """
    reported: dict[str, dict[str, str]] = {"Launcher": {}, "Worker": {}}
    for key, value in (steering or {}).items():
        is_worker = key.startswith("worker ")
        reported["Worker" if is_worker else "Launcher"][f"kubelab/{key.removeprefix('worker ')}"] = value

    def template(role: str, more: Doc | None) -> Doc:
        meta: Doc = {"annotations": reported[role]} if reported[role] else {}
        if role == "Worker" and reported[role]:
            meta["labels"] = _ENDS
        container = {"name": "c", "image": "i", "command": ["x"]}
        return {"metadata": meta, "spec": {"containers": [container], **(more or {})}}

    replicas: Doc = {"Launcher": {"replicas": 1, "template": template("Launcher", launcher)}}
    if workers:
        replicas["Worker"] = {"replicas": workers, "template": template("Worker", worker)}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {"slotsPerWorker": 2, "mpiReplicaSpecs": replicas, **spec},
    }


class Operated(NamedTuple):
    """A namespace in which an operator does its work, seen as the administrator."""

    cluster: Cluster

    def create(self, name: str, **more: Any) -> None:
        """Create a job, as `mpijob` describes it."""
        assert self.cluster.create(mpijob(name, **more))

    def get(self, resource: Resource, name: str) -> Doc:
        """Return an object; empty where there is none."""
        found = self.cluster.get(resource, name)
        return {} if found is None else json.loads(found)

    def every(self, resource: Resource) -> list[Doc]:
        """Return all objects of a kind."""
        return [json.loads(bytes(one)) for one in self.cluster.list_all(resource)[0]]

    def workers(self, name: str) -> list[Doc]:
        """Return the workers of a job."""
        every = (pod for pod in self.every(PODS) if pod["metadata"]["labels"].get(JOB_NAME) == name)
        return [pod for pod in every if pod["metadata"]["labels"].get(JOB_ROLE) == "worker"]

    def status(self, name: str) -> Doc:
        """Return the status of a job."""
        found: Doc = self.get(MPI_JOBS, name).get("status", {})
        return found

    def condition(self, name: str, kind: str) -> tuple[str, str, str]:
        """Return status, reason and message of a condition; empty where there is none."""
        every = self.status(name).get("conditions", [])
        found = [(one["status"], one["reason"], one["message"]) for one in every if one["type"] == kind]
        return found[0] if found else ("", "", "")

    def events(self, name: str) -> dict[str, Doc]:
        """Return the last event of each reason that the operator gave for a job."""
        about = [one for one in self.every(EVENTS) if one["involvedObject"].get("name") == name]
        message = (one for one in about if one.get("source", {}).get("component") == "mpi-job-controller")
        return {one["reason"]: one for one in message}

    def suspend(self, name: str, *, is_suspended: bool) -> None:
        """Suspend or resume a job."""
        self.cluster.patch(MPI_JOBS, name, {"spec": {"runPolicy": {"suspend": is_suspended}}})

    def made(self, name: str) -> Doc:
        """Return what the operator made for a job, without what differs from day to day."""
        until(lambda: self.get(JOBS, f"{name}-launcher"))
        until(lambda: all(one["status"]["phase"] == "Running" for one in self.workers(name)))
        hosts = f"{name}-config"
        until(lambda: "worker-1" in self.get(CONFIG_MAPS, hosts)["data"]["discover_hosts.sh"])
        secret = self.get(SECRETS, f"{name}-ssh")
        secret["data"] = sorted(secret["data"])
        found = {
            "Service": self.get(SERVICES, name),
            "ConfigMap": self.get(CONFIG_MAPS, hosts),
            "Secret": secret,
            "Worker": self.workers(name)[1],
            "Launcher": self.get(JOBS, f"{name}-launcher"),
        }
        text = json.dumps(found).replace(self.cluster.namespace, "NAMESPACE")
        return {kind: _lasting(one) for kind, one in json.loads(text).items()}


def _lasting(one: Any) -> Any:
    """Return a document without what is of the day, and without the token that each pod is given."""
    if isinstance(one, list):
        return [_lasting(each) for each in one if not _is_token(each)]
    if isinstance(one, dict):
        return {name: _lasting(each) for name, each in sorted(one.items()) if name not in _OF_THE_DAY}
    return one


def _is_token(one: Any) -> bool:
    return isinstance(one, dict) and str(one.get("name", "")).startswith("kube-api-access-")
