"""What doctor says of the nodes, the policies between pods, and the MPI Operator's own limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import Situation
from tare.core.checks import Finding
from tare.core.pod_network import PodNetwork
from tare.core.site import Network
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.checks.doctor import check_cluster
from tare.plugins.backends.kubernetes.options import (
    LauncherOptions,
    LauncherPlace,
    SchedulingPolicy,
    Toleration,
)

SDN = Network(interface="eth0")
OURS = {"matchLabels": {"app.kubernetes.io/managed-by": "tare"}}


@pytest.fixture
def cluster(situation: Situation) -> Iterator[Cluster]:
    made = Cluster.connect(situation.options)
    yield made
    made.close()


def found(cluster: Cluster, situation: Situation, **networks: Network) -> dict[str, Finding]:
    return {one.name: one for one in check_cluster(cluster, situation.options, networks or {"sdn": SDN})}


def node(api: SimulatedApiServer, name: str, **more: Doc) -> None:
    labels = {"kubernetes.io/hostname": name, **more.get("labels", {})}
    status = {"conditions": [{"type": "Ready", "status": "False" if "broken" in more else "True"}]}
    spec = more.get("spec", {})
    api.apply("nodes", {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})


def test_nodes_are_reported_with_whom_they_are_shared(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    for name in ("w1", "w2", "w3", "w4"):
        node(api, name)
    node(api, "w5", broken={})
    for number, (at, space) in enumerate((("w1", "monitoring"), ("w2", "monitoring"), ("w3", "shop"))):
        meta = {"name": f"p{number}", "namespace": space}
        spec = {"nodeName": at, "containers": [{"resources": {"requests": {"cpu": "250m"}}}]}
        api.apply("pods", {"metadata": meta, "spec": spec, "status": {"phase": "Running"}})
    reported = found(cluster, situation)
    assert reported["nodes of programs"].found == "4 of 5: w1, w2, w3, w4"
    assert reported["neighbours on w1, w2"].found == "1 of monitoring; they ask for 0.25 CPUs"
    assert reported["neighbours on w3"].is_met is None
    assert "isolation" in reported["neighbours on w3"].cure
    assert (reported["neighbours on w4"].found, reported["neighbours on w4"].is_met) == ("none", True)


@pytest.mark.parametrize(
    ("options", "n_usable"),
    [
        ({}, 1),
        ({"isolation": "bench=only"}, 1),
        ({"node_selector": {"bench": "only"}}, 0),
        ({"node_selector": {"bench": "only"}, "tolerations": (Toleration(key="bench", value="x"),)}, 1),
        ({"nodes": ("plain", "set-apart")}, 1),
        ({"nodes": ("nowhere",)}, 0),
    ],
)
def test_nodes_of_programs_are_those_that_pods_may_be_on(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation, options: Doc, n_usable: int
) -> None:
    taint = {"key": "bench", "value": "x", "effect": "NoSchedule"}
    node(api, "set-apart", labels={"bench": "only"}, spec={"taints": [taint]})
    node(api, "plain")
    node(api, "cordoned", spec={"unschedulable": True})
    reported = found(cluster, situation.with_options(**options))["nodes of programs"]
    assert reported.is_met is bool(n_usable)
    if n_usable:
        assert reported.found.startswith(f"{n_usable} of 3")


@pytest.mark.parametrize(
    ("n_nodes", "options", "is_met"),
    [
        (2, {}, False),
        (3, {}, True),
        (3, {"nodes": ("w0", "w1")}, True),
        (2, {"nodes": ("w0", "w1")}, False),
        (3, {"launcher": LauncherOptions(node_selector={"role": "infra"})}, False),
        (2, {"launcher": LauncherOptions(place=LauncherPlace.BESIDE)}, None),
    ],
)
def test_a_launcher_that_keeps_apart_needs_a_node(
    cluster: Cluster,
    api: SimulatedApiServer,
    situation: Situation,
    n_nodes: int,
    options: Doc,
    is_met: bool | None,
) -> None:
    for number in range(n_nodes):
        node(api, f"w{number}")
    reported = found(cluster, situation.with_options(**options)).get("a node for the launcher")
    assert (reported.is_met if reported else None) is is_met
    if reported and not reported.is_met:
        assert "place: beside" in reported.cure


@pytest.mark.parametrize(("n_nodes", "in_flight", "is_met"), [(4, 2, None), (5, 2, True), (4, 1, True)])
def test_runs_at_a_time_that_may_leave_their_launchers_no_node_are_reported(
    cluster: Cluster,
    api: SimulatedApiServer,
    situation: Situation,
    n_nodes: int,
    in_flight: int,
    is_met: bool | None,
) -> None:
    for number in range(n_nodes):
        node(api, f"w{number}")
    reported = found(cluster, situation.with_options(in_flight=in_flight))["a node for the launcher"]
    assert reported.is_met is is_met
    if is_met is None:
        assert "2 runs at a time (in_flight) may leave none" in reported.found
        assert "lower 'in_flight'" in reported.cure


def policy(api: SimulatedApiServer, **spec: object) -> None:
    api.apply("networkpolicies", {"metadata": {"name": "p"}, "spec": {"podSelector": {}, **spec}})


@pytest.mark.parametrize(
    ("spec", "is_met", "says"),
    [
        ({"policyTypes": ["Ingress"]}, False, "p: port 2222 to pods of a run is closed"),
        ({"policyTypes": ["Egress"]}, False, "p: port 2222 from pods of a run is closed"),
        ({"ingress": [{}]}, True, "reach each other"),
        ({"ingress": [{"from": [{"podSelector": OURS}]}]}, True, "reach each other"),
        ({"ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "x"}}}]}]}, False, "is closed"),
        ({"ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 2222}]}]}, None, "only some ports"),
        ({"ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 22}]}]}, False, "is closed"),
        ({"ingress": [{"ports": [{"port": 2000, "endPort": 3000}]}]}, None, "only some ports"),
        ({"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, None, "unless a rule for other"),
        ({"podSelector": {"matchLabels": {"app": "x"}}, "policyTypes": ["Ingress"]}, True, "reach"),
    ],
)
def test_a_policy_that_closes_ports_between_pods_is_reported(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation, spec: Doc, is_met: bool | None, says: str
) -> None:
    policy(api, **spec)
    reported = found(cluster, situation)["network policies"]
    assert (reported.is_met, says in reported.found) == (is_met, True), reported.found
    assert is_met or "network-policy.yaml" in reported.cure


def test_an_attachment_of_another_namespace_is_warned_of(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.apply("network-attachment-definitions", {"metadata": {"name": "hsn"}})
    networks = {
        name: Network(interface="net1", pod=PodNetwork(attachment=attachment))
        for name, attachment in (("own", "hsn"), ("other", "networks/hsn"), ("default", "default/hsn"))
    }
    reported = found(cluster, situation, **networks)
    assert [name for name in reported if name.endswith("of another namespace")] == [
        "network other, of another namespace"
    ]
    assert "namespaceIsolation" in reported["network other, of another namespace"].found


def definition(spec: Doc) -> Doc:
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}}
    version = {"name": "v2beta1", "served": True, "schema": schema}
    return {"metadata": {"name": "mpijobs.kubeflow.org"}, "spec": {"versions": [version]}}


def test_an_operator_of_version_0_4_lacks_a_field_that_jobs_have(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.apply("customresourcedefinitions", definition({"sshAuthMountPath": {}, "mpiImplementation": {}}))
    reported = found(cluster, situation)["MPIJob's fields"]
    assert (reported.is_met, "lacks launcherCreationPolicy" in reported.found) == (False, True)
    assert "0.5 or later" in reported.cure


@pytest.mark.parametrize(
    ("args", "name", "is_met", "says"),
    [
        (["-alsologtostderr"], "MPI Operator's limits", True, "5 requests a second (10 at once)"),
        (["--kube-api-qps=50", "-threadiness", "8"], "MPI Operator's limits", True, "50 requests a second"),
        ([], "MPI Operator's limits", True, "2 threads: some 1,700 jobs of two nodes an hour"),
        (["--controller-queue-rate-limit=99"], "MPI Operator's limits", True, "some 2,200 jobs of two nodes"),
        (["--kube-api-qps=many"], "MPI Operator's limits", True, "2 threads; gang scheduling: none"),
        (["--namespace=other"], "MPI Operator's namespace", False, "pods of jobs in other alone"),
        ([], "MPI Operator's gang scheduling", False, "no flag --gang-scheduling"),
    ],
)
def test_the_operator_s_own_limits_are_reported(
    cluster: Cluster,
    api: SimulatedApiServer,
    situation: Situation,
    args: list[str],
    name: str,
    is_met: bool,
    says: str,
) -> None:
    api.apply("customresourcedefinitions", definition({}))
    labels = {"app": "mpi-operator"}
    pod = {"spec": {"containers": [{"image": "mpioperator/mpi-operator:0.8.2", "args": args}]}}
    meta = {"name": "mpi-operator", "namespace": "mpi-operator", "labels": labels}
    api.apply("deployments", {"metadata": meta, "spec": {"template": pod}, "status": {"readyReplicas": 1}})
    reported = found(cluster, situation.with_options(scheduling_policy=SchedulingPolicy()))[name]
    assert (reported.is_met, says in reported.found) == (is_met, True), reported.found


def test_an_operator_whose_deployment_may_not_be_read_is_not_known(
    cluster: Cluster, api: SimulatedApiServer, situation: Situation
) -> None:
    api.apply("customresourcedefinitions", definition({}))
    api.refusals["deployments"] = (403, "deployments.apps is forbidden")
    reported = found(cluster, situation)["MPI Operator's limits"]
    assert (reported.is_met, reported.found.startswith("not known: ")) == (None, True)
