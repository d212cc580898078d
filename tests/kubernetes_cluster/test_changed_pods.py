"""Pods that an admission policy of the cluster changes, as those of service meshes and autoscalers do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
import yaml

from cli.conftest import Tare
from kubernetes_cluster.conftest import Campaign, Doc, Lab, until_clean
from support.waiting import until

SIDECAR = (
    'JSONPatch{op: "add", path: "/spec/containers/0", value: '
    'Object.spec.containers{name: "istio-proxy", image: "istio"}}'
)
NATIVE = (
    "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{"
    "name: 'istio-proxy', image: 'istio', restartPolicy: 'Always'}]}}"
)
CPUS = 'JSONPatch{op: "replace", path: "/spec/containers/0/resources/limits/cpu", value: "4"}'
DEADLINE = "Object{spec: Object.spec{activeDeadlineSeconds: 60}}"
ANYWHERE = 'JSONPatch{op: "remove", path: "/spec/nodeSelector"}'
_OURS = "has(object.metadata.labels) && 'tare/role' in object.metadata.labels"
Change = Callable[[str], None]


@pytest.fixture
def change(lab: Lab, namespace: str) -> Iterator[Change]:
    """Let a policy change each pod of Tare's in the namespace."""

    def apply(patch: str) -> None:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        meta = {"apiVersion": "admissionregistration.k8s.io/v1beta1", "metadata": {"name": namespace}}
        spec = {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [rule]},
            "matchConditions": [{"name": "ours", "expression": _OURS}],
            "mutations": [_mutation(patch)],
        }
        binding = {"kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": namespace}}
        policy = {"kind": "MutatingAdmissionPolicy", "spec": spec}
        lab.control_plane.apply(yaml.safe_dump_all([meta | policy, meta | binding]))
        until(lambda: _is_changed(lab, namespace))

    yield apply
    lab.control_plane.kubectl(
        "delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", namespace, "--ignore-not-found"
    )


def _mutation(patch: str) -> Doc:
    if patch.startswith("JSONPatch"):
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{patch}]"}}
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": patch}}


def _is_changed(lab: Lab, namespace: str) -> bool:
    """Return whether the API server applies the policy, which it has to load first."""
    limits = {"cpu": "1"}
    container = {"name": "launcher", "image": "i", "resources": {"limits": limits}}
    spec = {"containers": [container], "nodeSelector": {"a": "b"}}
    meta = {"name": "probe", "namespace": namespace, "labels": {"tare/role": "launcher"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    words = ("create", "--dry-run=server", "-o", "json", "-f", "-")
    made = json.loads(lab.control_plane.kubectl(*words, stdin=json.dumps(pod)))["spec"]
    is_whole = "nodeSelector" in made and not {"initContainers", "activeDeadlineSeconds"} & made.keys()
    return not is_whole or made["containers"][0]["resources"].get("limits") != limits


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
    kind = "init container" if patch == NATIVE else "container"
    assert found == {f"{kind} istio-proxy was added"}
    until_clean(campaign)


def test_a_deadline_that_a_policy_gives_pods_is_named_by_the_doctor(
    campaign: Campaign, change: Change, tare: Tare
) -> None:
    campaign.write(nodes=1, repeats=1)
    change(DEADLINE)
    assert "it is ended after 60 s (activeDeadlineSeconds)" in tare("doctor", "--site", campaign.site).stdout


@pytest.mark.parametrize(
    ("patch", "what"),
    [
        (CPUS, "cpu limit is 4 instead of "),
        (ANYWHERE, "node selector kubernetes.io/os was taken away"),
    ],
)
def test_a_pod_that_gets_other_than_was_asked_for_is_invalid_and_the_doctor_names_it(
    campaign: Campaign, change: Change, tare: Tare, patch: str, what: str
) -> None:
    campaign.write(nodes=1, repeats=1, node_selector={"kubernetes.io/os": "linux"})
    change(patch)
    doctor = tare("doctor", "--site", campaign.site)
    assert doctor.returncode == 3
    assert what in doctor.stdout
    campaign.run()
    assert campaign.counts() == {"invalid": 1}, campaign.status()
    assert what in campaign.status()
