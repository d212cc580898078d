"""Telemetry of real runs in the lab: what encapsulation adds, counters read by hand, and kill -9."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE, needs_intelmpi
from tare.app.executors import campaign_hash
from tare.core.attempt import Attempt, State
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.process import control_groups
from tare.plugins.collectors.sampler import read
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, pytest.mark.alone, needs_intelmpi]  # it compares CPU times

STUDY = """\
study: watched
site: lab
workload: {{imb.pingpong: {{max_bytes: 64KiB, iterations: {iterations}}}}}
factors: {{network: {networks}}}
nodes: 2
repeats: 1
"""
VXLAN_BYTES = 50
"""Ethernet, IP, UDP and VXLAN headers around each frame (RFC 7348)."""
MESSAGE_BYTES = 1024
"""Fits a packet of either network, so that each message is one, with what acknowledges the last."""
TCP_BYTES = 14 + 20 + 32
"""Ethernet, IPv4 and TCP headers with time stamps around each message."""


def _study(folder: Path, *, networks: str, iterations: int = 50) -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.format(networks=networks, iterations=iterations))
    return path


def _wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Attempt]:
    """One run over each of two networks, by the name of the network."""
    folder = tmp_path_factory.mktemp("watched")
    study = _study(folder, networks="[host, overlay]", iterations=500)
    subprocess.run([TARE, "run", study, "--out", folder / "c"], check=True, capture_output=True, timeout=200)
    campaign = read_campaign(folder / "c")
    return {str(campaign.cases[one.case].network): one for one in campaign.measured()}


def test_each_packet_on_the_wire_is_larger_by_what_vxlan_puts_around_it(attempts: dict[str, Attempt]) -> None:
    overlay = attempts["overlay"].telemetry
    added = overlay["wire_sent"] - overlay["network_sent"]
    assert added == pytest.approx(VXLAN_BYTES * overlay["network_packets"], rel=0.03), (
        "but for a few stray ones"
    )
    host = attempts["host"].telemetry
    assert host["wire_sent"] == host["network_sent"]


def test_what_the_ranks_of_all_nodes_took_is_known(attempts: dict[str, Attempt]) -> None:
    if control_groups.usable() is None:
        pytest.skip("no control group may be made here: run as root, or by systemd-run --user --scope")
    for one in attempts.values():
        assert 0 < one.telemetry["run_cpu"] <= 2 * (os.cpu_count() or 1) * one.elapsed_s
        assert ("cpu_others" in one.telemetry) or one.elapsed_s < 1  # ticks are too coarse for less
        assert 0 <= one.telemetry.get("cpu_others", 0) <= 100


@pytest.mark.parametrize("network", ["host", "overlay"])
def test_bytes_agree_with_proc_net_dev_read_before_and_after(
    attempts: dict[str, Attempt], network: str
) -> None:
    """The runner reads /proc/net/dev itself, a moment before the sampler and a moment after it."""
    attempt = attempts[network]
    interface = {"host": "fab0", "overlay": "eth0"}[network]
    by_hand = sum(counters[interface].tx_bytes for counters in attempt.traffic.values())
    assert attempt.telemetry["network_sent"] == pytest.approx(by_hand, rel=0.01)


def _both_networks(folder: Path, workload: str, repeats: int) -> dict[str, list[Attempt]]:
    """Return the runs of a workload over host network and overlay."""
    (folder / "study.yaml").write_text(
        f"study: watched\nsite: lab\nworkload: {{{workload}}}\nfactors: {{network: [host, overlay]}}\n"
        f"nodes: 2\nrepeats: {repeats}\n"
    )
    command = [TARE, "run", str(folder / "study.yaml"), "--out", str(folder / "c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(folder / "c")
    found: dict[str, list[Attempt]] = {"host": [], "overlay": []}
    for one in campaign.measured():
        found[str(campaign.cases[one.case].network)].append(one)
    return found


def test_bytes_and_packets_for_each_byte_of_payload_are_what_encapsulation_makes_of_them(
    tmp_path: Path,
) -> None:
    workload = "imb.pingpong: {min_bytes: 1KiB, max_bytes: 1KiB, iterations: 4000}"
    found = _both_networks(tmp_path, workload, repeats=1)
    (host,), (overlay,) = ([one.telemetry for one in found[name]] for name in ("host", "overlay"))
    payload = {"host": host["wire_packets"], "overlay": overlay["wire_packets"]}  # a message in each
    for_each_byte = {
        name: one["wire_sent"] / (payload[name] * MESSAGE_BYTES)
        for name, one in (("host", host), ("overlay", overlay))
    }
    own_lines = 40  # of the MPI around each message, at most
    assert 0 <= for_each_byte["host"] * MESSAGE_BYTES - MESSAGE_BYTES - TCP_BYTES < own_lines
    added = (for_each_byte["overlay"] - for_each_byte["host"]) * MESSAGE_BYTES
    assert added == pytest.approx(VXLAN_BYTES, abs=3)
    assert overlay["network_packet_size"] == pytest.approx(host["network_packet_size"], abs=3), "within"
    assert overlay["wire_packets"] == pytest.approx(overlay["network_packets"], rel=0.02), "none is split"


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="no iperf3; run: apt install iperf3")
def test_the_same_datagrams_take_more_system_cpu_through_a_vxlan(tmp_path: Path) -> None:
    """Of several runs the one that took least: what else the machine does can only add."""
    workload = "iperf3: {protocol: udp, rate_mbit_s: 500, message_bytes: 1000, time_s: 1 s}"
    found = _both_networks(tmp_path, workload, repeats=5)
    least = {name: min(one.telemetry["cpu_system"] for one in runs) for name, runs in found.items()}
    assert least["overlay"] > 1.05 * least["host"]
    for one in found["overlay"]:  # to a node that only receives, too
        ratio = one.telemetry["wire_sent"] / one.telemetry["network_sent"]
        assert ratio == pytest.approx(1 + VXLAN_BYTES / one.telemetry["network_packet_size"], rel=0.01)


def test_a_killed_runner_leaves_its_telemetry_and_no_process(tmp_path: Path) -> None:
    study, campaign = _study(tmp_path, networks="[host]", iterations=10**6), tmp_path / "c"
    command = [TARE, "run", str(study), "--out", str(campaign), "--telemetry", "50ms"]
    runner = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        _wait_for(
            lambda: any(path.stat().st_size > 4000 for path in campaign.glob("attempts/*/*/telemetry.*"))
        )
    finally:
        runner.kill()
        runner.wait()
    _wait_for(lambda: not process_labels.labelled_pids(f"{campaign_hash(campaign)}:"))
    (attempt,) = read_campaign(campaign).attempts
    assert attempt.state is State.LOST
    recording = read(SafeFolder(campaign / attempt.folder))
    assert recording is not None
    assert {one.host for one in recording.hosts} == {"n1", "n2"}
    assert all(len(one.samples) > 1 for one in recording.hosts)


def test_a_killed_sampler_costs_the_figures_of_its_run_and_not_the_run(tmp_path: Path) -> None:
    study, campaign = _study(tmp_path, networks="[host]", iterations=5000), tmp_path / "c"
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], stdout=subprocess.DEVNULL)
    _wait_for(lambda: any(path.stat().st_size for path in campaign.glob("attempts/*/*/telemetry.*")))
    for pid in itertools.islice(_samplers(runner.pid), 1):
        os.kill(pid, signal.SIGKILL)
    assert runner.wait(timeout=200) == 0
    (attempt,) = read_campaign(campaign).attempts
    assert attempt.state is State.DONE
    assert attempt.telemetry == {}
    recording = read(SafeFolder(campaign / attempt.folder))
    assert recording is not None
    assert recording.span is not None
    assert sum(bool(host.fault) for host in recording.span.hosts.values()) == 1
    assert all(host.samples for host in recording.hosts), "up to its last sample, of the killed one too"
    assert not process_labels.labelled_pids(f"{campaign_hash(campaign)}:")


def _samplers(runner: int) -> list[int]:
    """Return the pids of the samplers of a runner: Python programs that carry its mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environ, command = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if (
            f":{runner}:".encode() in environ
            and b"sampler;" in environ
            and command.partition(b"\0")[0].endswith(b"python3")
        ):
            found.append(int(entry.name))
    return found
