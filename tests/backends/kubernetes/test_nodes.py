"""What the cluster is asked about nodes: no more than a page at once, and no more than is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.kubernetes.simulated_api import SimulatedApiServer
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, Outage
from tare.plugins.backends.kubernetes.diagnosis.nodes import NodeFacts, Own
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions

N_NODES = 40


@pytest.fixture
def api() -> Iterator[SimulatedApiServer]:
    """A cluster of many nodes, with a pod of somebody else on each."""
    server = SimulatedApiServer()
    for number in range(N_NODES):
        server.apply("nodes", {"metadata": {"name": f"n{number}", "labels": {"rack": str(number)}}})
        pod = {"metadata": {"name": f"p{number}", "namespace": "others"}, "status": {"phase": "Running"}}
        server.apply("pods", {**pod, "spec": {"nodeName": f"n{number}"}})
    yield server
    server.stop()


@pytest.fixture
def cluster(api: SimulatedApiServer, tmp_path: Path) -> Iterator[Cluster]:
    options = KubernetesOptions(image="", kubeconfig=str(api.kubeconfig(tmp_path)), namespace="bench")
    cluster = Cluster.connect(options)
    yield cluster
    cluster.close()


OWN = Own("bench", "c", "t")


def test_all_pods_of_a_cluster_come_in_pages(api: SimulatedApiServer, cluster: Cluster) -> None:
    for number in range(1201):
        api.apply("pods", {"metadata": {"name": f"many-{number}"}})
    assert len(list(cluster.read_everywhere(PODS, SeenPod))) == 1201 + N_NODES
    assert len(api.requests) == 3


def test_a_list_that_is_forgotten_on_the_way_is_asked_for_again(
    api: SimulatedApiServer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(600):
        api.apply("pods", {"metadata": {"name": f"many-{number}"}})
    pods = cluster.read_everywhere(PODS, SeenPod)
    next(pods)
    api.refusals["pods"] = (410, "The provided continue parameter is too old")
    with pytest.raises(Outage, match="changed while it was listed"):
        list(pods)


def test_a_run_s_nodes_alone_are_requested(api: SimulatedApiServer, cluster: Cluster) -> None:
    facts = NodeFacts(cluster, lambda: 100.0).of(["n1", "n2"], OWN, began=99.0)
    assert [facts[name]["kubernetes.labels"] for name in ("n1", "n2")] == ["rack=1", "rack=2"]
    assert facts["n1"]["kubernetes.neighbours"] == "1 of others"
    assert [query["fieldSelector"] for query in api.queries] == [
        "metadata.name=n1", "spec.nodeName=n1", "metadata.name=n2", "spec.nodeName=n2",
    ]  # fmt: skip


def test_many_nodes_are_asked_about_at_once(api: SimulatedApiServer, cluster: Cluster) -> None:
    nodes = [f"n{number}" for number in range(N_NODES)]
    facts = NodeFacts(cluster, lambda: 100.0).of(nodes, OWN, began=99.0)
    assert facts["n39"]["kubernetes.labels"] == "rack=39"
    assert facts["n39"]["kubernetes.neighbours"] == "1 of others"
    assert len(api.requests) == 2


def test_many_runs_on_other_nodes_each_cost_no_more_than_a_few_requests(
    api: SimulatedApiServer, cluster: Cluster
) -> None:
    asked = NodeFacts(cluster, lambda: 100.0)
    for number in range(N_NODES):
        facts = asked.of([f"n{number}"], OWN, began=99.0)
        assert facts[f"n{number}"]["kubernetes.labels"] == f"rack={number}"
    assert len(api.requests) == 2 * 16 + 2


def test_what_was_asked_before_a_run_began_is_asked_anew(api: SimulatedApiServer, cluster: Cluster) -> None:
    clock = iter([100.0, 105.0, 130.0, 131.0])
    asked = NodeFacts(cluster, lambda: next(clock))
    for began, n_requests in ((99.0, 2), (104.0, 2), (125.0, 4), (125.0, 4)):
        asked.of(["n1"], OWN, began)
        assert len(api.requests) == n_requests


def test_a_node_that_is_gone_is_left_out(cluster: Cluster) -> None:
    assert NodeFacts(cluster, lambda: 100.0).of(["gone"], OWN, began=99.0) == {}
