"""Telemetry of real runs in the lab: what encapsulation adds, counters read by hand, and kill -9."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import TARE
from tare.backends import marks
from tare.collectors.sampler import read
from tare.lab.mpi import is_installed, mpi_folder
from tare.model.attempt import Attempt, State
from tare.store.campaign import read_campaign

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not is_installed("intelmpi", mpi_folder()), reason="no Intel MPI here; run: tare lab setup"
    ),
]

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


@pytest.mark.parametrize("network", ["host", "overlay"])
def test_bytes_agree_with_proc_net_dev_read_before_and_after(
    attempts: dict[str, Attempt], network: str
) -> None:
    """The runner reads /proc/net/dev itself, a moment before the sampler and a moment after it."""
    attempt = attempts[network]
    interface = {"host": "fab0", "overlay": "eth0"}[network]
    by_hand = sum(counters[interface].tx_bytes for counters in attempt.traffic.values())
    assert attempt.telemetry["network_sent"] == pytest.approx(by_hand, rel=0.01)


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
    _wait_for(lambda: not marks.orphaned())
    (attempt,) = read_campaign(campaign).attempts
    assert attempt.state is State.LOST
    recording = read(campaign / attempt.folder)
    assert recording is not None
    assert {one.host for one in recording.hosts} == {"n1", "n2"}
    assert all(len(one.samples) > 1 for one in recording.hosts)


def test_a_killed_sampler_costs_the_figures_of_its_run_and_not_the_run(tmp_path: Path) -> None:
    study, campaign = _study(tmp_path, networks="[host]", iterations=20000), tmp_path / "c"
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], stdout=subprocess.DEVNULL)
    _wait_for(lambda: any(path.stat().st_size for path in campaign.glob("attempts/*/*/telemetry.*")))
    for pid in itertools.islice(_samplers(runner.pid), 1):
        os.kill(pid, signal.SIGKILL)
    assert runner.wait(timeout=200) == 0
    (attempt,) = read_campaign(campaign).attempts
    assert attempt.state is State.DONE
    assert attempt.telemetry == {}
    recording = read(campaign / attempt.folder)
    assert recording is not None
    assert recording.span is not None
    assert sum(bool(host.fault) for host in recording.span.hosts.values()) == 1
    assert not marks.orphaned()


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
