"""What a real cluster says no to, and what never comes up: told in a way that leads to the cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Tare
from kubelab.control_plane import ControlPlane
from kubernetes_cluster.conftest import USER, Campaign, Lab, until_clean


def failed(campaign: Campaign, what: str) -> None:
    """Run a campaign of one run that must fail, for this reason; nothing of it may stay."""
    done = campaign.run()
    assert done.returncode in {1, 3}, f"{done.returncode}: {done.stdout} {done.stderr}"
    message = " ".join((done.stdout + done.stderr).split())
    assert what in message + campaign.status()
    until_clean(campaign)


def test_a_pod_that_fits_no_node_is_reported(campaign: Campaign) -> None:
    failed(campaign.write(repeats=1, cpus=2000, timeouts={"scheduled": 2}), "4 Insufficient cpu")


def test_too_few_nodes_for_workers_that_keep_apart_say_so(campaign: Campaign) -> None:
    campaign.write(repeats=1, node_selector={"kubernetes.io/hostname": "sim-0"}, timeouts={"scheduled": 2})
    failed(campaign, "didn't match pod anti-affinity rules")


def test_an_image_that_cannot_be_pulled_is_the_infrastructure_s_fault(campaign: Campaign) -> None:
    campaign.write(repeats=1, worker={"waits": "ImagePullBackOff"}, timeouts={"pulled": 1})
    failed(campaign, "waits: ImagePullBackOff")
    assert campaign.n_created() > 1, "it is tried again"


def test_workers_that_do_not_get_ready_are_named(campaign: Campaign) -> None:
    campaign.write(repeats=1, worker={"ready-after": "600s"}, timeouts={"pulled": 1, "ready": 1})
    failed(campaign, "not ready")


def test_a_launcher_that_fails_without_a_record_is_reported(lab: Lab, campaign: Campaign) -> None:
    campaign.write(repeats=1, launcher={"exit-code": "139"})
    lab.pods.is_silent = True
    try:
        failed(campaign, "ended with exit code 139")
    finally:
        lab.pods.is_silent = False


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_quota_of_pods_is_named(lab: Lab, campaign: Campaign, nodes: int) -> None:
    """A quota refuses pods, whose maker hears of it; Tare finds it in events."""
    lab.control_plane.kubectl("create", "quota", "few", "--hard=pods=0", "-n", campaign.namespace)
    failed(campaign.write(repeats=1, nodes=nodes), "exceeded quota: few")
    assert campaign.n_created("mpijobs" if nodes == 2 else "jobs") == 1, "another try would end as this one"


@pytest.mark.parametrize("nodes", [1, 2])
def test_what_pod_security_forbids_ends_at_once(lab: Lab, campaign: Campaign, nodes: int) -> None:
    """And not when the time for being scheduled is over, four times."""
    label = "pod-security.kubernetes.io/enforce=restricted"
    lab.control_plane.kubectl("label", "namespace", campaign.namespace, label)
    campaign.write(repeats=1, nodes=nodes, user=0, ssh_port=22)
    failed(campaign, 'violates PodSecurity "restricted:latest"')
    assert campaign.n_created("mpijobs" if nodes == 2 else "jobs") == 1


def test_an_account_that_does_not_exist_ends_a_run_at_once(campaign: Campaign) -> None:
    failed(campaign.write(repeats=1, service_account="nobody"), 'serviceaccount "nobody" not found')
    assert campaign.n_created() == 1


def test_a_limit_of_the_namespace_ends_a_run_at_once(lab: Lab, campaign: Campaign) -> None:
    limit = {
        "apiVersion": "v1", "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": campaign.namespace},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]},
    }  # fmt: skip
    lab.control_plane.apply(json.dumps(limit))
    failed(campaign.write(repeats=1, cpus=2), "maximum cpu usage per Container is 1")
    assert campaign.n_created() == 1


def test_a_quota_of_jobs_is_named(lab: Lab, campaign: Campaign) -> None:
    hard = "--hard=count/mpijobs.kubeflow.org=0"
    lab.control_plane.kubectl("create", "quota", "none", hard, "-n", campaign.namespace)
    failed(campaign.write(repeats=1), "exceeded quota: none")


def test_a_field_that_does_not_exist_is_refused_not_dropped(campaign: Campaign) -> None:
    failed(
        campaign.write(repeats=1, merge={"spec": {"slotPerWorker": 2}}), 'unknown field "spec.slotPerWorker"'
    )


def test_a_field_of_pods_that_does_not_exist_is_refused_too(campaign: Campaign) -> None:
    wrong = {"spec": {"mpiReplicaSpecs": {"Worker": {"template": {"spec": {"hostNetwrok": True}}}}}}
    failed(campaign.write(repeats=1, merge=wrong), "hostNetwrok")


def test_a_right_that_is_missing_is_named(lab: Lab, campaign: Campaign) -> None:
    lab.control_plane.kubectl("delete", "rolebinding", "tare", "-n", campaign.namespace)
    failed(campaign.write(repeats=1), f'User "{USER}" cannot list resource "jobs"')


def test_a_namespace_that_does_not_exist_is_named(lab: Lab, tmp_path: Path, tare: Tare) -> None:
    campaign = Campaign(lab, "nowhere", tmp_path, tare).write(
        repeats=1, kubeconfig=str(lab.control_plane.kubeconfig)
    )
    failed(campaign, 'namespaces "nowhere" not found')


def test_a_cluster_without_the_operator_is_reported(tmp_path: Path, tare: Tare, lab: Lab) -> None:
    with ControlPlane(tmp_path / "bare", is_bare=True) as bare:
        campaign = Campaign(lab._replace(control_plane=bare), "default", tmp_path, tare)
        campaign.write(repeats=1, kubeconfig=str(bare.kubeconfig))
        done = campaign.run()
        assert done.returncode != 0
        assert "is the MPI Operator installed" in campaign.status()
        doctor = tare("doctor", "--site", campaign.site)
        assert doctor.returncode == 3
        assert "there are no MPIJobs" in doctor.stdout
