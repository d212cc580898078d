"""What waits for its turn waits, and says so; what no node can take ends in time."""

from __future__ import annotations

import pytest

from backends.kubernetes.conftest import Clock, Happenings, Make, Tell, seen, wait_for, wait_until
from backends.kubernetes.simulated_api import SimulatedApiServer
from backends.kubernetes.situations import Situation
from backends.kubernetes.test_scheduler_faults import unscheduled
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

FULL = (
    "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are "
    "available: 4 No preemption victims found for incoming pod."
)
TOO_SMALL = (
    "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are "
    "available: 4 Preemption is not helpful for scheduling."
)
NO_MATCH = (
    "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector. no new claims to "
    "deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
)


@pytest.mark.parametrize("message", [FULL, "0/2 nodes are available: 2 Too many pods."])
def test_a_pod_that_waits_for_others_to_leave_is_queued_without_limit_and_is_reported(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    task: Make,
    clock: Clock,
    reports: list[str],
    message: str,
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(message))
    wait_until(scheduler, lambda: reports)
    for _ in range(3):
        clock.ahead += 86_400
        assert scheduler.wait() == []
    assert reports == [f"queued: Unschedulable: {message}"]
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize("message", [TOO_SMALL, NO_MATCH])
def test_a_pod_that_no_node_can_take_is_reported_at_once_and_ends_in_time(
    scheduler: KubernetesScheduler,
    happen: Happenings,
    task: Make,
    clock: Clock,
    reports: list[str],
    message: str,
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(message))
    wait_until(scheduler, lambda: reports)
    assert reports[0].startswith("waits for nodes, for 600 s at most: pod ")
    assert message in reports[0]
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert message in result.reason


@pytest.mark.parametrize(
    "why",
    [
        "2 node(s) were unschedulable",
        "2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }",
        "2 node(s) had untolerated taint(s) {node.cloudprovider.kubernetes.io/uninitialized: true}",
    ],
)
def test_nodes_that_are_cordoned_or_unwell_are_the_infrastructures_fault(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock, why: str
) -> None:
    """An administrator or the node controller takes nodes away for a time; no study is to blame."""
    one = task()
    scheduler.submit([one])
    happen.workers(**unscheduled(f"0/2 nodes are available: {why}. no new claims to deallocate"))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert why in str(result.exit.fault)


def test_a_run_that_holds_a_node_while_it_waits_for_another_lets_go_in_time_and_tries_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """Two such runs would wait for each other for ever."""
    one = task()
    scheduler.submit([one])
    happen.workers()
    job = happen.job()
    template = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    api.remove("pods", f"{job['metadata']['name']}-worker-1")
    api.pod(f"{job['metadata']['name']}-worker-1", job, template, **unscheduled(FULL))
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 2)
    clock.ahead += 601
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "Insufficient cpu" in result.exit.fault


def test_gates_and_other_schedulers_are_queues(
    scheduler: KubernetesScheduler, happen: Happenings, situation: Situation, task: Make, reports: list[str],
    clock: Clock, tell: Tell,
) -> None:  # fmt: skip
    one = task(of=situation.with_options(scheduler="volcano"))
    scheduler.submit([one])
    tell("Unschedulable", "2/2 tasks in gang unschedulable: pod group is not ready", kind="PodGroup")
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    happen.workers(**unscheduled("pod group is not ready, 2 Pending, 2 minAvailable"))
    wait_until(scheduler, lambda: reports)
    clock.ahead += 86_400
    assert scheduler.wait() == []
    assert reports[-1].startswith("queued: Unschedulable: pod group is not ready, 2 Pending, 2 minAvailable")
    assert "PodGroup reports Unschedulable: 2/2 tasks in gang" in reports[-1]
    gated = unscheduled("Scheduling is blocked due to non-empty scheduling gates")
    gated["conditions"][0]["reason"] = "SchedulingGated"
    happen.workers(**gated)
    wait_until(scheduler, lambda: "SchedulingGated" in reports[-1])


def test_a_suspended_job_is_queued_by_kueue_whose_message_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make,
    reports: list[str], clock: Clock, tell: Tell,
) -> None:  # fmt: skip
    one = task()
    scheduler.submit([one])
    job = happen.job()
    text = "couldn't assign flavors to pod set worker: insufficient unused quota for cpu in flavor default"
    tell("SetPodTemplateRestartPolicy", "Restart policy in pod template overridden")
    tell("Pending", text, kind="Workload", name=f"mpijob-{job['metadata']['name']}-1a2b3")
    wait_until(scheduler, lambda: len(seen(scheduler, one).events) == 2)
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "benchmarks"
    job["spec"]["runPolicy"]["suspend"] = True
    api.apply("mpijobs", job)
    wait_until(scheduler, lambda: reports)
    clock.ahead += 86_400
    assert scheduler.wait() == []
    assert reports == [f"queued: suspended in Kueue's queue benchmarks; Workload reports Pending: {text}"]
    job["spec"]["runPolicy"]["suspend"] = False
    api.apply("mpijobs", job)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_a_run_that_is_suspended_while_it_runs_is_tried_again(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers()
    launcher = happen.launcher()
    wait_until(scheduler, lambda: len(seen(scheduler, one).pods) == 3)
    job = happen.job()
    job["spec"]["runPolicy"]["suspend"] = True
    api.apply("mpijobs", job)
    for name in api.names("pods"):
        api.remove("pods", name)
    assert launcher not in api.names("pods")
    wait_until(scheduler, lambda: seen(scheduler, one).gone_since is not None)
    wait_until(scheduler, lambda: (job := seen(scheduler, one).seen) and job.is_suspended)
    clock.ahead += 11
    (result,) = wait_for(scheduler)
    assert result.exit.fault == "its job was suspended while it ran"


def test_an_operator_that_has_taken_a_job_up_is_not_reported_as_one_that_does_not_run(
    scheduler: KubernetesScheduler, task: Make, tell: Tell, reports: list[str], clock: Clock
) -> None:
    """A limit of 5 requests a second keeps the real one busy for minutes where many jobs are in flight."""
    one = task()
    scheduler.submit([one])
    tell("MPIJobCreated", "MPIJob bench/x is created.", of="Normal")
    wait_until(scheduler, lambda: seen(scheduler, one).events)
    clock.ahead += 16
    wait_until(scheduler, lambda: reports)
    assert reports[-1].endswith("the MPI Operator has taken it up, and made no pods yet")
