"""A real node that goes away under a run: its kubelet, and all its pods, from one moment to the next."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from kubernetes_pods.conftest import Campaign, PodLab
from kubernetes_pods.node_outage import NodeOutage
from support.waiting import until

_PATIENCE_S = 200
_OURS = "app.kubernetes.io/managed-by=tare"
_READY = '{.status.conditions[?(@.type=="Ready")].status}'
_FIRST = '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || '
_SLOW = f"{_FIRST}echo begun; sleep 45; {_FIRST}echo value: 1.0"


@pytest.mark.parametrize("is_of_launcher", [True, False], ids=["of-the-launcher", "of-a-worker"])
def test_a_lost_node_is_named_and_the_run_is_done_when_it_is_back(
    campaign: Campaign, pods: PodLab, tmp_path: Path, is_of_launcher: bool
) -> None:
    """Where the launcher is left, its MPI fails within seconds: that is no word of the program's."""
    campaign.write(platform="openmpi", script=_SLOW)
    log = tmp_path / "log"
    with campaign.start(log) as runner:
        until(
            lambda: any(one.stat().st_size for one in campaign.out.glob("attempts/*/*/stdout")),
            _PATIENCE_S,
            every_s=0.3,
        )
        node = _node(pods, is_of_launcher=is_of_launcher)
        outage = NodeOutage(pods, node)
        outage.begin()
        try:
            until(
                lambda: pods.kubectl("get", "node", node, "-o", f"jsonpath={_READY}") != "True",
                _PATIENCE_S,
                every_s=0.3,
            )
            known_at = time.monotonic()
            until(lambda: '"ended"' in (campaign.out / "journal.jsonl").read_text(), _PATIENCE_S, every_s=0.3)
            took_s = time.monotonic() - known_at
        finally:
            outage.end()
        assert runner.wait(timeout=_PATIENCE_S) == 0, log.read_text()
    assert took_s < 30, "Kubernetes evicts its pods after five minutes"
    lost, done = campaign.attempts()
    assert lost["is_infrastructure"]
    assert f"node {node} " in lost["reason"]
    assert done["state"] == "done"
    until(
        lambda: not pods.kubectl("get", "mpijobs,jobs,pods,configmaps", "-l", _OURS, "-o", "name"),
        _PATIENCE_S,
        every_s=0.3,
    )


def _node(pods: PodLab, *, is_of_launcher: bool) -> str:
    """Return the node of the launcher, or the other one."""
    found: dict[str, set[str]] = {"launcher": set(), "worker": set()}
    for one in json.loads(pods.kubectl("get", "pods", "-l", _OURS, "-o", "json"))["items"]:
        found[one["metadata"]["labels"]["tare/role"]].add(one["spec"]["nodeName"])
    [node] = found["launcher"] if is_of_launcher else found["worker"] - found["launcher"]
    return node
