"""`tare doctor --site` before a real API server: each fault with its cure."""

from __future__ import annotations

import json

import pytest

from cli.conftest import Tare
from kubernetes_cluster.conftest import USER, Campaign, Doc, Lab

CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch, namespace: NAMESPACE}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
NETWORKS: Doc = {
    "sdn": {"interface": "eth0"},
    "host": {"interface": "ens1", "pod": {"host": True}},
    "multus": {"interface": "net1", "pod": {"attachment": "hsn"}},
}


def examine(campaign: Campaign, tare: Tare, code: int) -> dict[str, Doc]:
    done = tare("doctor", "--site", campaign.site, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return {one["name"].removeprefix("pods: "): one for one in json.loads(done.stdout)["findings"]}


def test_a_cluster_with_everything_is_well(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    found = examine(campaign.write(), tare, code=0)
    assert found["API server"]["found"] == "v1.34.4"
    assert found["MPI Operator"]["found"] == "MPIJob v2beta1"
    assert found[f"rights in {campaign.namespace}"]["is_met"]
    assert found["a job on sdn, tried without making it"]["is_met"]
    assert campaign.objects() == []


def test_a_network_that_is_not_defined_is_found(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    campaign.write(networks=NETWORKS)
    found = examine(campaign, tare, code=3)
    assert f"{campaign.namespace}/hsn is not there" in found["network multus"]["found"]
    spec = {"config": json.dumps({"cniVersion": "0.4.0", "type": "macvlan", "master": "ens1"})}
    meta = {"name": "hsn", "namespace": campaign.namespace}
    kind = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    lab.control_plane.apply(json.dumps({**kind, "metadata": meta, "spec": spec}))
    found = examine(campaign, tare, code=0)
    assert f"{campaign.namespace}/hsn is there" in found["network multus"]["found"]
    assert {name for name in found if name.startswith("a job on")} == {
        f"a job on {network}, tried without making it" for network in NETWORKS
    }


def test_a_claim_that_only_one_node_may_have_is_found(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    lab.control_plane.apply(CLAIM.replace("NAMESPACE", campaign.namespace))
    campaign.write(paths={"scratch": "/s", "home": "/h"}, storage={"scratch": "scratch", "home": "nothing"})
    found = examine(campaign, tare, code=3)
    assert "ReadWriteOnce" in found["claim scratch for scratch"]["found"]
    assert "ReadWriteMany" in found["claim scratch for scratch"]["cure"]
    assert found["claim nothing for home"]["found"] == "is not there"


def test_a_right_that_is_missing_is_found_and_a_quota_shown(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    kubectl, place = lab.control_plane.kubectl, ("-n", campaign.namespace)
    kubectl("create", "quota", "small", "--hard=pods=7", *place)
    without_logs = [
        {"op": "test", "path": "/rules/3/resources", "value": ["pods/log"]},
        {"op": "remove", "path": "/rules/3"},
    ]
    kubectl("patch", "role", "tare", "--type=json", "-p", json.dumps(without_logs), *place)
    found = examine(campaign.write(), tare, code=3)
    assert "deploy/kubernetes" in found["right to get pods/log"]["cure"]
    assert [name for name in found if name.startswith("right to")] == ["right to get pods/log"]
    assert found["quota small"]["found"] == "pods 0 of 7"


@pytest.mark.parametrize(
    ("merge", "name", "what"),
    [
        ({"spec": {"runPolicy": {"suspend": True}}}, "a job on sdn: suspend", "before its workers"),
        (
            {"spec": {"slotPerWorker": 2}},
            "a job on sdn, tried without making it",
            "slotPerWorker",
        ),
    ],
)
def test_a_patch_that_leads_into_a_trap_is_found(
    campaign: Campaign, tare: Tare, merge: Doc, name: str, what: str
) -> None:
    found = examine(campaign.write(merge=merge), tare, code=3)
    assert found[name]["is_met"] is False
    assert what in found[name]["found"]
    assert found[name]["cure"]


def test_a_namespace_that_is_not_there_is_found(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    campaign.write(namespace="nowhere", kubeconfig=str(lab.control_plane.kubeconfig))
    found = examine(campaign, tare, code=3)
    assert 'namespaces "nowhere" not found' in found["a job on sdn, tried without making it"]["found"]


def test_somebody_unknown_is_reported_what_is_missing(lab: Lab, campaign: Campaign, tare: Tare) -> None:
    stranger = lab.control_plane.kubeconfig_for("stranger")
    found = examine(campaign.write(kubeconfig=str(stranger)), tare, code=3)
    assert USER not in str(found)
    assert len([name for name in found if name.startswith("right to")]) > 15
