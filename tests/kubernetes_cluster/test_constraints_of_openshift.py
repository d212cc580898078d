"""Which of Tare's pods OpenShift's constraints take: doubles of them, before a real API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backends.kubernetes.situations import BASE, HOST, Situation
from kubelab.control_plane import ControlPlane
from kubelab.processes import KubelabError
from kubernetes_cluster.conftest import Lab
from support.waiting import until
from tare.plugins.backends.kubernetes.options import Seccomp

CONSTRAINTS = Path(__file__).parents[2] / "kubelab/manifests/security-context-constraints.yaml"
FIRST = 1000650000
CLUSTERS = BASE.with_options(user=None)
ON_HOST = CLUSTERS._replace(network=HOST)
ROOT = BASE.with_options(user=0, ssh_port=22)
WITHOUT_PROFILE = ROOT.with_options(seccomp=Seccomp.CLUSTER)
RDMA = CLUSTERS.with_options(memlock="unlimited")
TAKEN = {
    "restricted-v2, its own user": ("restricted-v2", CLUSTERS, FIRST),
    "restricted-v2, a user of the range": ("restricted-v2", BASE.with_options(user=FIRST + 7), FIRST + 7),
    "hostnetwork-v2, host network": ("hostnetwork-v2", ON_HOST, FIRST),
    "nonroot-v2, user 1000": ("nonroot-v2", BASE, 1000),
    "anyuid, root without a profile": ("anyuid", WITHOUT_PROFILE, 0),
}
REFUSED = {
    "restricted-v2, user 1000": ("restricted-v2", BASE, "must be in the ranges: [1000650000, 1000659999]"),
    "restricted-v2, root": ("restricted-v2", ROOT, "runAsUser=0"),
    "restricted-v2, host network": ("restricted-v2", ON_HOST, "host namespaces (hostNetwork=true)"),
    "restricted-v2, IPC_LOCK": ("restricted-v2", RDMA, "unrestricted capabilities"),
    "hostnetwork-v2, IPC_LOCK": ("hostnetwork-v2", RDMA, "capability may not be added"),
    "hostnetwork-v2, root": ("hostnetwork-v2", ROOT, "must be in the ranges"),
    "nonroot-v2, root": ("nonroot-v2", ROOT, "running with the root UID is forbidden"),
    "anyuid, user 1000": ("anyuid", BASE, "seccomp may not be set"),
    "anyuid, root": ("anyuid", ROOT, "seccomp may not be set"),
}
Doc = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> ControlPlane:
    """Make a project for each constraint; restricted-v2 alone goes with PodSecurity's restricted."""
    lab.control_plane.apply(CONSTRAINTS.read_text())
    for scc in ("restricted-v2", "hostnetwork-v2", "nonroot-v2", "anyuid"):
        level = "restricted" if scc == "restricted-v2" else "privileged"
        meta = {
            "name": scc,
            "labels": {"kubelab/scc": scc, "pod-security.kubernetes.io/enforce": level},
            "annotations": {"openshift.io/sa.scc.uid-range": f"{FIRST}/10000"},
        }
        lab.control_plane.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": meta}))
        lab.control_plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", scc)
    until(lambda: made(lab.control_plane, "restricted-v2", CLUSTERS)["spec"].get("runtimeClassName"))
    return lab.control_plane


def made(cluster: ControlPlane, scc: str, situation: Situation) -> Doc:
    """Return a worker as the API server would make it. Raises KubelabError where it is refused."""
    job: Any = situation.documents()[-1]
    template = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    meta = {"name": "worker", "namespace": scc, "labels": template["metadata"]["labels"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
    words = ("create", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "json")
    found: Doc = json.loads(cluster.kubectl(*words, stdin=json.dumps(pod)))
    return found


@pytest.mark.parametrize("name", TAKEN)
def test_a_constraint_takes(cluster: ControlPlane, name: str) -> None:
    scc, situation, user = TAKEN[name]
    spec = made(cluster, scc, situation)["spec"]
    assert spec.get("securityContext", {}).get("runAsUser") == user
    assert spec["runtimeClassName"] == "cri-o"


@pytest.mark.parametrize("name", REFUSED)
def test_a_constraint_refuses(cluster: ControlPlane, name: str) -> None:
    scc, situation, words = REFUSED[name]
    with pytest.raises(KubelabError) as refused:
        made(cluster, scc, situation)
    assert words in str(refused.value)
