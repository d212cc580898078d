"""What keeps a task from landing well, and what is said of it: phases too long, pods that fail or go."""

from __future__ import annotations

from collections.abc import Callable

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
from backends.kubernetes.situations import Situation
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]


def unscheduled(message: str = "0/2 nodes are available: 2 node(s) had untolerated taint {bench: }.") -> Doc:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"node": "", "phase": "Pending", "conditions": [condition], "containerStatuses": []}


def waiting(reason: str, message: str = "") -> Doc:
    return {
        "phase": "Pending",
        "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}],
    }


def test_a_pod_without_a_node_is_waited_for_and_then_the_reason_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled())
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert "waited 600 s for nodes: pod" in result.reason
    assert "Unschedulable: 0/2 nodes are available: 2 node(s) had untolerated taint" in result.reason
    assert result.exit.fault is None


def test_workers_that_never_get_ready_are_distinguished_from_pods_without_nodes(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**{**READY, "conditions": []})
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 301
    (result,) = wait_for(scheduler)
    assert "waited 300 s for workers to be ready: not ready: " in result.reason


def test_a_launcher_that_is_not_made_though_its_workers_are_ready_is_reported_as_that(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers()
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 121
    (result,) = wait_for(scheduler)
    assert result.exit.fault == (
        "waited 120 s for its launcher: its 2 pods are ready, and the one that starts the program is not made"
    )


def test_a_scheduler_that_reports_nothing_of_a_pod_may_not_run(
    scheduler: KubernetesScheduler, happen: Happenings, situation: Situation, task: Make, clock: Clock
) -> None:
    one = task(of=situation.with_options(scheduler="volcano"))
    scheduler.submit([one])
    happen.workers(node="", phase="Pending", conditions=[], containerStatuses=[])
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert "scheduler 'volcano' says nothing: does it run?" in result.reason


def test_without_any_pods_the_operator_may_not_run(
    scheduler: KubernetesScheduler, task: Make, clock: Clock
) -> None:
    scheduler.submit([task()])
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert "is the MPI Operator running" in result.reason


def test_what_the_operator_reports_in_an_event_alone_is_reported(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    name = api.names("mpijobs")[0]
    event = {
        "metadata": {"name": f"{name}.1"}, "type": "Warning", "reason": "ValidationError",
        "message": "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0",
        "involvedObject": {"kind": "MPIJob", "name": name},
    }  # fmt: skip
    wait_until(scheduler, lambda: "GET /api/v1/namespaces/bench/events?watch" in api.requests)
    api.apply("events", event)
    wait_until(scheduler, lambda: len(seen(scheduler, one).events) == 1)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert "ValidationError" in result.reason
    assert "replicas: Invalid value: 0" in result.reason


def test_an_image_that_does_not_come_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**waiting("ImagePullBackOff", "no such host"))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 901
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "waits: ImagePullBackOff: no such host" in result.exit.fault


def test_a_name_that_is_no_image_is_not_waited_for(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers(**waiting("InvalidImageName", "not a reference"))
    (result,) = wait_for(scheduler)
    assert "InvalidImageName: not a reference" in result.reason


@pytest.mark.parametrize(
    "status",
    [
        {"reason": "Evicted", "message": "The node was low on resource: memory."},
        {
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByTaintManager",
                    "message": "gone",
                }
            ]
        },
    ],
)
def test_a_worker_that_the_cluster_takes_away_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, status: Doc
) -> None:
    scheduler.submit([task()])
    happen.workers()
    happen.launcher()
    happen.workers(**{**over(137), **status})
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "-worker-" in result.exit.fault


def test_a_worker_whose_sshd_ends_is_no_fault_of_the_infrastructure_and_its_log_is_kept(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    scheduler.submit([one])
    name = f"{api.names('mpijobs')[0]}-worker-0"
    api.logs[name] = b"Bind to port 22 on 0.0.0.0 failed: Address already in use.\n"
    happen.workers(**over(255))
    (result,) = wait_for(scheduler)
    assert "ended with exit code 255" in result.reason
    assert result.exit.fault is None
    assert b"Address already in use" in (one.folder / f"{name}.log").read_bytes()


def test_a_launcher_killed_for_its_memory_is_reported_with_its_limit(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers()
    api.logs[happen.launcher()] = b"half a lo"
    happen.launcher(**over(137, "OOMKilled"))
    (result,) = wait_for(scheduler)
    assert "took more memory than it may (OOMKilled): the container's limit is 512Mi" in result.reason
    assert result.exit.fault is None


@pytest.mark.parametrize(
    "counters",
    [
        ("/sys/fs/cgroup/memory.events", "low 0\noom 4\noom_kill 2\n", "max 1\noom 5\noom_kill 3\n"),
        (
            "/sys/fs/cgroup/memory/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
            "oom_kill 1\n",
        ),
    ],
)
def test_a_rank_killed_for_memory_whose_container_lives_is_distinguished_from_one_that_somebody_killed(
    scheduler: KubernetesScheduler, happen: Happenings, situation: Situation, task: Make,
    counters: tuple[str, str, str],
) -> None:  # fmt: skip
    name, before, after = counters
    files = {
        "before.1": probe("w2", files={name: before}),
        "after.0": probe("w1", {0: "w1", 1: "w1"}, {name: before}),
        "after.1": probe("w2", {2: "w2", 3: "w2"}, {name: after}),
        "before.0": probe("w1", files={name: before}),
    }
    scheduler.submit([task(of=situation.with_options(memory_bytes=2**29))])
    happen.succeed(code=137, files=files)
    (result,) = wait_for(scheduler)
    assert "killed a process of the pod on w2 for memory" in result.reason
    assert "the container's limit is 536870912" in result.reason
    assert result.exit.fault is None


def test_a_worker_killed_for_memory_is_named_where_the_launcher_only_exits_with_137(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    begin(scheduler, happen, one)
    name = f"{api.names('mpijobs')[0]}-launcher-x7k2p"
    api.logs[name] = packed(record(code=137))
    happen.workers(**over(137, "OOMKilled"))
    happen.launcher(**over(137))
    (result,) = wait_for(scheduler)
    assert "-worker-0 took more memory than it may (OOMKilled)" in result.reason


@pytest.mark.parametrize("reason", ["UnexpectedAdmissionError", "OutOfcpu", "NodeAffinity", "Preempting"])
def test_a_pod_that_its_kubelet_does_not_take_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, reason: str
) -> None:
    scheduler.submit([task()])
    happen.workers(phase="Failed", reason=reason, message="Allocate failed", containerStatuses=[])
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert f"{reason}: Allocate failed" in result.exit.fault


def test_an_eviction_for_what_the_pod_itself_wrote_is_not_tried_again(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    text = 'Usage of EmptyDir volume "shm" exceeds the limit "64Mi". '
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    scheduler.submit([task()])
    happen.workers(**{**over(137), "reason": "Evicted", "message": text, "conditions": [condition]})
    (result,) = wait_for(scheduler)
    assert result.exit.fault is None
    assert 'Usage of EmptyDir volume "shm" exceeds the limit "64Mi".' in result.reason


def test_a_log_that_cannot_be_read_is_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers()
    happen.launcher()
    happen.launcher(**over(0))
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "its log could not be read: the API server answered 404" in result.exit.fault


@pytest.mark.slow
def test_the_termination_message_has_the_steps_where_the_log_is_cut(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers()
    api.logs[happen.launcher()] = packed(record())[:-60]
    happen.launcher(**over(4, message="began 100.5\nstep run 4 101.0 102.0\n"))
    (result,) = wait_for(scheduler)
    assert result.exit.code == 4


def test_the_operators_failure_without_a_launcher_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task()])
    job = happen.job()
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded/Error", "message": "why"}
    api.apply("mpijobs", {**job, "status": {"conditions": [condition]}})
    (result,) = wait_for(scheduler)
    assert result.reason == "BackoffLimitExceeded/Error: why"


def test_pods_that_somebody_deletes_are_not_tried_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    launcher = begin(scheduler, happen, one)
    api.remove("pods", launcher)
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert (result.exit.fault, result.reason) == (None, "its pods were deleted from outside")


def test_an_image_without_the_shell_that_starts_programs_is_reported_in_the_runtimes_words(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers()
    text = 'exec: "bash": executable file not found in $PATH: unknown'
    api.logs[happen.launcher()] = b""
    happen.launcher(**over(128, "StartError", f"failed to create containerd task: {text}"))
    (result,) = wait_for(scheduler)
    assert text in result.reason
    assert "128 (StartError)" in result.reason
