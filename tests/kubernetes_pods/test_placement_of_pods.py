"""Whether runs in real pods were what they were asked to be, and what becomes of those that were not."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from cli.conftest import TARE
from kubelab import pod_lab
from kubernetes_pods.conftest import ONCE, Campaign, PodLab, attempts
from support.waiting import until

_OURS = "app.kubernetes.io/managed-by=tare"
_PATIENCE_S = 90
_SPIN = "timeout 4 sh -c 'while :; do :; done & while :; do :; done'; " + ONCE
"""Work for two CPUs, a while."""


def test_ranks_of_open_mpi_run_on_both_nodes(campaign: Campaign) -> None:
    done = campaign.write(platform="openmpi", networks=["sdn", "multus", "pod-host"]).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["hosts"] for one in campaign.attempts()] == 3 * [["node0", "node1"]]
    assert all("1 rank in each of 2 pods on 2 nodes" in one["placement"] for one in campaign.attempts())


def test_a_program_of_one_node_runs_in_a_job(campaign: Campaign) -> None:
    done = campaign.write(platform="openmpi", study={"nodes": 1}).run()
    if done.returncode != 0:  # a run of 40 ms may be throttled at its start for more than 1 %
        assert "throttled" in campaign.attempts()[-1]["reason"]
        done = campaign.run("--retry-failed")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(campaign.attempts()[-1]["hosts"]) == 1


def test_server_and_client_meet_on_the_second_interface(campaign: Campaign) -> None:
    workload = {"iperf3": {"time_s": 4, "omit_s": 0}}  # at the start pods touch their limit: not over 1 %
    factors = {"workload": [workload], "network": ["multus", "sdn"]}
    study = {"workloads": {}, "factors": factors}
    done = campaign.write(study=study).run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["state"] for one in campaign.attempts()] == ["done", "done"]


def test_a_run_with_fewer_cpus_than_it_was_to_have_is_invalid(campaign: Campaign) -> None:
    campaign.write(
        platform="openmpi", script=_SPIN, options={"resources": {"cpu": "300m"}}, study={"nodes": 1}
    )
    campaign.run()
    [attempt] = campaign.attempts()
    assert attempt["state"] == "invalid"
    assert "its control group allows 0.3" in attempt["reason"]
    assert "were throttled" in attempt["reason"]


def test_ranks_in_pods_that_are_bound_and_were_not_to_be_are_invalid(campaign: Campaign) -> None:
    campaign.write(env={"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": "1"}, study={"ranks_per_node": 2}).run()
    [attempt] = campaign.attempts()
    assert (attempt["state"], attempt["check"]) == ("invalid", "placement")
    assert "are bound, to CPUs 0 and 1; the layout asks for no binding" in attempt["reason"]


def test_tcp_in_place_of_what_the_network_of_pods_asks_for_is_invalid(campaign: Campaign) -> None:
    """The bytes go over the right interface all the same, so that their counters cannot tell."""
    env = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "FI_LOG_PROV": "core,tcp"}
    networks = {"roce": {"interface": "eth0", "provider": "verbs"}}
    workload = {"imb.pingpong": {"max_bytes": "1KiB", "iterations": 5}}
    study = {"workloads": {}, "factors": {"workload": [workload], "network": ["roce"]}}
    campaign.write(env=env, site={"networks": networks}, study=study).run()
    [attempt] = campaign.attempts()
    assert (attempt["state"], attempt["check"]) == ("invalid", "transport")
    assert attempt["reason"] == "libfabric chose tcp, and the network asks for verbs"


def test_addresses_that_each_node_gives_out_for_itself_are_found_out(campaign: Campaign) -> None:
    by_node = {"kind": "macvlan", "master": "hsn0", "mode": "bridge", "addressing": "host-local"}
    pod = {"attachment": "by-node", "definition": {**by_node, "subnet": "10.91.0.0/24"}}
    campaign.write(networks=["twice"], site={"networks": {"twice": {"interface": "net1", "pod": pod}}}).run()
    [attempt] = campaign.attempts()
    assert attempt["state"] == "invalid"
    assert attempt["reason"].startswith("two pods have the address 10.91.0.2 on net1")


def test_a_run_that_fits_nowhere_gets_a_reason(campaign: Campaign) -> None:
    campaign.write(options={"cpus": 64, "timeouts": {"scheduled": "5 s"}}).run()
    [attempt] = campaign.attempts()
    assert attempt["state"] == "failed"
    assert "Insufficient cpu" in attempt["reason"]


def test_an_image_that_is_not_there_and_is_never_pulled_ends_the_run_at_once_and_is_named(
    campaign: Campaign,
) -> None:
    options = {"image": "docker.io/kubelab/none:1", "pull_policy": "Never"}
    campaign.write(options=options, study={"retries": 1}).run()
    [attempt] = campaign.attempts()
    assert attempt["state"] == "failed"
    assert "ErrImageNeverPull" in attempt["reason"]
    assert "kubelab/none:1" in attempt["reason"]


def test_killed_it_goes_on_with_the_pods_that_are_there(
    campaign: Campaign, pods: PodLab, tmp_path: Path
) -> None:
    campaign.write(script=f"sleep 8; {ONCE}", study={"repeats": 2})
    words = pod_lab.inside(
        pods.folder, [TARE, "run", str(tmp_path / "study.yaml"), "--out", str(campaign.out)]
    )
    env = {**os.environ, "KUBECONFIG": str(pods.folder / "admin.kubeconfig")}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, env=env, stdout=log, stderr=log)
    until(
        lambda: "Running" in pods.kubectl("get", "pods", "-l", f"{_OURS},tare/role=launcher"),
        _PATIENCE_S,
        every_s=0.3,
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    made = pods.kubectl("get", "mpijobs", "-l", _OURS, "-o", "name").split()
    assert len(made) == 1

    done = campaign.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(one["block"], one["attempt"], one["state"]) for one in attempts(campaign.out)] == [
        (1, 1, "done"),
        (2, 1, "done"),
    ]
    until(
        lambda: not pods.kubectl("get", "mpijobs,jobs,pods,configmaps", "-l", _OURS, "-o", "name"),
        _PATIENCE_S,
        every_s=0.3,
    )
