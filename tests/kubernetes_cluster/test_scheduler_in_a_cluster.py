"""The scheduler alone, before the real API: pairs of pods, and the end of watches."""

from __future__ import annotations

import queue
from pathlib import Path

from backends.kubernetes.conftest import wait_for
from backends.kubernetes.situations import SITUATIONS
from kubernetes_cluster.conftest import Lab
from support.waiting import until
from tare.plugins.backends.kubernetes.api.cluster import EVENTS, JOBS, MPI_JOBS, PODS, Cluster
from tare.plugins.backends.kubernetes.api.watching import News, ObjectWatch
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler


def test_a_server_is_ended_when_its_client_has_and_both_report_their_node(
    lab: Lab, namespace: str, tmp_path: Path
) -> None:
    """The server's deadline is brought forward, which the API allows of a pod that runs."""
    changes = {"namespace": namespace, "kubeconfig": str(lab.kubeconfig)}
    situation = SITUATIONS["pair"].with_options(**changes)
    (tmp_path / "peer.sh").write_text("echo stands for peer.sh\n")
    scheduler = KubernetesScheduler(Cluster.connect(situation.options), "ca", lambda platform: "")
    scheduler.submit([situation.task(tmp_path)])
    (job_result,) = wait_for(scheduler)
    scheduler.close()
    assert job_result.exit.code == 0
    assert job_result.problems == ()
    assert len(set(job_result.nodes)) == 2, "they keep apart"
    patches = [one for one in lab.requests(namespace) if one.verb == "patch"]
    assert [(one.resource, one.code) for one in patches] == [("pods", 200)]
    until(lambda: not lab.control_plane.kubectl("get", "pods", "-n", namespace, "-o", "name"))


def test_watches_end_with_their_scheduler(lab: Lab, namespace: str) -> None:
    """A thread that went on reading a closed connection would read whatever gets its number next."""
    changes = {"namespace": namespace, "kubeconfig": str(lab.kubeconfig)}
    options = SITUATIONS["pod-network"].with_options(**changes).options
    for _ in range(20):
        cluster = Cluster.connect(options)
        news: queue.Queue[News] = queue.Queue()
        watches = [ObjectWatch(cluster, resource, "", news) for resource in (PODS, JOBS, EVENTS, MPI_JOBS)]
        for watch in watches:
            watch.start()
        news.get(timeout=30)  # at any moment of the others
        for watch in watches:
            watch.end()
        cluster.end_watches()
        for watch in watches:
            watch.join(10)
        assert not any(watch.is_alive() for watch in watches)
        cluster.close()
