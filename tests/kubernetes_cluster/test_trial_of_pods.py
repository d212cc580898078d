"""`tare doctor --site` tries the pods, which admission judges and the MPIJob's dry run never shows it."""

from __future__ import annotations

import json

import pytest

from kubernetes_cluster.conftest import Campaign, Doc, Lab
from tare import config
from tare.app.platform_checks import check_backend
from tare.core.checks import Finding

JOB = "a job on sdn, tried without making it"
LAUNCHER, WORKER = (f"the {role} of a job on sdn, tried without making it" for role in ("launcher", "worker"))
LIMITS = """\
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: NAMESPACE}
spec: {limits: [{type: Container, max: {cpu: "2"}, default: {memory: 1Gi}, defaultRequest: {memory: 1Gi}}]}
"""


def examine(campaign: Campaign, *, is_well: bool | None) -> dict[str, Finding]:
    """Return what doctor finds, by name, and see whether it calls the cluster usable."""
    source = config.read_site(str(campaign.site))
    reported = list(check_backend(source, source.site, "pods", {}))
    has_failed = any(one.is_met is False for one in reported)
    assert is_well in {None, not has_failed}, [one for one in reported if one.is_met is not True]
    return {one.name.removeprefix("pods: "): one for one in reported}


def refused(campaign: Campaign, name: str = WORKER) -> Finding:
    """Return what is found of a pod that is refused, while the job that it comes from is taken."""
    found = examine(campaign, is_well=False)
    assert found[JOB].is_met is True, "the dry run of the job alone would call this well"
    assert found[name].is_met is False
    return found[name]


def test_each_kind_of_pod_is_tried(campaign: Campaign) -> None:
    found = examine(campaign.write(), is_well=True)
    tried = {name.partition(",")[0] for name in found if name.startswith("the ")}
    assert tried == {
        "the launcher of a job on sdn", "the worker of a job on sdn", "the pod of a job of one node on sdn",
        "the server of a server and a client on sdn", "the client of a server and a client on sdn",
    }  # fmt: skip
    assert campaign.objects() == []


def test_a_quota_that_a_pod_exceeds_is_reported_with_its_own_message(lab: Lab, campaign: Campaign) -> None:
    lab.control_plane.kubectl("create", "quota", "tiny", "--hard=requests.cpu=1", "-n", campaign.namespace)
    found = refused(campaign.write(cpus=4))
    assert "exceeded quota: tiny, requested: requests.cpu=4" in found.found
    assert "'cpus'" in found.cure


def test_a_quota_that_counts_what_pods_do_not_ask_for_is_reported(lab: Lab, campaign: Campaign) -> None:
    lab.control_plane.kubectl("create", "quota", "m", "--hard=limits.memory=9Gi", "-n", campaign.namespace)
    found = refused(campaign.write())
    assert "must specify limits.memory" in found.found
    assert "set 'memory'" in found.cure


def test_a_quota_with_room_for_a_pod_and_not_for_all_jobs_in_flight_is_reported(
    lab: Lab, campaign: Campaign
) -> None:
    """Three jobs at a time, each a launcher and two workers, are nine pods."""
    lab.control_plane.kubectl("create", "quota", "q", "--hard=pods=7", "-n", campaign.namespace)
    found = examine(campaign.write(), is_well=False)
    assert found[WORKER].is_met is True
    assert "9 pods in all: pods 9 of 7 that are left" in found["room in quota q for a job on sdn"].found
    assert "room in quota q for a job of one node on sdn" not in found
    examine(campaign.write(in_flight=2), is_well=True)


def test_what_a_limit_range_adds_counts_towards_the_quota(lab: Lab, campaign: Campaign) -> None:
    lab.control_plane.apply(LIMITS.replace("NAMESPACE", campaign.namespace))
    kubectl, place = lab.control_plane.kubectl, ("-n", campaign.namespace)
    kubectl("create", "quota", "q", "--hard=requests.memory=2Gi", *place)
    found = examine(campaign.write(in_flight=1), is_well=False)
    assert "requests.memory" in found["room in quota q for a job on sdn"].found


def test_a_limit_range_that_forbids_a_pod_is_reported(lab: Lab, campaign: Campaign) -> None:
    lab.control_plane.apply(LIMITS.replace("NAMESPACE", campaign.namespace))
    found = refused(campaign.write(cpus=3))
    assert "maximum cpu usage per Container is 2" in found.found
    assert "LimitRange" in found.cure


def test_pod_security_that_forbids_a_pod_is_reported(lab: Lab, campaign: Campaign) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    lab.control_plane.kubectl("label", "namespace", campaign.namespace, label)
    examine(campaign.write(), is_well=True)
    found = refused(campaign.write(user=0))
    assert 'violates PodSecurity "restricted:latest"' in found.found
    assert "runAsNonRoot" in found.found
    assert "pod-security.kubernetes.io/enforce" in found.cure


def test_what_pod_security_only_warns_of_is_reported(lab: Lab, campaign: Campaign) -> None:
    label = "pod-security.kubernetes.io/warn=restricted"
    lab.control_plane.kubectl("label", "namespace", campaign.namespace, label)
    found = examine(campaign.write(user=0), is_well=True)
    warning = found[f"{WORKER}: warning"]
    assert warning.is_met is None
    assert 'would violate PodSecurity "restricted:latest"' in warning.found
    assert warning.cure


@pytest.mark.parametrize(
    ("options", "message", "cure"),
    [
        ({"service_account": "nobody"}, 'serviceaccount "nobody" not found', "service_account"),
        ({"priority_class": "urgent"}, "no PriorityClass with name urgent was found", "priorityclasses"),
    ],
)
def test_what_a_pod_names_and_is_not_there_is_reported(
    campaign: Campaign, options: Doc, message: str, cure: str
) -> None:
    found = refused(campaign.write(**options))
    assert message in found.found
    assert cure in found.cure


def test_a_policy_of_the_cluster_that_judges_pods_is_reported(lab: Lab, campaign: Campaign) -> None:
    """Stands for what judges pods as OpenShift's SecurityContextConstraints do; it speaks other words."""
    name = f"no-{campaign.namespace}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    selects = {"matchLabels": {"kubernetes.io/metadata.name": campaign.namespace}}
    spec = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selects},
        "validations": [{"expression": "!has(object.spec.nodeSelector)", "message": "no selectors here"}],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {**kind, "kind": "ValidatingAdmissionPolicy", "spec": spec}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    lab.control_plane.apply(json.dumps(policy))
    bound = {**kind, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
    lab.control_plane.apply(json.dumps(bound))
    campaign.write(node_selector={"rack": "7"})
    for _ in range(20):  # the API server takes a policy up after a while
        if examine(campaign, is_well=None)[WORKER].is_met is False:
            break
    found = refused(campaign)
    assert "no selectors here" in found.found
    assert "policy" in found.cure
    lab.control_plane.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)
