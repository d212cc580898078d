"""Nodes that are lost under a run: the infrastructure's, by name, as soon as Kubernetes knows it."""

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
from backends.kubernetes.sent_results import listed, sent_lines, tarred
from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

Make = Callable[..., Task]
SILENT = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


def node(name: str, ready: str = "True", **words: str) -> Doc:
    condition = {"type": "Ready", "status": ready, **words}
    return {"metadata": {"name": name}, "status": {"conditions": [condition]}}


def unready(reason: str = "") -> Doc:
    ready = {"type": "Ready", "status": "False"} | ({"reason": reason} if reason else {})
    return {**READY, "conditions": [{"type": "PodScheduled", "status": "True"}, ready]}


def stands(scheduler: KubernetesScheduler, clock: Clock, task: Task, seconds: float) -> None:
    """Let what is so be so for a while."""
    wait_until(scheduler, lambda: seen(scheduler, task).losing._since)
    clock.ahead += seconds


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_lost_node_is_named_and_its_run_tried_again_in_seconds(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    is_deleted: bool,
) -> None:  # fmt: skip
    api.apply("nodes", node("w1"))
    api.apply("nodes", node("w2"))
    one = task()
    begin(scheduler, happen, one)
    wait_until(scheduler, lambda: len(scheduler._informer.nodes._ready) == 2)
    if is_deleted:
        api.remove("nodes", "w2")
    else:
        api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 6)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert result.exit.fault.startswith("node w2 of pod tare-ca-ab12-1-1-worker-1 ")
    assert ("was deleted" if is_deleted else SILENT["message"]) in result.exit.fault
    assert result.nodes == ("w1", "w2")
    assert api.names("mpijobs") == api.names("pods") == []


def test_pods_of_a_lost_node_are_deleted_with_force_and_no_others(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """No kubelet ends them; on a node that lives, one does, and says when."""
    one = task()
    begin(scheduler, happen, one)
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 6)
    wait_for(scheduler)
    forced = [query for query in api.deletions if query.get("gracePeriodSeconds") == 0]
    assert [(one["plural"], one["fieldSelector"]) for one in forced] == [
        ("pods", "metadata.name=tare-ca-ab12-1-1-worker-1")
    ]
    assert api.deletions[0]["plural"] == "mpijobs", "else the operator makes the pods again"


def test_no_log_is_asked_of_a_lost_node(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """The API server would wait for its kubelet for half a minute."""
    one = task()
    begin(scheduler, happen, one)
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 6)
    wait_for(scheduler)
    assert not [path for path in api.requests if "worker-1/log" in path]
    assert "was lost" in (one.folder / "tare-ca-ab12-1-1-worker-1.log").read_text()


def test_without_the_right_to_watch_nodes_the_pods_show_it(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    api.refusals["GET /api/v1/nodes"] = (403, "nodes is forbidden")
    one = task()
    begin(scheduler, happen, one)
    happen.workers(**unready())
    stands(scheduler, clock, one, 6)
    (result,) = wait_for(scheduler)
    assert result.exit.fault == "node w1 of pod tare-ca-ab12-1-1-worker-0 is not ready"


def test_a_node_that_does_not_answer_for_a_moment_costs_no_run(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    begin(scheduler, happen, one)
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 3)
    api.apply("nodes", node("w2"))
    wait_until(scheduler, lambda: not seen(scheduler, one).losing._since)
    clock.ahead += 30
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize(("seconds", "is_lost"), [(40, False), (61, True)])
def test_where_all_nodes_are_silent_it_is_the_control_plane_that_was_away(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    seconds: int, is_lost: bool,
) -> None:  # fmt: skip
    """As seen after an API server had been killed: the controller of nodes read no leases for a while."""
    one = task()
    begin(scheduler, happen, one)
    for name in ("w1", "w2"):
        api.apply("nodes", node(name, "Unknown", **SILENT))
    wait_until(scheduler, lambda: len(seen(scheduler, one).losing._since) == 2)
    clock.ahead += seconds
    if is_lost:
        (result,) = wait_for(scheduler)
        assert result.exit.fault is not None
        return
    assert scheduler.wait() == []
    for name in ("w1", "w2"):
        api.apply("nodes", node(name))
    wait_until(scheduler, lambda: not seen(scheduler, one).losing._since)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


def test_after_an_outage_of_the_control_plane_nodes_may_report_again_one_after_another(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    begin(scheduler, happen, one)
    for name in ("w1", "w2"):
        api.apply("nodes", node(name, "Unknown", **SILENT))
    wait_until(scheduler, lambda: len(seen(scheduler, one).losing._since) == 2)
    clock.ahead += 40
    api.apply("nodes", node("w1"))
    wait_until(scheduler, lambda: len(seen(scheduler, one).losing._since) == 1)
    clock.ahead += 10
    assert scheduler.wait() == []
    api.apply("nodes", node("w2"))
    wait_until(scheduler, lambda: not seen(scheduler, one).losing._since)
    happen.succeed()
    (result,) = wait_for(scheduler)
    assert result.exit.code == 0


@pytest.mark.parametrize(("seconds", "is_lost"), [(20, False), (31, True)])
def test_a_kubelet_that_reports_itself_not_ready_gets_the_time_of_a_restart(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock,
    seconds: int, is_lost: bool,
) -> None:  # fmt: skip
    one = task()
    begin(scheduler, happen, one)
    api.apply("nodes", node("w2", "False", reason="KubeletNotReady", message="container runtime is down"))
    stands(scheduler, clock, one, seconds)
    if not is_lost:
        assert scheduler.wait() == []
        return
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "is not ready: KubeletNotReady: container runtime is down" in result.exit.fault


def test_a_worker_whose_probe_fails_is_not_lost(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    begin(scheduler, happen, one)
    happen.workers(**unready("ContainersNotReady"))
    wait_until(scheduler, lambda: not any(p.is_ready for p in seen(scheduler, one).pods.values()))
    clock.ahead += 60
    assert scheduler.wait() == []


@pytest.mark.parametrize("status", [{"phase": "Unknown"}, {"reason": "NodeLost", "message": "gone"}])
def test_a_pod_that_kubernetes_calls_lost_is(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, status: Doc
) -> None:
    begin(scheduler, happen, task())
    happen.workers(**{**READY, **status})
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "node w1 of pod" in result.exit.fault


def test_a_pod_that_is_to_go_and_does_not_is_given_up(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """As one that the taint of its node evicts, where nobody tells of the node."""
    one = task()
    begin(scheduler, happen, one)
    (name, _) = (pod for pod in api.names("pods") if "-worker-" in pod)
    pod = api.objects["pods", name]
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    why = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "taint",
    }
    pod["status"] = {**READY, "conditions": [*READY["conditions"], why]}
    api.apply("pods", pod)
    stands(scheduler, clock, one, 46)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "DeletionByTaintManager: taint; it does not end" in result.exit.fault


def fail_silently(scheduler: KubernetesScheduler, happen: Happenings, one: Task) -> None:
    """Let a run fail, as mpirun does in seconds when a worker's network is cut; w2 does not report again."""
    begin(scheduler, happen, one)
    happen.succeed(code=1, files={"after.1": ""})
    wait_until(scheduler, lambda: seen(scheduler, one).failed)


def test_a_run_that_fails_before_kubernetes_knows_of_its_lost_node_is_no_program_s_fault(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    one = task()
    fail_silently(scheduler, happen, one)
    clock.ahead += 40
    assert scheduler.wait() == []
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 6)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    assert "node w2 of pod" in result.exit.fault
    assert "pods" in [query["plural"] for query in api.deletions if query.get("gracePeriodSeconds") == 0]


def test_nothing_stays_of_a_run_whose_results_were_lost_with_a_node(
    scheduler: KubernetesScheduler, happen: Happenings, api: SimulatedApiServer, task: Make, clock: Clock
) -> None:
    """Its launcher could not copy what ranks of the lost node wrote: there is nothing to keep pods for."""
    one = task()
    launcher = begin(scheduler, happen, one)
    small = {name: text.encode() for name, text in record(1).items() if name != "after.1"}
    api.logs[launcher] = sent_lines(listed(small), tarred(small), waits="lost")
    happen.launcher(**over(1))
    wait_until(scheduler, lambda: seen(scheduler, one).failed)
    api.apply("nodes", node("w2", "Unknown", **SILENT))
    stands(scheduler, clock, one, 6)
    (result,) = wait_for(scheduler)
    assert result.exit.fault is not None
    scheduler.close()
    assert api.names("pods") == api.names("configmaps") == []


def test_a_run_that_fails_on_nodes_that_live_is_the_program_s_fault_after_all(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make, clock: Clock
) -> None:
    one = task()
    fail_silently(scheduler, happen, one)
    clock.ahead += 76
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault) == (1, None)


def test_a_run_that_fails_while_all_its_nodes_answer_is_reported_at_once(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    begin(scheduler, happen, task())
    happen.succeed(code=1)
    (result,) = wait_for(scheduler)
    assert (result.exit.code, result.exit.fault) == (1, None)


def test_a_worker_that_was_killed_for_memory_is_named_though_it_is_reported_after_its_launcher(
    scheduler: KubernetesScheduler, happen: Happenings, task: Make
) -> None:
    fail_silently(scheduler, happen, task())
    happen.workers(**over(137, "OOMKilled"))
    (result,) = wait_for(scheduler)
    assert "-worker-0 took more memory than it may (OOMKilled)" in result.reason
