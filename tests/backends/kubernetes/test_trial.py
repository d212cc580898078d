"""How pods are tried: what comes of manifests, what the answers mean, and what quotas have room for."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from backends.kubernetes.situations import BASE, SITUATIONS, Situation
from tare.core.checks import Finding
from tare.plugins.backends.kubernetes.api.cluster import Cluster
from tare.plugins.backends.kubernetes.checks.dry_run import check_job
from tare.plugins.backends.kubernetes.diagnosis.quotas import Quota, check_room
from tare.plugins.backends.kubernetes.manifests.rendering import roles_of
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity, show_quantity

SCC = (
    'pods "x" is forbidden: unable to validate against any security context constraint: '
    "[provider restricted-v2: .containers[0].runAsUser: Invalid value: 1000: "
    "must be in the ranges: [1000660000, 1000669999]]"
)
"""In the form of OpenShift's refusals (openshift/apiserver-library-go, sccadmission)."""


def judged(situation: Situation) -> dict[str, Finding]:
    cluster = Cluster.connect(situation.options)
    found = {one.name: one for one in check_job(cluster, "a job", situation.documents(), 1)}
    cluster.close()
    return found


def test_openshift_s_constraints_refuse_the_pods_and_not_the_job(
    api: SimulatedApiServer, situation: Situation
) -> None:
    api.refusals["POST .*/pods"] = (403, SCC)
    found = judged(situation)
    assert found["a job, tried without making it"].is_met
    worker = found["the worker of a job, tried without making it"]
    assert (worker.is_met, "must be in the ranges" in worker.found) == (False, True)
    assert "SecurityContextConstraints" in worker.cure


def test_the_constraints_that_took_a_pod_are_named(api: SimulatedApiServer, situation: Situation) -> None:
    marked = situation.with_options(
        merge={"spec": {"template": {"metadata": {"annotations": {"openshift.io/scc": "restricted-v2"}}}}}
    )
    one_node = marked._replace(layout=SITUATIONS["one-node"].layout)
    found = judged(one_node)["the pod of a job, tried without making it"].found
    assert found == "is taken, under the SecurityContextConstraints restricted-v2"


def test_the_pods_of_a_job_are_those_of_its_templates() -> None:
    found = {role.name: role for role in roles_of(BASE.documents())}
    assert {name: role.n_pods for name, role in found.items()} == {"launcher": 1, "worker": 2}
    worker = found["worker"].pod
    assert isinstance(worker, dict)
    assert worker["metadata"]["namespace"] == "bench"  # type: ignore[index,call-overload]  # JSON of a known form
    assert [role.name for role in roles_of(SITUATIONS["pair"].documents())] == ["server", "client"]


@pytest.mark.parametrize(
    ("text", "amount", "shown"),
    [
        ("250m", Fraction(1, 4), "250m"),
        ("2", Fraction(2), "2"),
        ("1e3", Fraction(1000), "1000"),
        ("5k", Fraction(5000), "5000"),
        ("500000u", Fraction(1, 2), "500m"),
        ("1Gi", Fraction(2**30), "1Gi"),
        ("64Gi", Fraction(64 * 2**30), "64Gi"),
        ("1.5Gi", Fraction(3 * 2**29), "1536Mi"),
    ],
)
def test_quantities_are_read_as_kubernetes_means_them(text: str, amount: Fraction, shown: str) -> None:
    assert parse_quantity(text) == amount
    assert show_quantity(amount) == shown


@pytest.mark.parametrize("text", ["", "much", "x", "1 Gi", "2 Gi", "-1", "9" * 40, "9" * 400, "1e999"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    assert parse_quantity(text) is None


def pod(**spec: object) -> SeenPod:
    asked = {"cpu": "2", "memory": "1Gi"}
    container = {"resources": {"requests": asked, "limits": asked}}
    return msgspec.convert({"spec": {"containers": [container], **spec}}, SeenPod)


def quota(hard: Doc, used: Doc | None = None, **spec: object) -> Quota:
    status = {"hard": hard, "used": used or {}}
    return msgspec.convert({"metadata": {"name": "q"}, "spec": spec, "status": status}, Quota)


def room(one: Quota, *pods: tuple[int, SeenPod], in_flight: int = 2) -> list[str]:
    return [found.found for found in check_room([one], "a job", "MPIJob", pods, in_flight)]


def test_a_quota_must_cover_all_pods_of_all_jobs_in_flight() -> None:
    """Two jobs of 1 + 3 pods of 2 CPUs each are 16 CPUs."""
    pods = ((1, pod()), (3, pod()))
    assert room(quota({"requests.cpu": "16"}), *pods) == []
    (message,) = room(quota({"requests.cpu": "16"}, {"requests.cpu": "1"}), *pods)
    assert "8 pods in all: requests.cpu 16 of 15 that are left" in message


def test_overhead_of_a_runtime_class_counts() -> None:
    assert room(quota({"cpu": "4"}), (1, pod()), in_flight=2) == []
    assert room(quota({"cpu": "4"}), (1, pod(overhead={"cpu": "250m"})), in_flight=2)


def test_what_the_operator_makes_beside_pods_counts() -> None:
    assert room(quota({"count/jobs.batch": "2"}), (1, pod())) == []
    assert room(quota({"count/services": "1"}), (1, pod()))


@pytest.mark.parametrize(
    ("scopes", "counts"),
    [
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, True),
        ({"scopes": ["Terminating"]}, False),
        ({"scopes": ["BestEffort"]}, False),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["low"]}]}}, True),
        ({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}, False),
    ],
)  # fmt: skip
def test_a_quota_with_a_scope_counts_its_pods_alone(scopes: Doc, counts: bool) -> None:
    one = pod(priorityClassName="low")
    assert bool(room(quota({"pods": "1"}, **scopes), (1, one))) is counts
