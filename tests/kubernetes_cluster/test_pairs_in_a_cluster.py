"""A server and a client, as pods of their own: what the real API makes of them."""

from __future__ import annotations

from pathlib import Path

from backends.kubernetes.conftest import wait_for
from backends.kubernetes.situations import SITUATIONS
from kubernetes_cluster.conftest import Lab, until
from tare.backends.kubernetes.cluster import Cluster
from tare.backends.kubernetes.scheduler import KubernetesScheduler


def test_a_server_is_ended_when_its_client_has_and_both_tell_of_their_node(
    lab: Lab, namespace: str, tmp_path: Path
) -> None:
    """The server's deadline is brought forward, which the API allows of a pod that runs."""
    changes = {"namespace": namespace, "kubeconfig": str(lab.kubeconfig)}
    situation = SITUATIONS["pair"].with_options(**changes)
    (tmp_path / "peer.sh").write_text("echo stands for peer.sh\n")
    scheduler = KubernetesScheduler(Cluster.connect(situation.options), "ca", lambda platform: "")
    scheduler.submit([situation.task(tmp_path)])
    (landing,) = wait_for(scheduler)
    scheduler.close()
    assert landing.exit.code == 0
    assert landing.problems == ()
    assert len(set(landing.nodes)) == 2, "they keep apart"
    patches = [one for one in lab.requests(namespace) if one.verb == "patch"]
    assert [(one.resource, one.code) for one in patches] == [("pods", 200)]
    until(lambda: not lab.control_plane.kubectl("get", "pods", "-n", namespace, "-o", "name"))
