"""What doctor and clean find in a cluster, and what ships to run Tare inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import HOST, MACVLAN, Situation
from tare.core.checks import Finding
from tare.core.pod_network import PodNetwork
from tare.core.scheduler import Task
from tare.core.site import Network
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.checks.doctor import check_cluster
from tare.plugins.backends.kubernetes.options import WorkVolume
from tare.plugins.backends.kubernetes.scheduling.leftovers import leftovers
from tare.plugins.backends.kubernetes.scheduling.scheduler import KubernetesScheduler

DEPLOY = Path(__file__).parents[3] / "deploy" / "kubernetes"
CRD: Doc = {
    "metadata": {"name": "mpijobs.kubeflow.org"},
    "spec": {"versions": [{"name": "v1", "served": False}, {"name": "v2beta1", "served": True}]},
}


@pytest.fixture
def cluster(situation: Situation) -> Iterator[Cluster]:
    made = Cluster.connect(situation.options)
    yield made
    made.close()


def found(cluster: Cluster, situation: Situation, **networks: Network) -> dict[str, Finding]:
    return {one.name: one for one in check_cluster(cluster, situation.options, networks)}


def test_a_cluster_with_everything_is_usable(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.apply("customresourcedefinitions", CRD)
    for name in ("w1", "w2", "w3"):
        api.apply("nodes", {"metadata": {"name": name}})
    findings = found(cluster, situation, host=HOST)
    assert findings["API server"].found == "v1.34.4"
    assert findings["MPI Operator"].found == "MPIJob v2beta1"
    assert findings["rights in bench"].found == "all 21"
    assert not [one for one in findings.values() if one.is_met is False]


def test_without_an_operator_the_cure_is_reported(cluster: Cluster, situation: Situation) -> None:
    one = found(cluster, situation)["MPI Operator"]
    assert one.is_met is False
    assert "install the MPI Operator" in one.cure


def test_an_old_operator_is_reported(cluster: Cluster, api: SimulatedApiServer, situation: Situation) -> None:
    api.apply(
        "customresourcedefinitions", {**CRD, "spec": {"versions": [{"name": "v1alpha2", "served": True}]}}
    )
    one = found(cluster, situation)["MPI Operator"]
    assert (one.is_met, one.found) == (False, "MPIJob v1alpha2")


def test_each_right_that_is_missing_is_a_finding(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.forbidden = {("deletecollection", "mpijobs"), ("get", "pods/log")}
    findings = found(cluster, situation)
    assert {"right to deletecollection mpijobs", "right to get pods/log"} <= findings.keys()
    assert "deploy/kubernetes" in findings["right to get pods/log"].cure


def test_nodes_that_may_be_listed_and_not_watched_are_reported(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    assert "right to watch nodes" not in found(cluster, situation)
    api.forbidden = {("watch", "nodes")}
    one = found(cluster, situation)["right to watch nodes"]
    assert (one.is_met, "deploy/kubernetes" in one.cure) == (None, True)


def test_networks_that_nobody_makes_are_missed(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.apply("network-attachment-definitions", {"metadata": {"name": "there"}})
    there, lost = (
        Network(interface="net1", pod=PodNetwork(attachment=name)) for name in ("there", "other/lost")
    )
    findings = found(cluster, situation, there=there, lost=lost, made=MACVLAN)
    assert [findings[f"network {name}"].is_met for name in ("there", "lost", "made")] == [True, False, True]
    assert "other/lost is not there" in findings["network lost"].found


@pytest.mark.parametrize(("mode", "is_met"), [("ReadWriteMany", True), ("ReadWriteOnce", False)])
def test_claims_of_several_nodes_must_be_shared(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation, mode: str, is_met: bool
) -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"accessModes": [mode]}, "status": {"phase": "Bound"}}
    api.apply("persistentvolumeclaims", claim)
    with_claim = situation.with_options(work=WorkVolume(claim="c", path="/c"))
    assert found(cluster, with_claim)["claim c for campaigns"].is_met is is_met


def test_a_server_that_does_not_answer_is_the_only_finding(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.outage(is_down=True)
    (one,) = found(cluster, situation).values()
    assert (one.name, one.is_met) == ("API server", False)


def test_what_each_campaign_has_is_reported_with_who_made_it_and_goes_alone(
    cluster: Cluster,
    api: SimulatedApiServer,
    make_scheduler: Callable[[], KubernetesScheduler],
    task: Callable[..., Task],
) -> None:
    scheduler = make_scheduler()
    for run, campaign, folder, session in (
        ("1.1", "dead", "/dead", "dead:2:one:"),
        ("2.1", "alive", "/alive", "alive:2:one:"),
        ("3.1", "elsewhere", "/dead", ""),
        ("4.1", "dead", "/dead", "dead:2:two:"),
    ):
        one = task(run)
        labels = {**one.labels, "campaign": campaign, "folder": folder}
        if session:
            labels["session"] = session
        scheduler.submit([msgspec.structs.replace(one, name=f"tare-{campaign}-ab-{run}", labels=labels)])
    found = {one.what.split("-")[1]: one for one in leftovers(cluster)}
    assert {name: {*one.owners} for name, one in found.items()} == {
        "dead": {("dead:2:one:", "/dead"), ("dead:2:two:", "/dead")},
        "alive": {("alive:2:one:", "/alive")},
        "elsewhere": {("", "/dead")},
    }
    assert found["dead"].end()
    assert api.names("mpijobs") == ["tare-alive-ab-2-1", "tare-elsewhere-ab-3-1"]
    assert len(api.names("configmaps")) == 2
