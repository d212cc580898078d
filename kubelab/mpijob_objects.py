"""Build the objects that the MPI Operator creates for an MPIJob, as v0.8.2 does. Pure.

It follows the API's description and the observed behaviour of the operator; it is a double for tests, and not
a port of it.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from typing import NamedTuple

from kubelab.mpijob import (
    API_VERSION,
    JOB_NAME,
    JOB_ROLE,
    OPERATOR,
    REPLICA_INDEX,
    ROOT_SSH,
    Doc,
    MpiJob,
    Replicas,
)

_CONFIG, _CONFIG_PATH, _SSH = "mpi-job-config", "/etc/mpi", "ssh-auth"
_ENVIRONMENT = {
    "OpenMPI": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": f"{_CONFIG_PATH}/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    },
    "Intel": {
        "I_MPI_HYDRA_HOST_FILE": f"{_CONFIG_PATH}/hostfile",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
    },
    "MPICH": {
        "HYDRA_HOST_FILE": f"{_CONFIG_PATH}/hostfile",
        "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10",
    },
}
_SLOTS = {"OpenMPI": "OMPI_MCA_orte_set_default_slots", "Intel": "I_MPI_PERHOST"}


class KeyPair(NamedTuple):
    """A pair of ssh keys."""

    private: bytes
    public: bytes


def labels(job: MpiJob, role: str = "") -> dict[str, str]:
    """Return the labels of the objects of `job`; with a `role`, those of its pods."""
    found = {OPERATOR: "mpi-operator", JOB_NAME: job.metadata.name}
    return found | ({JOB_ROLE: role} if role else {})


def service(job: MpiJob) -> Doc:
    """Return the headless Service through which the cluster's DNS finds the pods."""
    spec: Doc = {"clusterIP": "None", "selector": labels(job)}
    if job.spec.run_launcher_as_worker:
        spec["publishNotReadyAddresses"] = True
    return _owned(job, "v1", "Service", job.metadata.name) | {"spec": spec}


def config_map(job: MpiJob, running: Sequence[str]) -> Doc:
    """Return the hostfile, and a script that lists the `running` workers."""
    workers = [job.worker_name(number) for number in range(job.n_workers)]
    slots = job.spec.slots_per_worker
    after = f" slots={slots}\n" if job.spec.mpi_implementation == "OpenMPI" else f":{slots}\n"
    launcher = [f"{job.metadata.name}-launcher"] if job.spec.run_launcher_as_worker else []
    found = "".join(f"echo {_host(job, name)}\n" for name in [*launcher, *sorted(running)])
    data = {
        "hostfile": "".join(f"{_host(job, name)}{after}" for name in [*launcher, *workers]),
        "discover_hosts.sh": f"#!/bin/sh\n{found}",
    }
    return _owned(job, "v1", "ConfigMap", f"{job.metadata.name}-config") | {"data": data}


def secret(job: MpiJob, keys: KeyPair) -> Doc:
    """Return the ssh keys with which the pods of a job log in to each other."""
    data = {
        "ssh-privatekey": base64.b64encode(keys.private).decode(),
        "ssh-publickey": base64.b64encode(keys.public).decode(),
    }
    made = _owned(job, "v1", "Secret", f"{job.metadata.name}-ssh")
    return made | {"type": "kubernetes.io/ssh-auth", "data": data}


def worker(job: MpiJob, number: int) -> Doc:
    """Return a worker; without a command of its own, it runs sshd."""
    replicas = job.spec.mpi_replica_specs.worker or Replicas()
    name = job.worker_name(number)
    index = number + 1 if job.spec.run_launcher_as_worker else number
    template = _template(job, replicas, name, "worker", "Never")
    template["metadata"]["labels"][REPLICA_INDEX] = str(index)
    config = template["spec"].setdefault("dnsConfig", {})
    name_of_service = f"{job.metadata.name}.{job.metadata.namespace}.svc.cluster.local"
    config["searches"] = [
        *config.get("searches", []),
        name_of_service,
    ]  # a launcher is known by its host name
    container = template["spec"]["containers"][0]
    if not container.get("command") and not container.get("args"):
        container |= {"command": ["/usr/sbin/sshd"], "args": ["-De"]}
    pod = _owned(job, "v1", "Pod", name)
    pod["metadata"] |= {name: template["metadata"].get(name, {}) for name in ("labels", "annotations")}
    return pod | {"spec": template["spec"]}


def launcher(job: MpiJob) -> Doc:
    """Return the Job that runs the launcher; the deadline and time to live apply to it, not to the MPIJob."""
    policy = job.spec.run_policy
    spec: Doc = {"template": _launcher_template(job), "podReplacementPolicy": "Failed"}
    asked = {
        "backoffLimit": policy.backoff_limit,
        "activeDeadlineSeconds": policy.active_deadline_seconds,
        "ttlSecondsAfterFinished": policy.ttl_seconds_after_finished,
    }
    spec |= {name: value for name, value in asked.items() if value is not None}
    if job.is_suspended:
        spec["suspend"] = True
    made = _owned(job, "batch/v1", "Job", f"{job.metadata.name}-launcher")
    spec["template"]["metadata"]["ownerReferences"] = made["metadata"]["ownerReferences"]
    return made | {"spec": spec}


def _launcher_template(job: MpiJob) -> Doc:
    replicas = job.spec.mpi_replica_specs.launcher or Replicas()
    template = _template(job, replicas, f"{job.metadata.name}-launcher", "launcher", "OnFailure")
    kind = job.spec.mpi_implementation
    env = dict(_ENVIRONMENT[kind])
    if kind in _SLOTS:
        env[_SLOTS[kind]] = str(job.spec.slots_per_worker)
    if job.spec.run_launcher_as_worker:
        template["metadata"]["labels"][REPLICA_INDEX] = "0"
    else:  # the launcher is given no GPU
        env |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
    spec = template["spec"]
    items = [
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]
    source = {"name": f"{job.metadata.name}-config", "items": items}
    spec["volumes"].append({"name": _CONFIG, "configMap": source})
    container = spec["containers"][0]
    container["env"] += [{"name": name, "value": value} for name, value in env.items()]
    container["volumeMounts"].append({"name": _CONFIG, "mountPath": _CONFIG_PATH})
    return template


def _template(job: MpiJob, replicas: Replicas, host: str, role: str, restart: str) -> Doc:
    """Return the common parts of a launcher and a worker: DNS names, labels, ssh keys."""
    template = copy.deepcopy(replicas.template)
    meta, spec = template.setdefault("metadata", {}), template["spec"]
    meta["labels"] = {**meta.get("labels", {}), **labels(job, role)}
    spec |= {"hostname": host, "subdomain": job.metadata.name}
    spec["restartPolicy"] = replicas.restart_policy or restart
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    container = spec["containers"][0]
    container["env"] = [*container.get("env", []), {"name": "K_MPI_JOB_ROLE", "value": role}]
    _add_keys(job, spec, container)
    return template


def _add_keys(job: MpiJob, spec: Doc, container: Doc) -> None:
    paths = {"id_rsa": "ssh-privatekey", "id_rsa.pub": "ssh-publickey", "authorized_keys": "ssh-publickey"}
    source: Doc = {
        "secretName": f"{job.metadata.name}-ssh",
        "items": [{"key": key, "path": path} for path, key in paths.items()],
    }
    if job.spec.ssh_auth_mount_path == ROOT_SSH:
        source["defaultMode"] = 0o600
    spec["volumes"] = [*spec.get("volumes", []), {"name": _SSH, "secret": source}]
    mount = {"name": _SSH, "mountPath": job.spec.ssh_auth_mount_path}
    container["volumeMounts"] = [*container.get("volumeMounts", []), mount]


def _host(job: MpiJob, name: str) -> str:
    return f"{name}.{job.metadata.name}.{job.metadata.namespace}.svc"


def _owned(job: MpiJob, version: str, kind: str, name: str) -> Doc:
    owner = {
        "apiVersion": API_VERSION,
        "kind": "MPIJob",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    meta = {
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": {"app": job.metadata.name},
        "ownerReferences": [owner],
    }
    return {"apiVersion": version, "kind": kind, "metadata": meta}
