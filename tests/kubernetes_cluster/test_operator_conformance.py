"""What the MPI Operator v0.8.2 makes of MPIJobs and says of them: the double is held to it, and it to itself.

With TARE_KUBELAB_OPERATOR and TARE_KUBELAB_OPERATOR_CRD these run against a real one. What it made, with
UPDATE_GOLDENS=1, is in goldens/: the double has to make the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubernetes_cluster.conftest import Lab
from kubernetes_cluster.mpijobs import SECRETS, Doc, Operated
from support.waiting import until
from tare.plugins.backends.kubernetes.api.cluster import JOBS, MPI_JOBS, PODS, Cluster
from tare.plugins.backends.kubernetes.options import KubernetesOptions

GOLDENS = Path(__file__).with_name("goldens")
_RUNS = {"runs-for": "600s"}
KINDS: dict[str, dict[str, Any]] = {
    "openmpi": {},
    "intel": {"mpiImplementation": "Intel"},
    "mpich": {"mpiImplementation": "MPICH", "sshAuthMountPath": "/home/mpiuser/.ssh"},
    "launcher-as-worker": {"runLauncherAsWorker": True, "worker": {"hostNetwork": True}},
    "policies": {
        "runPolicy": {"backoffLimit": 2, "activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 900},
        "launcher": {"restartPolicy": "Never", "dnsConfig": {"searches": ["own.example"]}},
        "worker": {"restartPolicy": "Never", "dnsConfig": {"searches": ["own.example"]}},
    },
}


@pytest.fixture
def operated(lab: Lab, namespace: str) -> Iterator[Operated]:
    options = KubernetesOptions(image="", kubeconfig=str(lab.control_plane.kubeconfig), namespace=namespace)
    cluster = Cluster.connect(options)
    yield Operated(cluster)
    cluster.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_makes_is_the_golden(operated: Operated, kind: str) -> None:
    operated.create(kind, steering=_RUNS, **KINDS[kind])
    made = operated.made(kind)
    golden = GOLDENS / f"{kind}.yaml"
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(yaml.safe_dump(made, sort_keys=False))
    assert made == yaml.safe_load(golden.read_text())


def test_each_job_has_a_key_of_its_own(operated: Operated) -> None:
    for name in ("a", "b"):
        operated.create(name, steering=_RUNS)
    until(lambda: operated.get(SECRETS, "a-ssh") and operated.get(SECRETS, "b-ssh"))
    first, second = (operated.get(SECRETS, f"{name}-ssh")["data"] for name in ("a", "b"))
    assert first["ssh-privatekey"] != second["ssh-privatekey"]
    assert first["ssh-publickey"] != second["ssh-publickey"]


def test_a_restart_policy_in_the_launcher_s_template_is_warned_of(operated: Operated) -> None:
    operated.create("a", launcher={"restartPolicy": "Never"})
    until(lambda: "SetPodTemplateRestartPolicy" in operated.events("a"))
    event = operated.events("a")["SetPodTemplateRestartPolicy"]
    assert event["type"] == "Warning"
    assert event["message"] == ("Restart policy in pod template overridden by restart policy in replica spec")


def test_a_job_that_ends_well_no_longer_runs_and_counts_its_launcher(operated: Operated) -> None:
    operated.create("a", steering={"runs-for": "4s"})
    until(lambda: operated.status("a").get("replicaStatuses", {}).get("Launcher") == {"active": 1})
    until(lambda: operated.status("a")["replicaStatuses"]["Worker"] == {"active": 2})
    until(lambda: operated.condition("a", "Running")[0] == "True")
    until(lambda: operated.condition("a", "Succeeded")[0] == "True")
    namespace = operated.cluster.namespace
    assert operated.condition("a", "Running")[:2] == ("False", "MPIJobRunning")
    assert operated.condition("a", "Succeeded")[1:] == (
        "MPIJobSucceeded",
        f"MPIJob {namespace}/a successfully completed.",
    )
    assert operated.status("a")["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    assert operated.status("a")["completionTime"]
    assert {"MPIJobCreated", "MPIJobRunning", "MPIJobSucceeded"} <= operated.events("a").keys()
    assert len(operated.workers("a")) == 2, "cleanPodPolicy is None"


def test_a_job_that_nobody_saw_run_is_shown_as_run_at_its_end(operated: Operated) -> None:
    """One of its workers never starts, its launcher does."""
    operated.create("a", steering={"runs-for": "2s", "worker waits": "ErrImagePull"})
    until(lambda: operated.condition("a", "Running")[0])
    status, reason, message = operated.condition("a", "Running")
    assert (status, reason) == ("False", "MPIJobRunning")
    assert message.endswith("is finished but Running condition was never set.")


def test_a_launcher_that_fails_is_counted_and_named(operated: Operated) -> None:
    policy = {"backoffLimit": 0, "cleanPodPolicy": "Running"}
    operated.create("a", steering={"exit-code": "3"}, launcher={"restartPolicy": "Never"}, runPolicy=policy)
    until(lambda: operated.condition("a", "Failed")[0] == "True")
    assert operated.condition("a", "Failed")[1] == "BackoffLimitExceeded/"
    assert operated.status("a")["replicaStatuses"]["Launcher"] == {"failed": 1}
    assert operated.events("a")["BackoffLimitExceeded/"]["type"] == "Warning"
    until(lambda: operated.workers("a") == [])


@pytest.mark.parametrize(("code", "count"), [("0", "succeeded"), ("1", "failed")])
def test_workers_that_end_are_counted(operated: Operated, code: str, count: str) -> None:
    operated.create("a", steering={**_RUNS, "worker exit-code": code, "worker runs-for": "1s"})
    until(lambda: operated.status("a").get("replicaStatuses", {}).get("Worker") == {count: 2})


def test_a_job_that_is_suspended_and_resumed_begins_anew(operated: Operated) -> None:
    operated.create("a", steering=_RUNS, runPolicy={"suspend": True})
    until(lambda: operated.condition("a", "Suspended")[0] == "True")
    assert operated.condition("a", "Suspended")[1:] == ("MPIJobSuspended", "MPIJob suspended")
    assert operated.condition("a", "Running")[:2] == ("False", "MPIJobSuspended")
    assert "startTime" not in operated.status("a")
    assert operated.workers("a") == []
    until(lambda: operated.get(JOBS, "a-launcher"))
    assert operated.get(JOBS, "a-launcher")["spec"]["suspend"] is True

    operated.suspend("a", is_suspended=False)
    until(lambda: operated.condition("a", "Running")[0] == "True")
    assert operated.condition("a", "Suspended") == ("False", "MPIJobResumed", "MPIJob resumed")
    first = operated.status("a")["startTime"]
    time.sleep(1.1)  # the API's times are whole seconds

    operated.suspend("a", is_suspended=True)
    until(lambda: operated.condition("a", "Running")[0] == "False")
    until(lambda: operated.workers("a") == [])
    operated.suspend("a", is_suspended=False)
    until(lambda: operated.condition("a", "Running")[0] == "True")
    assert operated.status("a")["startTime"] > first
    assert operated.get(JOBS, "a-launcher")["status"]["startTime"] > first
    assert {"MPIJobSuspended", "MPIJobResumed"} <= operated.events("a").keys()


def test_workers_that_are_refused_are_reported_of_at_each_retry(lab: Lab, operated: Operated) -> None:
    namespace = operated.cluster.namespace
    lab.control_plane.kubectl("create", "quota", "few", "--hard=pods=1", "-n", namespace)
    operated.create("a")
    until(lambda: operated.events("a").get("MPIJobFailed", {}).get("count", 0) >= 4)
    text = operated.events("a")["MPIJobFailed"]
    assert text["type"] == "Warning"
    assert 'worker pod created failed: pods "a-worker-1" is forbidden: exceeded quota: few' in text["message"]
    assert operated.get(JOBS, "a-launcher") == {}
    lab.control_plane.kubectl("delete", "quota", "few", "-n", namespace)
    until(lambda: operated.get(JOBS, "a-launcher"))


def test_what_is_not_valid_is_reported_in_an_event_and_nowhere_else(operated: Operated) -> None:
    operated.create("a", runPolicy={"cleanPodPolicy": "Sometimes"})
    until(lambda: "ValidationError" in operated.events("a"))
    assert 'spec.runPolicy.cleanPodPolicy: Unsupported value: "Sometimes"' in str(
        operated.events("a")["ValidationError"]["message"]
    )
    assert operated.status("a") == {}


def test_launchers_wait_for_workers_where_they_are_to(operated: Operated) -> None:
    waits = {"worker ready-after": "600s"}
    operated.create("a", steering=waits, launcherCreationPolicy="WaitForWorkersReady")
    operated.create("b", steering=waits)
    until(lambda: operated.get(JOBS, "b-launcher"))
    assert operated.get(JOBS, "a-launcher") == {}
    assert len(operated.workers("a")) == 2


def test_an_evicted_worker_fails_the_job(operated: Operated) -> None:
    operated.create("a", steering=_RUNS)
    until(lambda: operated.condition("a", "Running")[0] == "True")
    gone: Doc = {"status": {"phase": "Failed", "reason": "Evicted", "message": "no room"}}
    operated.cluster.patch(PODS, "a-worker-0/status", gone)
    until(lambda: operated.condition("a", "Failed")[0] == "True")
    assert operated.condition("a", "Failed")[1:] == ("MPIJobEvicted", "1/2 workers are evicted")
    assert operated.condition("a", "Running")[0] == "False"
    assert operated.events("a")["MPIJobEvicted"]["type"] == "Warning"


def test_what_is_deleted_takes_all_with_it(operated: Operated) -> None:
    operated.create("a", steering=_RUNS)
    until(lambda: operated.condition("a", "Running")[0] == "True")
    operated.cluster._request("DELETE", operated.cluster._path(MPI_JOBS, "a"), {})
    until(lambda: operated.every(PODS) == [] and operated.every(JOBS) == [])
