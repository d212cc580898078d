"""What deploy/ holds is taken by a real API server. Of OpenShift's own kinds there are none in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubelab.control_plane import ControlPlane
from kubernetes_cluster.conftest import Lab

DEPLOY = Path(__file__).parents[2] / "deploy"
PLACE = "bench"
OFFERED = (
    "kubernetes/quota.yaml",
    "kubernetes/network-policy-egress.yaml",
    "openshift/nonroot.yaml",
    "openshift/anyuid.yaml",
    "openshift/project.yaml",
)
"""What stands in the kustomizations as a comment."""


@pytest.fixture
def bench(lab: Lab) -> ControlPlane:
    """Make the namespace that the manifests name."""
    text = f'{{"apiVersion": "v1", "kind": "Namespace", "metadata": {{"name": "{PLACE}"}}}}'
    lab.control_plane.apply(text)
    return lab.control_plane


@pytest.mark.parametrize("base", ["kubernetes", "openshift"])
def test_a_base_builds_and_the_api_server_takes_it(bench: ControlPlane, base: str) -> None:
    """Unknown fields are refused, and nothing is made."""
    words = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", str(DEPLOY / base))
    made = bench.kubectl(*words)
    assert "job.batch/tare serverside-applied (server dry run)" in made
    assert "networkpolicy.networking.k8s.io/tare-runs" in made


@pytest.mark.parametrize("name", OFFERED)
def test_what_is_offered_and_not_applied_is_taken_too(bench: ControlPlane, name: str) -> None:
    words = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "-n", PLACE)
    bench.kubectl(*words, "-f", str(DEPLOY / name))


def test_tare_on_openshift_names_no_user_of_its_own(bench: ControlPlane) -> None:
    """restricted-v2 refuses 1000, which deploy/kubernetes names."""
    users = {}
    for base in ("kubernetes", "openshift"):
        built = yaml.safe_load_all(bench.kubectl("kustomize", str(DEPLOY / base)))
        [job] = [one for one in built if one["kind"] == "Job"]
        users[base] = job["spec"]["template"]["spec"]["securityContext"]
    assert users["kubernetes"] == {**users["openshift"], "runAsUser": 1000, "fsGroup": 1000}
