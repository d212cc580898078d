"""Studies on hosts that only ssh reaches: shared and staged folders, several MPIs, and a killed tare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from cli.conftest import TARE, Tare
from support.waiting import until
from tare.app.executors import campaign_hash
from tare.core.attempt import State
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import new_session
from tare.storage.campaign import read_campaign

SITE = """\
site: hosts
nodes: ['n[1-2]']
agent: {agent}
{staging}
platforms:
  bare: {{}}
  mpi: {{launcher: mpich, prefix: {prefix}}}
"""
STUDY = """\
study: hosts
site: site.yaml
workloads:
  echo:
    command: [sh, -c, '{script}']
    parameters: {{size: 1}}
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: {mpi}
    needs_transport: false
workload: echo
factors:
  platform: [{platform}]
nodes: {nodes}
repeats: 2
retries: 0
timeout: 60 s
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    with sshd(tmp_path_factory.mktemp("sshd")) as agent:
        yield agent


def write(
    folder: Path,
    agent: tuple[str, ...],
    script: str,
    *,
    staging: str = "",
    platform: str = "bare",
    nodes: int = 1,
) -> Path:
    prefix = mpi_folder() / "mpich"
    (folder / "site.yaml").write_text(SITE.format(agent=list(agent), staging=staging, prefix=prefix))
    study = folder / "study.yaml"
    mpi = "true" if platform == "mpi" else "false"
    study.write_text(STUDY.format(script=script, platform=platform, nodes=nodes, mpi=mpi))
    return study


def test_a_study_runs_over_ssh(agent: tuple[str, ...], tare: Tare, tmp_path: Path) -> None:
    done = tare("run", write(tmp_path, agent, "echo value: 1"), "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    assert {(one.state, *one.hosts) for one in campaign.attempts} == {(State.DONE, "n1")}


def test_staged_folders_go_to_the_nodes_and_come_back(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path
) -> None:
    nodes = tmp_path / "on nodes"
    study = write(tmp_path, agent, "pwd; ls >files; echo value: 1", staging=f"staging: {nodes}")
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    for attempt in read_campaign(tmp_path / "c").attempts:
        folder = tmp_path / "c" / attempt.folder
        assert (folder / "stdout").read_text().startswith(f"{nodes}/tare-")
        assert "command.json" in (folder / "files").read_text()
    assert list(nodes.iterdir()) == []


@pytest.mark.parametrize("place", ["", "on nodes"])
def test_inputs_are_there_whether_the_nodes_share_the_folder_or_not(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path, place: str
) -> None:
    (tmp_path / "a mesh").write_bytes(b"\xff\0\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/run").write_text("#!/bin/sh\necho value: 1\n")
    (tmp_path / "tools/run").chmod(0o555)
    staging = f"staging: {tmp_path / place}" if place else ""
    study = write(tmp_path, agent, "cksum <mesh.dat && tools/run", staging=staging)
    study.write_text(f"{study.read_text()}inputs: {{mesh.dat: a mesh, tools: tools}}\n")
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "a mesh").open("rb") as mesh:
        checksum = subprocess.run(["cksum"], stdin=mesh, capture_output=True, text=True, check=True).stdout
    for attempt in read_campaign(tmp_path / "c").attempts:
        folder = tmp_path / "c" / attempt.folder
        assert (folder / "stdout").read_text() == f"{checksum}value: 1\n"
        assert not (folder / "mesh.dat").exists()


@pytest.fixture
def records(state: Path) -> Path:
    """Where it is on record what was staged."""
    return state / "staged"


def start_and_kill(study: Path, campaign: Path, nodes: Path, *, with_guard: bool) -> None:
    """Kill tare as soon as its program runs in a staged folder; before, the guard that would clean up."""
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], cwd=study.parent)
    until(lambda: bool(list(nodes.glob("tare-*/up"))))
    for guard in _guards(runner.pid) if with_guard else ():
        os.kill(guard, signal.SIGKILL)
    runner.kill()
    runner.wait()


def _guards(runner: int) -> list[int]:
    children = Path(f"/proc/{runner}/task/{runner}/children").read_text().split()
    return [int(pid) for pid in children if b"marks.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


STAGED = "test -e {go} || (echo up >up; sleep 60); echo value: 1"


def test_a_staged_folder_goes_when_tare_is_killed(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path, records: Path
) -> None:
    nodes, campaign = tmp_path / "on nodes", tmp_path / "c"
    study = write(tmp_path, agent, STAGED.format(go=tmp_path / "go"), staging=f"staging: {nodes}")
    start_and_kill(study, campaign, nodes, with_guard=False)
    until(lambda: list(nodes.iterdir()) == [] and list(records.iterdir()) == [])
    (tmp_path / "go").touch()
    assert tare("run", campaign).returncode == 0
    assert {one.state for one in read_campaign(campaign).measured()} == {State.DONE}
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_removes_a_staged_folder_that_even_the_guard_left(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path, records: Path
) -> None:
    """As after a restart of the machine that tare ran on."""
    nodes, campaign = tmp_path / "on nodes", tmp_path / "c"
    study = write(tmp_path, agent, STAGED.format(go=tmp_path / "go"), staging=f"staging: {nodes}")
    start_and_kill(study, campaign, nodes, with_guard=True)
    (left,) = nodes.iterdir()
    assert f"would remove folder {left} of n1" in tare("clean", "--dry-run").stdout
    assert left.exists()
    assert f"removed folder {left} of n1" in tare("clean").stdout
    assert list(nodes.iterdir()) == []
    assert tare("clean").stdout == "nothing is left behind\n"


def test_clean_keeps_on_record_what_it_cannot_reach(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path, records: Path
) -> None:
    records.mkdir(parents=True)
    left = {
        "label": f"{new_session('dead')._replace(pid=4194303)}x;",
        "agent": agent,
        "hosts": ["away"],
        "place": "/nowhere/tare-1",
    }
    (records / "1.json").write_text(json.dumps(left))
    done = tare("clean")
    assert "/nowhere/tare-1 of away cannot be removed now" in done.stderr
    assert f"or delete {records}/" in done.stderr
    assert "nothing" not in done.stdout
    assert (records / "1.json").exists()


def test_clean_leaves_what_a_living_tare_has_staged(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path, records: Path
) -> None:
    place = tmp_path / "tare-1"
    place.mkdir()
    records.mkdir(parents=True)
    label = str(new_session("alive")) + "x;"
    staged = {"label": label, "agent": agent, "hosts": ["n1"], "place": str(place)}
    (records / "1.json").write_text(json.dumps(staged))
    assert tare("clean").stdout == "nothing is left behind\n"
    assert place.exists()


def test_a_host_that_asks_for_a_password_ends_the_campaign_with_the_cure(
    agent: tuple[str, ...], tare: Tare, tmp_path: Path
) -> None:
    study = write(tmp_path, agent, "echo value: 1")
    site = (tmp_path / "site.yaml").read_text().replace("n[1-2]", "stranger")
    (tmp_path / "site.yaml").write_text(site)
    done = tare("run", study, "--out", tmp_path / "c")
    assert done.returncode != 0
    assert "ssh-copy-id stranger" in done.stdout + done.stderr


@pytest.mark.skipif(
    not is_installed("mpich", mpi_folder()), reason="no MPICH here; tare lab setup --mpi mpich"
)
@pytest.mark.parametrize("is_killed", [True, False])
def test_ranks_on_other_hosts_end_with_tare(
    agent: tuple[str, ...], tmp_path: Path, *, is_killed: bool
) -> None:
    script = "touch up.$PMI_RANK; sleep 60; echo value: 1"
    study = write(tmp_path, agent, script, platform="mpi", nodes=2)
    campaign = tmp_path / "c"
    runner = subprocess.Popen([TARE, "run", str(study), "--out", str(campaign)], cwd=tmp_path)
    until(lambda: len(list(campaign.glob("attempts/*/1.1/up.*"))) == 2)
    assert process_labels.labelled_pids(f"{campaign_hash(campaign)}:")
    if is_killed:
        runner.kill()
    else:
        runner.terminate()
    assert runner.wait(60) in {-9, 130}
    until(lambda: not _of(campaign))


def _of(campaign: Path) -> list[str]:
    """Return the processes whose working folder is in the campaign, marked or not."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if path.readlink().is_relative_to(campaign):
                found.append((path.parent / "comm").read_text())
        except OSError:
            continue
    return found
