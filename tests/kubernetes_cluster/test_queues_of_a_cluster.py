"""What a real scheduler, quota and suspension make a run wait for: told as a queue, and waited for."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kubernetes_cluster.conftest import Campaign, Lab, until_clean
from support.waiting import until

_PATIENCE_S = 90


def waits(campaign: Campaign, what: str) -> bool:
    """Return whether `tare status` says that a run waits for this."""
    return campaign.out.exists() and what in campaign.status()


@pytest.fixture
def neighbour(lab: Lab, campaign: Campaign) -> Iterator[None]:
    """Fill all nodes with pods of somebody else."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1023"}}}
    template = {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [container]}}
    made = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "other", "namespace": campaign.namespace},
        "spec": {
            "replicas": len(lab.nodes.names), "template": template,
            "selector": {"matchLabels": {"app": "other"}},
        },
    }  # fmt: skip
    kubectl = lab.control_plane.kubectl
    lab.control_plane.apply(json.dumps(made))
    pods = ("get", "pods", "-n", campaign.namespace, "-l", "app=other", "-o", "name")
    running = "--field-selector=status.phase=Running"
    until(lambda: len(kubectl(*pods, running).split()) == len(lab.nodes.names))
    yield
    kubectl("delete", "replicaset", "other", "-n", campaign.namespace, "--ignore-not-found")
    until(lambda: not kubectl(*pods))


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("nodes", [1, 2])
def test_full_nodes_are_waited_for(lab: Lab, campaign: Campaign, nodes: int) -> None:
    campaign.write(repeats=1, nodes=nodes, cpus=2, timeouts={"scheduled": 1})
    with campaign.start() as runner:
        until(lambda: waits(campaign, "queued: Unschedulable: 0/4 nodes are available: 4 Insufficient cpu"))
        lab.control_plane.kubectl("delete", "replicaset", "other", "-n", campaign.namespace)
        assert runner.wait(timeout=_PATIENCE_S) == 0, (campaign.folder / "run.log").read_text()
    assert "waiting: queued: Unschedulable" in (campaign.folder / "run.log").read_text()
    assert campaign.n_created("mpijobs" if nodes == 2 else "jobs") == 1
    until_clean(campaign)


def test_a_quota_that_somebody_else_uses_is_waited_for(lab: Lab, campaign: Campaign) -> None:
    kubectl = lab.control_plane.kubectl
    kubectl("create", "quota", "few", "--hard=pods=3", "-n", campaign.namespace)
    for number in range(3):
        name = f"other-{number}"
        kubectl("run", name, "--image=i", "-n", campaign.namespace)
    campaign.write(repeats=1, timeouts={"scheduled": 1})
    with campaign.start() as runner:
        until(lambda: waits(campaign, "exceeded quota: few"))
        assert waits(campaign, "queued: MPIJob")
        kubectl("delete", "pod", "--all", "-n", campaign.namespace)
        assert runner.wait(timeout=_PATIENCE_S) == 0, (campaign.folder / "run.log").read_text()
    until_clean(campaign)


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_suspended_job_is_queued_until_somebody_resumes_it(
    lab: Lab, campaign: Campaign, nodes: int
) -> None:
    """As Kueue does, whose webhook suspends what is created with the name of a queue."""
    kind = "mpijob" if nodes == 2 else "job"
    policy: dict[str, object] = {"suspend": True}
    spec = {"runPolicy": policy} if nodes == 2 else policy
    campaign.write(repeats=1, nodes=nodes, merge={"spec": spec}, timeouts={"scheduled": 1})
    kubectl = lab.control_plane.kubectl
    with campaign.start() as runner:
        until(lambda: waits(campaign, "queued: the job is suspended"))
        (name,) = [
            one for one in kubectl("get", kind, "-n", campaign.namespace, "-o", "name").split()
            if "launcher" not in one
        ]  # fmt: skip
        resumed = {"spec": {"runPolicy": {"suspend": False}} if nodes == 2 else {"suspend": False}}
        kubectl("patch", name, "-n", campaign.namespace, "--type=merge", "-p", json.dumps(resumed))
        assert runner.wait(timeout=_PATIENCE_S) == 0, (campaign.folder / "run.log").read_text()
    until_clean(campaign)


def test_what_no_node_can_ever_take_is_no_queue(campaign: Campaign) -> None:
    campaign.write(repeats=1, cpus=2000, timeouts={"scheduled": 3})
    assert campaign.run().returncode == 1
    assert "Preemption is not helpful" in campaign.status()
    until_clean(campaign)
