"""Studies in the lab, with real MPI ranks: proof of the network, crashes, hangs, kill -9."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare, lab_site, needs_intelmpi
from cli.killed_campaigns import ended_runs, left_over
from support.waiting import until
from tare.core.attempt import Attempt, State
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, needs_intelmpi]

STUDY = """\
study: lab-runs
site: {site}
reference: {{network: host}}
workloads:
  ranks:
    command: [sh, -c, '{script}']
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: true
    needs_transport: false
factors:
  network: {networks}
  workload: [{workload}]
nodes: 2
repeats: {repeats}
timeout: {timeout}
"""
PINGPONG = "imb.pingpong: {max_bytes: 64KiB, iterations: 50}"


def write_study(
    folder: Path,
    *,
    workload: str = "ranks",
    script: str = "echo value: 1",
    networks: str = "[host]",
    repeats: int = 1,
    timeout: str = "30 s",
    site: str = "lab",
) -> Path:
    path = folder / "study.yaml"
    path.write_text(
        STUDY.format(
            workload=workload, script=script, networks=networks, repeats=repeats, timeout=timeout, site=site
        )
    )
    return path


def only_attempt(campaign: Path) -> Attempt:
    (attempt,) = read_campaign(campaign).attempts
    return attempt


def test_each_network_carries_its_own_traffic(tare_here: Tare, tmp_path: Path) -> None:
    study = write_study(tmp_path, workload=PINGPONG, networks="[host, overlay, macvlan, tcp-1g]")
    done = tare_here("run", study, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    interfaces = {"host": "fab0", "overlay": "eth0", "macvlan": "net1", "tcp-1g": "fab1"}
    for attempt in campaign.attempts:
        network = campaign.cases[attempt.case].network
        assert network is not None
        chosen = interfaces[network]
        for counters in attempt.traffic.values():
            data = {name: one.total_bytes for name, one in counters.items() if name in interfaces.values()}
            assert max(data, key=data.__getitem__) == chosen, f"{network}: {data}"
            assert sum(data.values()) < 1.05 * data[chosen], f"{network}: {data}"
        assert f"{chosen} carried" in attempt.transport
        needed = re.search(r"; ([\d.]+) MiB were needed", attempt.transport)
        assert needed is not None
        assert float(needed[1]) > 50 / 16, "50 times 64 KiB, and the smaller sizes"


def test_a_run_over_another_network_than_asked_for_is_invalid(tare_here: Tare, tmp_path: Path) -> None:
    """The platform's environment sends the data over fab1, whatever network the study names."""
    wrong = lab_site("    launcher: intelmpi\n", "    launcher: intelmpi\n    env: {FI_TCP_IFACE: fab1}\n")
    (tmp_path / "wrong.yaml").write_text(wrong)
    study = write_study(tmp_path, workload=PINGPONG, site="wrong.yaml")
    assert tare_here("run", study, "--out", tmp_path / "c").returncode == 1
    attempt = only_attempt(tmp_path / "c")
    assert (attempt.state, attempt.check, attempt.series) == (State.INVALID, "transport", [])
    assert "fab1 carried" in attempt.reason


@pytest.mark.skipif(
    not is_installed("openmpi", mpi_folder()), reason="no Open MPI here; run: tare lab setup --mpi openmpi"
)
def test_sessions_of_open_mpi_are_the_lab_s_own_and_end_with_it(tare_here: Tare, tmp_path: Path) -> None:
    """They are named by pid: in /tmp, what a killed run had left made later ranks of that pid fail."""
    study = write_study(tmp_path, script='echo "value: 1 $PMIX_SERVER_TMPDIR" >$OMPI_COMM_WORLD_RANK; cat 0')
    study.write_text(f"{study.read_text()}platform: openmpi\n")
    tare_here("run", study, "--out", tmp_path / "c")
    folder = tmp_path / "c" / only_attempt(tmp_path / "c").folder
    sessions = [Path((folder / rank).read_text().split()[-1]) for rank in ("0", "1")]
    assert [one.parent.name for one in sessions] == ["prte", "prte"]
    assert [one.parent.parent.name.partition(".")[0] for one in sessions] == ["lab", "lab"]
    assert not any(one.parent.exists() for one in sessions)


def test_a_rank_that_crashes_fails_the_run(tare_here: Tare, tmp_path: Path) -> None:
    study = write_study(tmp_path, script="[ $PMI_RANK = 1 ] && kill -SEGV $$; echo value: 1; sleep 20")
    started = time.monotonic()
    assert tare_here("run", study, "--out", tmp_path / "c").returncode == 1
    assert time.monotonic() - started < 20, "the other rank was waited for"
    attempt = only_attempt(tmp_path / "c")
    assert (attempt.state, attempt.series) == (State.FAILED, [])
    assert left_over(tmp_path / "c") == []


def test_a_link_that_goes_down_is_no_fault_of_the_program_and_is_tried_again(
    tare_here: Tare, tmp_path: Path
) -> None:
    study = write_study(
        tmp_path, script="[ $PMI_RANK = 1 ] && ip link set fab0 down; sleep 60", timeout="2 s"
    )
    tare_here("run", study, "--out", tmp_path / "c")
    attempts = read_campaign(tmp_path / "c").attempts
    assert len(attempts) > 1
    for one in attempts:
        assert (one.state, one.is_infrastructure) == (State.FAILED, True), one.reason
        assert "fab0 was down on n2; was still running after 2 s" in one.reason


def test_a_rank_that_ends_well_while_others_hang_is_reported(tare_here: Tare, tmp_path: Path) -> None:
    study = write_study(
        tmp_path, script="echo value: 1; [ $PMI_RANK = 1 ] && exit 0; exec sleep 60", timeout="3 s"
    )
    assert tare_here("run", study, "--out", tmp_path / "c").returncode == 1
    attempt = only_attempt(tmp_path / "c")
    assert (attempt.state, attempt.check, attempt.series) == (State.FAILED, "timeout", [])
    assert not attempt.is_infrastructure
    assert "still running after 3 s" in attempt.reason
    assert left_over(tmp_path / "c") == []


def test_ranks_that_hang_are_ended_on_every_node(tare_here: Tare, tmp_path: Path) -> None:
    study = write_study(
        tmp_path, script="echo value: 1; trap : TERM; sleep 300 & wait; sleep 300", timeout="2 s"
    )
    assert tare_here("run", study, "--out", tmp_path / "c").returncode == 1
    attempt = only_attempt(tmp_path / "c")
    assert (attempt.state, attempt.check) == (State.FAILED, "timeout")
    assert left_over(tmp_path / "c") == []


def lab_processes(folder: Path) -> list[str]:
    """Return the processes of labs whose state lies below `folder`."""
    listed = subprocess.run(["ps", "-ewwo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "tare.lab.holder" in line and str(folder) in line]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_ended_tare_leaves_no_lab_behind_and_is_resumed(
    tare_here: Tare, tmp_path: Path, number: signal.Signals
) -> None:
    study = write_study(tmp_path, workload=PINGPONG, networks="[host, overlay]", repeats=3)
    campaign = tmp_path / "c"
    runner = subprocess.Popen(
        [TARE, "run", str(study), "--out", str(campaign)],
        cwd=tmp_path,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: (campaign / "journal.jsonl").exists() and len(ended_runs(campaign)) >= 1, within_s=60)
    assert lab_processes(tmp_path)
    runner.send_signal(number)
    runner.wait(timeout=30)
    until(lambda: not lab_processes(tmp_path), within_s=10)
    assert left_over(tmp_path / "c") == []
    assert tare_here("run", campaign).returncode == 0
    counts = json.loads(tare_here("status", campaign, "--json").stdout)["counts"]
    assert counts["done"] == 6
    assert set(ended_runs(campaign).values()) == {1}
