"""Pods that an admission policy of the cluster changes, as those of service meshes and autoscalers do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
import yaml

from kubernetes_cluster.conftest import Campaign, Lab, until_clean

SIDECAR = 'JSONPatch{op: "add", path: "/spec/containers/0", value: Object.spec.containers{name: "istio-proxy", image: "istio"}}'
NATIVE = (
    'JSONPatch{op: "add", path: "/spec/initContainers", value: [Object.spec.initContainers{name: '
    '"istio-proxy", image: "istio", restartPolicy: "Always"}]}'
)
FEWER_CPUS = 'JSONPatch{op: "add", path: "/spec/containers/0/resources", value: Object.spec.containers.resources{limits: {"cpu": quantity("1")}}}'
ELSEWHERE = 'JSONPatch{op: "remove", path: "/spec/affinity"}'
Change = Callable[[str], None]


@pytest.fixture
def change(lab: Lab, namespace: str) -> Iterator[Change]:
    """Let a policy change each pod of Tare's in the namespace."""

    def apply(
        patch: str, condition: str = "has(object.metadata.labels) && 'tare/role' in object.metadata.labels"
    ) -> None:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        own = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        kind = {"apiVersion": "admissionregistration.k8s.io/v1beta1", "metadata": {"name": namespace}}
        policy = kind | {
            "kind": "MutatingAdmissionPolicy",
            "spec": {
                "failurePolicy": "Fail", "reinvocationPolicy": "Never",
                "matchConstraints": {"namespaceSelector": own, "resourceRules": [rule]},
                "matchConditions": [{"name": "ours", "expression": condition}],
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{patch}]"}}],
            },
        }  # fmt: skip
        binding = kind | {"kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": namespace}}
        lab.control_plane.apply(yaml.safe_dump_all([policy, binding]))
        _until_changed(lab, namespace)

    yield apply
    lab.control_plane.kubectl("delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", namespace)


def _until_changed(lab: Lab, namespace: str) -> None:
    """Wait until the API server has loaded the policy, which takes a second or two."""
    import time

    time.sleep(3)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("patch", [SIDECAR, NATIVE])
def test_a_container_that_a_service_mesh_adds_hides_no_result_and_is_recorded(
    campaign: Campaign, change: Change, nodes: int, patch: str
) -> None:
    change(patch)
    done = campaign.write(nodes=nodes, repeats=1).run()
    assert campaign.counts() == {"done": 1}, done.stdout + done.stderr + campaign.status()
    [environment] = (campaign.out / "environments").glob("*.json")
    facts = json.loads(environment.read_text())
    found = {facts[node]["kubernetes.changed"] for node in facts if node.startswith("sim-")}
    assert found == {"container istio-proxy was added"}
    until_clean(campaign)
