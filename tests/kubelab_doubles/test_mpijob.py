"""The double of the MPI Operator: what it makes of an MPIJob, and what it says of it, as v0.8.2 does."""

from __future__ import annotations

import msgspec
import pytest

from kubelab import mpijob_objects as objects
from kubelab.mpijob import Doc, MpiJob, Status, faults
from kubelab.mpijob_status import Launcher, Pod, begun
from kubelab.mpijob_status import told as plan_notes

_NOW = "2026-01-01T00:00:00Z"


def job(worker: Doc | None = None, **spec: object) -> MpiJob:
    """Return a job of two workers with two slots each."""
    template = {"spec": {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}}
    document = {
        "metadata": {"name": "a", "namespace": "ns", "uid": "u"},
        "spec": {
            "slotsPerWorker": 2,
            "mpiReplicaSpecs": {
                "Launcher": {"template": template},
                "Worker": {"replicas": 2, "template": template, **(worker or {})},
            },
            **spec,
        },
    }
    return msgspec.convert(document, MpiJob)


def pod(role: str, phase: str, **status: str) -> Pod:
    labels = objects.labels(job(), role)
    return msgspec.convert(
        {"metadata": {"name": role, "labels": labels}, "status": {"phase": phase, **status}}, Pod
    )


def launcher(kind: str, reason: str = "", message: str = "") -> Launcher:
    condition = {"type": kind, "status": "True", "reason": reason, "message": message}
    return msgspec.convert(
        {"metadata": {"name": "a-launcher"}, "status": {"conditions": [condition]}}, Launcher
    )


@pytest.mark.parametrize(
    ("implementation", "line"),
    [
        ("OpenMPI", "a-worker-1.a.ns.svc slots=2"),
        ("Intel", "a-worker-1.a.ns.svc:2"),
        ("MPICH", "a-worker-1.a.ns.svc:2"),
    ],
)
def test_the_hostfile_is_in_the_words_of_the_implementation(implementation: str, line: str) -> None:
    made = objects.config_map(job(mpiImplementation=implementation), ["a-worker-0"])
    assert made["data"]["hostfile"].splitlines()[1] == line
    assert made["data"]["discover_hosts.sh"] == "#!/bin/sh\necho a-worker-0.a.ns.svc\n"


def test_pods_are_found_by_name_and_belong_to_their_job() -> None:
    made = objects.worker(job(), 1)
    assert (made["spec"]["hostname"], made["spec"]["subdomain"]) == ("a-worker-1", "a")
    assert made["metadata"]["labels"]["training.kubeflow.org/replica-index"] == "1"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"


def test_keys_of_root_are_his_alone_and_others_follow_the_path() -> None:
    [volume] = objects.worker(job(), 0)["spec"]["volumes"]
    assert volume["secret"]["defaultMode"] == 0o600
    made = objects.worker(job(sshAuthMountPath="/home/mpiuser/.ssh"), 0)["spec"]
    assert "defaultMode" not in made["volumes"][0]["secret"]
    assert made["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/mpiuser/.ssh"


def test_the_deadline_is_that_of_the_launcher() -> None:
    made = objects.launcher(job(runPolicy={"activeDeadlineSeconds": 9, "ttlSecondsAfterFinished": 1}))
    assert made["spec"]["activeDeadlineSeconds"] == 9
    assert made["spec"]["ttlSecondsAfterFinished"] == 1
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_workers_without_a_command_run_sshd() -> None:
    bare = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    assert objects.worker(job(worker=bare), 0)["spec"]["containers"][0]["args"] == ["-De"]


@pytest.mark.parametrize(
    ("worker", "spec", "said"),
    [
        ({"replicas": 0}, {}, "must be greater than or equal to 1"),
        ({"restartPolicy": "Always"}, {}, "restartPolicy"),
        ({}, {"runPolicy": {"cleanPodPolicy": "Some"}}, "cleanPodPolicy"),
        ({"template": {}}, {}, "at least one container"),
    ],
)
def test_what_is_refused_is_named(worker: Doc, spec: Doc, said: str) -> None:
    assert any(said in fault for fault in faults(job(worker=worker, **spec)))


def test_nothing_is_refused_of_a_job_that_is_well() -> None:
    assert list(faults(job())) == []
    assert job().spec.run_policy.clean_pod_policy == "None"


def told(one: MpiJob, status: Status, made: Launcher | None, pods: list[Pod]) -> Status:
    starters, workers = ([pod for pod in pods if pod.is_worker is of_workers] for of_workers in (False, True))
    return plan_notes(one, status, made, starters, workers, _NOW).status


def test_a_job_runs_when_its_launcher_and_all_workers_do() -> None:
    status = begun(job(), _NOW).status
    some = [pod("launcher", "Running"), pod("worker", "Pending")]
    every = [pod("launcher", "Running"), pod("worker", "Running")]
    begun_launcher = msgspec.convert({"metadata": {"name": "a-launcher"}}, Launcher)
    assert not told(job(), status, begun_launcher, some).has("Running")
    assert told(job(), status, begun_launcher, every).has("Running")


def test_the_reason_of_a_failure_ends_with_that_of_the_last_pod() -> None:
    failed = launcher("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    pods = [pod("launcher", "Failed", reason="Evicted", message="no room")]
    status = told(job(), begun(job(), _NOW).status, failed, pods)
    condition = next(one for one in status.conditions if one.type == "Failed")
    assert condition.reason == "BackoffLimitExceeded/Evicted"
    assert condition.message.endswith(": no room")
    assert status.completion_time == _NOW


def test_an_end_is_the_end_of_running() -> None:
    running = told(
        job(), begun(job(), _NOW).status, msgspec.convert({"metadata": {"name": "l"}}, Launcher),
        [pod("launcher", "Running"), pod("worker", "Running")],
    )  # fmt: skip
    ended = told(job(), running, launcher("Complete"), [])
    assert ended.has("Succeeded")
    assert not ended.has("Running")


def test_a_suspended_job_has_not_begun() -> None:
    waiting = job(runPolicy={"suspend": True})
    status = told(waiting, begun(waiting, _NOW).status, None, [])
    assert status.has("Suspended")
    assert status.start_time is None
    resumed = told(job(), begun(msgspec.structs.replace(job(), status=status), _NOW).status, None, [])
    assert not resumed.has("Suspended")
    assert isinstance(resumed, Status)
