"""A containerised cluster in the lab: reached by real ssh, with names, join and leave; nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.calls import running_lab, tare
from tare.core.errors import LabError, UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, cluster, containers, find
from tare.lab.rootfs import CLUSTER, rootfs_folder
from tare.lab.topology import lay_out
from tare.storage.campaign import read_campaign

SPEC = LabSpec(
    nodes=3,
    networks={
        "host": LabNetwork(kind=LabNetworkKind.BRIDGE),
        "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over="host"),
    },
)
BOX = rootfs_folder() / CLUSTER

needs_cluster = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="podman in the lab takes root"),
    pytest.mark.skipif(bool(cluster.missing()), reason=f"no sshd or no podman here; {cluster.CURE}"),
    pytest.mark.skipif(
        not (BOX / "usr/sbin/sshd").exists(),
        reason="no root file system; run: tare lab rootfs --name cluster",
    ),
]


@pytest.fixture(scope="module")
def box_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a cluster of three nodes; tests leave all three in it."""
    with short_folder() as folder, running_lab(SPEC, folder) as lab:
        remark = cluster.bring_up(lab, share=tmp_path_factory.getbasetemp())
        assert "of locked memory" in remark or "unlimited locked memory" in remark
        yield lab


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a path that is short enough for podman's sockets."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:  # it is ours alone
        yield Path(folder)


def ssh(lab: Lab, host: str, command: str) -> subprocess.CompletedProcess[str]:
    """Call the real ssh from outside the lab."""
    words = ["ssh", "-F", str(cluster.ssh_config_of(lab)), host, command]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def from_member(lab: Lab, command: str) -> str:
    done = ssh(lab, "n1-pod", command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_only_members_and_their_pods_have_names() -> None:
    topology = lay_out(SPEC)
    lines = cluster.hosts_text(topology, ["n2"]).splitlines()
    assert lines == [
        "127.0.0.1\tlocalhost",
        "10.77.0.2\tn2",
        "10.77.0.102\tn2-pod",
        "10.77.1.2\tn2.host",
        "10.77.101.2\tn2.overlay",
    ]


class TestCluster:
    """Tests that need the cluster itself."""

    pytestmark = needs_cluster

    def test_ssh_reaches_bare_nodes_and_containers(self, box_lab: Lab) -> None:
        own = Path("/etc/os-release").read_text()
        inside = (BOX / "etc/os-release").read_text()
        assert ssh(box_lab, "n2", "hostname; cat /etc/os-release").stdout == f"n2\n{own}"
        assert ssh(box_lab, "n2-pod", "hostname; cat /etc/os-release").stdout == f"n2-pod\n{inside}"

    def test_containers_call_each_other_over_the_overlay_by_name(self, box_lab: Lab) -> None:
        config = cluster.ssh_config_of(box_lab)
        script = f"ssh -F {config} n2.overlay 'hostname; echo $SSH_CONNECTION'"
        name, connection = from_member(box_lab, script).splitlines()
        assert (name, connection.split()[0], connection.split()[2]) == (
            "n2-pod",
            "10.77.101.1",
            "10.77.101.2",
        )

    def test_the_reported_limit_of_locked_memory_is_that_of_programs(self, box_lab: Lab) -> None:
        limit = from_member(box_lab, "ulimit -l")
        shown = "unlimited locked memory" if limit == "unlimited" else f"{limit} KiB of locked memory"
        assert shown in cluster.describe_locked_memory(box_lab)

    def test_a_node_that_leaves_is_unknown_and_not_reached_until_it_joins_again(self, box_lab: Lab) -> None:
        assert cluster.leave(box_lab, "n3") is True
        assert cluster.leave(box_lab, "n3") is False
        assert cluster.members(box_lab) == ("n1", "n2")
        assert ssh(box_lab, "n1-pod", "getent hosts n3-pod").returncode == 2
        for host in ("n3", "n3-pod"):
            refused = ssh(box_lab, host, "hostname")
            assert refused.returncode == 255
            assert f"{host} is no member of the cluster; tare lab join n3" in refused.stderr
        assert cluster.join(box_lab, "n3") is True
        assert cluster.join(box_lab, "n3") is False
        assert from_member(box_lab, f"ssh -F {cluster.ssh_config_of(box_lab)} n3-pod hostname") == "n3-pod"
        assert ssh(box_lab, "n3", "hostname").stdout == "n3\n"

    def test_a_container_cannot_change_the_root_file_system(self, box_lab: Lab) -> None:
        done = ssh(box_lab, "n1-pod", "touch /etc/tare-was-here")
        assert "Read-only file system" in done.stderr
        assert not (BOX / "etc/tare-was-here").exists()

    def test_an_unknown_node_is_named_with_those_that_are_there(self, box_lab: Lab) -> None:
        for change in (cluster.join, cluster.leave):
            with pytest.raises(UsageError, match="has no node 'n9'; it has n1, n2, n3"):
                change(box_lab, "n9")

    def test_a_study_runs_over_ssh_in_both_directions_at_once(
        self, box_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TARE_LAB_DIR", str(box_lab.folder))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "box.yaml").write_text(SITE)
        (tmp_path / "study.yaml").write_text(STUDY)
        done = tare("run", "study.yaml", "--out", "c", "--no-boost")
        assert done.returncode == 0, done.stdout + done.stderr
        campaign = read_campaign(tmp_path / "c")
        assert len(campaign.measured()) == 2
        assert [one.hosts for one in campaign.measured()] == [["n1-pod", "n2-pod"]] * 2
        flows = [one for attempt in campaign.measured() for one in attempt.series if one.fom == "throughput"]
        directions = {direction for one in flows for direction in one.at["direction"]}
        assert directions == {"client to server", "server to client"}

    def test_a_lab_that_is_killed_leaves_nothing(
        self, box_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with short_folder() as folder:
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
            monkeypatch.chdir(tmp_path)
            kill_and_take_down()


def kill_and_take_down() -> None:
    """Start a cluster, kill its lab, take it down, and look for what is left."""
    up = tare("lab", "up", "--nodes", "1", "--with", "cluster")
    assert up.returncode == 0, up.stderr
    lab = find()
    assert lab is not None
    mark = str(cluster.folder_of(lab))
    assert processes_with(mark)
    os.kill(lab.holder_pid, signal.SIGKILL)
    assert tare("lab", "down").returncode == 0
    deadline = time.monotonic() + 20
    while processes_with(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_with(mark) == []
    assert not lab.folder.exists()
    assert find() is None


def processes_with(text: str) -> list[str]:
    """Return the command lines of processes that contain `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended since
            continue
        if text in line:
            found.append(line)
    return found


SITE = """\
site: box
nodes: [n1, n2]
agent: [ssh, -F, "${TARE_LAB_DIR}/cluster/ssh_config"]
slots_per_node: 1
management: [mgmt0]
platforms:
  debian: {launcher: openmpi4, prefix: /usr}
networks:
  overlay: {interface: eth0, host: "{node}-pod", address: "{node}.overlay"}
"""
STUDY = """\
study: box
site: box.yaml
factors:
  workload:
    - iperf2: {bidirectional: true, time_s: 4 s}
    - qperf: {tests: tcp_lat, time_s: 1 s}
network: overlay
nodes: 2
bind: none
repeats: 1
timeout: 1 min
"""


def test_without_a_cluster_join_and_leave_explain_how_to_start_one(run_folder: Path) -> None:
    assert tare("lab", "up", "--nodes", "1").returncode == 0
    try:
        for verb in ("join", "leave"):
            done = tare("lab", verb, "n1")
            assert done.returncode == 2
            assert "tare lab up --with cluster" in done.stderr
    finally:
        tare("lab", "down")


def test_a_cluster_without_its_root_file_system_explains_how_to_build_it(lab: Lab, tmp_path: Path) -> None:
    if cluster.missing() or containers.missing():
        pytest.skip(cluster.CURE)
    with pytest.raises(LabError, match="build it with: tare lab rootfs --name cluster"):
        cluster.bring_up(lab, tmp_path)
