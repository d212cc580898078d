"""OpenShift's users in real pods: doubles play its admission and CRI-O (kubelab/cri_o.py)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
import yaml

from kubernetes_pods.conftest import Campaign, Doc, PodLab

FIRST = 1000650000
RINGS = {"openmpi": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "openshift": "mpich"}
"""The ring of each platform's ABI; the platform openshift has Intel MPI."""
RING = 'echo "I am $(id -u) $(id -un), group $(id -g)" >&2; exec /opt/ring/{abi}'
ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="module")
def projects(pods: PodLab) -> Iterator[Mapping[str, str]]:
    """Make a project for each constraint; PodSecurity refuses what hostnetwork-v2 allows."""
    made = {"restricted-v2": "restricted", "hostnetwork-v2": "privileged"}
    for scc, level in made.items():
        meta = {
            "name": scc,
            "labels": {"kubelab/scc": scc, ENFORCE: level},
            "annotations": {"openshift.io/sa.scc.uid-range": f"{FIRST}/10000"},
        }
        path = pods.folder / f"{scc}.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": meta}))
        pods.kubectl("apply", "-f", str(path))
    yield {scc: scc for scc in made}
    for scc in made:
        pods.kubectl("delete", "namespace", scc, "--wait=false")


def ended(campaign: Campaign) -> Doc:
    [attempt] = campaign.attempts()
    return attempt


def kept(campaign: Campaign, name: str) -> str:
    """Return a file of the one attempt's folder."""
    [path] = campaign.out.glob(f"attempts/*/*/{name}")
    return path.read_text()


@pytest.mark.parametrize("platform", RINGS)
def test_each_mpi_runs_on_two_nodes_as_the_user_that_restricted_v2_chooses(
    campaign: Campaign, projects: Mapping[str, str], platform: str
) -> None:
    options = {"namespace": projects["restricted-v2"], "user": "cluster"}
    done = campaign.write(platform=platform, script=RING.format(abi=RINGS[platform]), options=options).run()
    assert done.returncode == 0, done.stdout + done.stderr + str(ended(campaign))
    assert ended(campaign)["hosts"] == ["node0", "node1"]
    assert "value: 2" in kept(campaign, "stdout")
    assert f"I am {FIRST} " in kept(campaign, "stderr")
    for pod in yaml.safe_load_all(kept(campaign, "pods.yaml")):
        spec = pod["spec"]
        assert (spec["runtimeClassName"], spec["securityContext"]["runAsUser"]) == ("cri-o", FIRST)
        assert all(one["securityContext"]["capabilities"] == {"drop": ["ALL"]} for one in spec["containers"])


def test_a_server_and_its_client_run_as_that_user(campaign: Campaign, projects: Mapping[str, str]) -> None:
    options = {"namespace": projects["restricted-v2"], "user": "cluster"}
    workload = {"iperf3": {"time_s": 4, "omit_s": 0}}
    study = {"workloads": {}, "factors": {"workload": [workload], "network": ["sdn"]}}
    done = campaign.write(options=options, study=study).run()
    assert done.returncode == 0, done.stdout + done.stderr + str(ended(campaign))


def test_without_an_account_the_run_fails_at_once_with_the_message_of_nologin(
    campaign: Campaign, projects: Mapping[str, str]
) -> None:
    options = {"namespace": projects["restricted-v2"], "user": "cluster", "passwd": False}
    campaign.write(platform="openmpi", options=options, study={"retries": 2}).run()
    reason = ended(campaign)["reason"]
    assert "This account is currently not available" in reason
    assert "'passwd: true'" in reason


def test_a_user_whom_neither_image_nor_containerd_knows_is_named_by_ssh(campaign: Campaign) -> None:
    campaign.write(platform="openmpi", options={"user": FIRST}, study={"retries": 2}).run()
    assert f"No user exists for uid {FIRST}" in ended(campaign)["reason"]


@pytest.mark.parametrize(
    "options", [{"user": FIRST, "passwd": True}, {"user": 1000}, {"user": 0, "ssh_port": 22}], ids=str
)
def test_it_runs_as_whom_the_site_names(campaign: Campaign, options: Mapping[str, object]) -> None:
    done = campaign.write(platform="openmpi", script=RING.format(abi="openmpi"), options=options).run()
    assert done.returncode == 0, done.stdout + done.stderr + str(ended(campaign))
    assert f"I am {options['user']} " in kept(campaign, "stderr")


def test_where_nobody_chooses_a_user_an_image_of_roots_is_refused_with_the_kubelet_s_message(
    campaign: Campaign,
) -> None:
    campaign.write(platform="openmpi", options={"user": "cluster"}).run()
    assert "image will run as root" in ended(campaign)["reason"]


def test_restricted_v2_refuses_user_1000_with_a_message_that_is_reported(
    campaign: Campaign, projects: Mapping[str, str]
) -> None:
    options = {"namespace": projects["restricted-v2"], "timeouts": {"scheduled": "10 s"}}
    campaign.write(platform="openmpi", options=options).run()
    assert f"must be in the ranges: [{FIRST}, {FIRST + 9999}]" in ended(campaign)["reason"]


def test_pods_run_in_the_network_of_their_node_under_hostnetwork_v2(
    campaign: Campaign, projects: Mapping[str, str]
) -> None:
    options = {"namespace": projects["hostnetwork-v2"], "user": "cluster"}
    script = RING.format(abi="openmpi")
    done = campaign.write(platform="openmpi", script=script, networks=["pod-host"], options=options).run()
    assert done.returncode == 0, done.stdout + done.stderr + str(ended(campaign))
    assert f"I am {FIRST} " in kept(campaign, "stderr")


def test_a_pod_that_comes_to_its_limit_of_processes_is_named_with_the_limit(
    campaign: Campaign, projects: Mapping[str, str]
) -> None:
    limited = {"template": {"metadata": {"annotations": {"kubelab/pids-limit": "64"}}}}
    options = {
        "namespace": projects["restricted-v2"], "user": "cluster",
        "merge": {"spec": {"mpiReplicaSpecs": {"Worker": limited}}},
    }  # fmt: skip
    script = "i=0; while [ $i -lt 99 ]; do sleep 20 & i=$((i + 1)); done; exec /opt/ring/openmpi"
    campaign.write(platform="openmpi", script=script, options=options).run()
    reason = ended(campaign)["reason"]
    assert "the kernel refused processes or threads to the pod on node" in reason
    assert "the container may have 64" in reason
