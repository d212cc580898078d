"""Studies on hosts that only ssh reaches: shared and staged folders, several MPIs, and a killed tare."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from cli.conftest import TARE, Tare
from tare.backends import marks
from tare.cli.crews import campaign_mark
from tare.lab.mpi import is_installed, mpi_folder
from tare.model.attempt import State
from tare.store.campaign import read_campaign

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
    _until(lambda: len(list(campaign.glob("attempts/*/1.1/up.*"))) == 2)
    assert marks.marked(campaign_mark(campaign))
    if is_killed:
        runner.kill()
    else:
        runner.terminate()
    assert runner.wait(60) in {-9, 130}
    _until(lambda: not _of(campaign))


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


def _until(condition: object, within_s: float = 40) -> None:
    assert callable(condition)
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
