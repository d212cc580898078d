"""Runs that a cluster or a person ends gently: the program gets SIGTERM, and its record is complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backends.kubernetes.conftest import (
    READY,
    Clock,
    Happenings,
    begin,
    over,
    record,
    seen,
    wait_for,
    wait_until,
)
from backends.kubernetes.sent_results import packed, probe
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_NOW = "2026-01-01T00:00:00Z"
EVICTED: Doc = {
    "conditions": [
        {
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
        }
    ]
}  # fmt: skip
TOO_LONG: Doc = {
    "reason": "DeadlineExceeded",
    "message": "Pod was active on the node longer than the specified deadline",
}


def single(api: SimulatedApiServer, **status: Any) -> str:
    """Make the pod of a job of one node, or change it; return its name."""
    job = api.objects["jobs", api.names("jobs")[0]]
    name = f"{job['metadata']['name']}-x7k2p"
    api.pod(name, job, job["spec"]["template"], node="w1", **status)
    return name


def delete(api: SimulatedApiServer, name: str) -> None:
    """Let somebody delete a pod, which its kubelet then ends."""
    pod = api.objects["pods", name]
    api.apply("pods", {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": _NOW}})


@pytest.fixture
def end(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> Callable[..., JobResult]:
    """Return a function that ends the program of a run of one or two nodes, by SIGTERM unless told."""

    def end_one(nodes: int, status: Doc, *, is_deleted: bool = False, code: int = 143) -> JobResult:
        one = task(of=SITUATIONS["one-node"]) if nodes == 1 else task()
        if nodes == 1:
            scheduler.submit([one])
            name = single(api, **READY)
            wait_until(scheduler, lambda: seen(scheduler, one).pods)
        else:
            name = begin(scheduler, happen, one)
        files = record(code=code)
        api.logs[name] = packed(
            {key: text for key, text in files.items() if nodes == 2 or not key.endswith(".1")}
        )
        pod = api.objects["pods", name]
        meta = {**pod["metadata"], "deletionTimestamp": _NOW} if is_deleted else pod["metadata"]
        api.apply("pods", {**pod, "metadata": meta, "status": {**over(code), **status}})
        (result,) = wait_for(scheduler)
        return result

    return end_one


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_preempted_run_is_the_infrastructures_though_its_program_ended_by_a_signal(
    end: Callable[..., JobResult], nodes: int
) -> None:
    result = end(nodes, EVICTED)
    assert result.exit.fault is not None
    assert "PreemptionByScheduler: default-scheduler: preempting to accommodate" in result.exit.fault


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_deadline_that_somebody_gave_a_pod_is_named(end: Callable[..., JobResult], nodes: int) -> None:
    result = end(nodes, TOO_LONG)
    assert result.exit.fault is None
    assert "DeadlineExceeded: Pod was active on the node longer" in result.reason


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_pod_that_somebody_deletes_is_named(end: Callable[..., JobResult], nodes: int) -> None:
    result = end(nodes, {}, is_deleted=True)
    assert result.exit.fault is None
    assert "was deleted while its program ran, and not by Tare" in result.reason


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_pod_that_is_deleted_after_its_program_failed_by_itself_is_not_blamed_on_that(
    end: Callable[..., JobResult], nodes: int
) -> None:
    result = end(nodes, {}, is_deleted=True, code=1)
    assert (result.exit.code, result.exit.fault, result.reason) == (1, None, "")


def test_a_job_that_kueue_suspends_to_make_room_is_the_infrastructures(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    """Its pods are deleted gently: the program ends by SIGTERM before they are gone."""
    one = task()
    launcher = begin(scheduler, happen, one)
    job = happen.job()
    api.apply("mpijobs", {**job, "spec": {**job["spec"], "runPolicy": {"suspend": True}}})
    wait_until(scheduler, lambda: seen(scheduler, one).is_suspended)
    api.logs[launcher] = packed(record(code=143))
    pod = api.objects["pods", launcher]
    api.apply(
        "pods", {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": _NOW}, "status": over(143)}
    )
    (result,) = wait_for(scheduler)
    assert result.exit.fault == "its job was suspended while it ran"


def test_a_program_that_fails_by_itself_is_to_blame(end: Callable[..., JobResult]) -> None:
    result = end(2, {})
    assert (result.exit.signal, result.exit.fault, result.reason) == (15, None, "")


def test_a_pair_whose_server_is_preempted_is_the_infrastructures(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task(of=SITUATIONS["pair"])])
    (server,) = api.names("pods")
    one = api.objects["pods", server]
    template = {"metadata": one["metadata"], "spec": one["spec"]}
    api.pod(server, one, template, node="w1", podIP="10.1.0.7", **READY)
    wait_until(scheduler, lambda: len(api.names("pods")) == 2)
    client = server.replace("-server", "-client")
    made = api.objects["pods", client]
    api.logs[client] = packed({"landed": "began 1.0\nstep run 1 1.0 2.0\n", "before.0": probe("w2")})
    api.logs[server] = packed({"landed": "began 1.0\n", "before.0": probe("w1")})
    api.pod(server, one, template, **{**over(143), **EVICTED})
    api.pod(client, made, {"metadata": made["metadata"], "spec": made["spec"]}, node="w2", **over(1))
    (result,) = wait_for(scheduler)
    assert "PreemptionByScheduler" in str(result.exit.fault)


def test_pods_that_a_job_deletes_for_its_deadline_were_not_deleted_from_outside(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task(of=SITUATIONS["one-node"])
    scheduler.submit([one])
    name = single(api, **READY)
    wait_until(scheduler, lambda: seen(scheduler, one).pods)
    job = api.objects["jobs", api.names("jobs")[0]]
    why = {"reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline"}
    api.apply("jobs", {**job, "status": {"conditions": [{"type": "Failed", "status": "True", **why}]}})
    wait_until(scheduler, lambda: (known := seen(scheduler, one).seen) is not None and known.failure)
    api.remove("pods", name)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.reason == "DeadlineExceeded: Job was active longer than specified deadline"


@pytest.mark.parametrize("has_job", [False, True])
def test_what_is_being_deleted_is_no_run_to_go_on_with(
    make_scheduler: Callable[[], KubernetesScheduler], happen: Happenings, api: SimulatedApiServer,
    task: Make, has_job: bool,
) -> None:  # fmt: skip
    """A session that ends with an error deletes its jobs; their pods take half a minute to go."""
    one = task()
    first = make_scheduler()
    begin(first, happen, one)
    first.abandon_watches()
    (name,) = api.names("mpijobs")
    if has_job:
        job = api.objects["mpijobs", name]
        api.apply("mpijobs", {**job, "metadata": {**job["metadata"], "deletionTimestamp": _NOW}})
    else:
        api.remove("mpijobs", name)
    for pod in api.names("pods"):
        delete(api, pod)
    assert make_scheduler().adopt([one]) == []
