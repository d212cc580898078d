"""Pods that end before the program's container begins: no program failed, and no results wait in them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.kubernetes.conftest import Clock, Happenings, wait_for, wait_until
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import SITUATIONS, Situation
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
_WAITS = {"name": "launcher", "state": {"waiting": {"reason": "PodInitializing"}}}
_NO_LOG = (400, 'container "launcher" in pod "x" is waiting to start: PodInitializing')


def init_failed(role: str = "launcher", code: int = 1, reason: str = "Error", phase: str = "Failed") -> Doc:
    """Return the status of a pod whose added init container failed, with the init container before it."""
    ended = {"exitCode": code, "reason": reason, "message": "iptables: permission denied\n"}
    return {
        "phase": phase,
        "initContainerStatuses": [
            {"name": "passwd", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            {"name": "mesh-init", "state": {"terminated": ended}},
        ],
        "containerStatuses": [{**_WAITS, "name": role}],
    }


REJECTED: Doc = {
    "phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu",
    "containerStatuses": [],
}  # fmt: skip


@pytest.fixture
def single(task: Make, situation: Situation) -> Task:
    return task(of=SITUATIONS["one-node"])


def is_clean(scheduler: KubernetesScheduler, api: SimulatedApiServer) -> bool:
    scheduler.close()
    return not [name for kind in ("mpijobs", "jobs", "pods") for name in api.names(kind)]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (init_failed(), "init container mesh-init ended with exit code 1 (Error), and its program did not"),
        (init_failed(code=137, reason="OOMKilled"), "mesh-init ended with exit code 137 (OOMKilled)"),
        (REJECTED, "was not taken by its kubelet: OutOfcpu: Node didn't have enough resource: cpu"),
        ({"phase": "Failed", "reason": "Strange"}, "ended before its program began: Strange"),
    ],
)
def test_the_pod_of_one_node_that_never_began_is_the_infrastructures_and_does_not_stay(
    scheduler: KubernetesScheduler, api: SimulatedApiServer, single: Task, status: Doc, says: str
) -> None:
    api.refusals["/log"] = _NO_LOG
    scheduler.submit([single])
    job = api.objects["jobs", api.names("jobs")[0]]
    api.pod(f"{job['metadata']['name']}-x7k2p", job, job["spec"]["template"], node="w1", **status)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert says in result.exit.fault
    assert is_clean(scheduler, api)


def test_a_launcher_whose_added_init_container_fails_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make
) -> None:
    one = task()
    scheduler.submit([one])
    happen.workers()
    launcher = happen.launcher(**init_failed())
    api.logs[launcher] = b"modprobe: no module ip_tables\n"
    (result,) = wait_for(scheduler)
    assert (one.folder / f"{launcher}.log").read_bytes() == api.logs[launcher]
    assert "container=mesh-init" in api.log_queries
    assert "init container mesh-init ended with exit code 1 (Error)" in str(result.exit.fault)
    assert "iptables: permission denied" in str(result.exit.fault)
    assert is_clean(scheduler, api)


def test_a_worker_whose_added_init_container_fails_is_reported(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    scheduler.submit([task()])
    happen.workers(**init_failed("worker"))
    (result,) = wait_for(scheduler)
    assert "init container mesh-init ended with exit code 1 (Error)" in str(result.exit.fault)


def test_an_init_container_that_is_started_again_has_not_ended_its_pod(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    scheduler.submit([task()])
    happen.workers(**init_failed("worker", phase="Pending"))
    wait_until(scheduler, lambda: True)
    clock.ahead += 5
    assert scheduler.wait() == []
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0
