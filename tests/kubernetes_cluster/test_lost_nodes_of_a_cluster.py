"""A node that falls silent under a run, before the real controller of nodes."""

from __future__ import annotations

import json
import signal
import time

import pytest
import yaml

from kubelab.simulated_nodes import SimulatedNodes
from kubernetes_cluster.conftest import LEASE_S, ROLES, Campaign, Lab, until_clean
from kubernetes_cluster.test_disruptions_in_a_cluster import launchers
from support.waiting import until

_MORTAL = {"bench": "mortal"}


@pytest.mark.parametrize("may_watch", [True, False])
def test_a_node_that_falls_silent_is_named_and_the_run_tried_again_elsewhere(
    lab: Lab, campaign: Campaign, may_watch: bool
) -> None:
    """Kubernetes takes its node-monitor-grace-period to know it, here 20 s; Tare takes seconds more."""
    kubectl = lab.control_plane.kubectl
    if not may_watch:
        lab.control_plane.apply(_without_watch())
    try:
        kubectl("label", "node", lab.nodes.names[0], "bench=mortal")
        with SimulatedNodes(
            lab.control_plane, 1, lab.pods.write_log, _MORTAL, prefix="mortal", lease_s=LEASE_S
        ) as mortal:
            _lose_one(lab, campaign, mortal)
            kubectl("delete", "node", *mortal.names)
    finally:
        for node in lab.nodes.names:
            kubectl("label", "node", node, "bench-")
    until_clean(campaign)


def _lose_one(lab: Lab, campaign: Campaign, mortal: SimulatedNodes) -> None:
    kubectl = lab.control_plane.kubectl
    campaign.write(repeats=1, launcher={"runs-for": "600s"}, node_selector=_MORTAL)
    with campaign.start() as runner:
        until(lambda: launchers(campaign))
        mortal.lose()
        kubectl("label", "node", lab.nodes.names[1], "bench=mortal")
        kubectl("wait", "--for=condition=Ready=Unknown", "node", *mortal.names, "--timeout=120s")
        known_at = time.monotonic()
        until(lambda: campaign.n_created() == 2)
        assert time.monotonic() - known_at < 30, "Kubernetes evicts its pods after five minutes"
        pods = ("get", "pods", "-n", campaign.namespace, "-o", "name", "--field-selector")
        until(lambda: not kubectl(*pods, f"spec.nodeName={mortal.names[0]}"))
        runner.send_signal(signal.SIGINT)
        runner.wait(timeout=60)
    journal = (campaign.out / "journal.jsonl").read_text()
    ended = [event for line in journal.splitlines() if (event := json.loads(line))["event"] == "ended"]
    reason = ended[0]["attempt"]["reason"]
    assert ended[0]["attempt"]["is_infrastructure"]
    assert f"node {mortal.names[0]} of pod " in reason
    assert "is not ready" in reason


def _without_watch() -> str:
    """Return the role of deploy/kubernetes as it was when nodes could be listed and not watched."""
    roles = yaml.safe_load_all((ROLES / "neighbours.yaml").read_text())
    (role,) = (one for one in roles if one["kind"] == "ClusterRole")
    for rule in role["rules"]:
        rule["verbs"] = [verb for verb in rule["verbs"] if verb != "watch"]
    return yaml.safe_dump(role)
