"""Folders of runs' own on storage paths: runs and campaigns at once never touch each other's files."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.conftest import TARE, Tare
from support.waiting import until
from tare.core.attempt import State
from tare.plugins.backends.ownership.sessions import new_session
from tare.storage.campaign import read_campaign

AGENT = '#!/bin/sh\nexport TARE_TEST_HOST=$1\nshift\nexec sh -c "$*"\n'
"""Stands for ssh: every host is this machine, so that they share the storage path."""

SITE = """\
site: many
nodes: ['n[1-4]']
agent: {agent}
platforms: {{bare: {{path: [{path}]}}}}
storage: {{s: {s}}}
"""
INLINE = """\
study: shared
site: site.yaml
workloads:
  writer:
    command: [sh, -c, 'set -e; touch "$1/data"; sleep 0.3; rm "$1/data"; echo value: 1', sh, '{storage}']
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
workload: writer
factors: {size: [1, 2, 3]}
repeats: 2
"""
FIO = """\
study: fio
site: site.yaml
workload: {fio.write: {size: 4KiB, block: 4KiB, time_s: 1, direct: false, ioengine: psync}}
factors: {threads: [1, 2]}
repeats: 1
"""
IOR = """\
study: ior
site: site.yaml
workload: ior
nodes: 1
ranks: 1
factors: {block: [1MiB, 2MiB]}
repeats: 2
"""
STAND_IN = """\
#!/bin/sh
# Stands for ior: like it, it makes the file that -o names, and fails where that is gone when it is done.
while [ "$1" != -o ]; do shift; done
[ ! -e "$2" ] || { echo "ERROR: $2 is there already"; exit 1; }
touch "$2" && sleep 0.3 && rm "$2" || { echo "ERROR: cannot open $2: it is gone"; exit 1; }
echo "value: 1"
"""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    agent, programs = tmp_path / "agent", tmp_path / "bin"
    agent.write_text(AGENT)
    agent.chmod(0o700)
    programs.mkdir()
    (programs / "ior").write_text(STAND_IN)
    (programs / "ior").chmod(0o700)
    (tmp_path / "site.yaml").write_text(SITE.format(agent=agent, s=folder, path=programs))
    return folder


def write(folder: Path, text: str) -> Path:
    study = folder / "study.yaml"
    study.write_text(text)
    return study


def together(study: Path, names: Sequence[str]) -> list[int]:
    """Run campaigns of `study` at once, and return their exit codes."""
    runs = [
        subprocess.Popen(
            [TARE, "run", str(study), "--out", name, "--jobs", "2"],
            cwd=study.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for name in names
    ]  # fmt: skip
    return [run.wait() for run in runs if run.communicate()]


def test_two_campaigns_with_two_jobs_each_do_not_touch_each_other(scratch: Path, tmp_path: Path) -> None:
    assert together(write(tmp_path, INLINE), ["a", "b"]) == [0, 0]
    attempts = [one for name in ("a", "b") for one in read_campaign(tmp_path / name).attempts]
    assert {(one.state, one.reason) for one in attempts} == {(State.DONE, "")}
    assert list(scratch.iterdir()) == []


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_runs_for_real_beside_itself(scratch: Path, tmp_path: Path) -> None:
    assert together(write(tmp_path, FIO), ["a", "b"]) == [0, 0]
    attempts = [one for name in ("a", "b") for one in read_campaign(tmp_path / name).attempts]
    assert {(one.state, one.reason) for one in attempts} == {(State.DONE, "")}
    assert list(scratch.iterdir()) == []


def test_files_of_a_known_workload_lie_in_folders_of_their_own(scratch: Path, tmp_path: Path) -> None:
    together(write(tmp_path, IOR), ["a", "b"])
    said = [path.read_text() for path in tmp_path.glob("[ab]/attempts/*/*/stdout")]
    assert said == ["value: 1\n"] * 8
    assert list(scratch.iterdir()) == []


def test_plan_shows_the_folder(tare_here: Tare, scratch: Path, tmp_path: Path) -> None:
    shown = tare_here("plan", write(tmp_path, INLINE), "--show").stdout
    assert f"# {scratch}/tare-{{run}} is made for each run alone, and removed after it" in shown
    assert f"sh '{scratch}/tare-{{run}}'" in shown


QUEUED = """\
study: queued
site: lab
platform: slurm
network: host
storage: memory
workload: writer
repeats: 1
workloads:
  writer:
    command: [w, '{storage}/data']
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
"""


def test_jobs_of_slurm_at_once_have_folders_of_their_own(tare_here: Tare, tmp_path: Path) -> None:
    shown = tare_here("plan", write(tmp_path, QUEUED), "--show").stdout
    assert "make_own_folder '/dev/shm/tare-{run}'" in shown
    assert "w '/dev/shm/tare-{run}/data'" in shown


def test_what_a_killed_run_left_is_removed(scratch: Path, tmp_path: Path) -> None:
    neighbour = scratch / "tare-of-somebody-else"
    neighbour.mkdir()
    study = write(tmp_path, INLINE.replace("sleep 0.3", "sleep 60"))
    runner = subprocess.Popen(
        [TARE, "run", str(study), "--out", "c"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    until(lambda: bool(list(scratch.glob("tare-*/data"))))
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    until(lambda: list(scratch.iterdir()) == [neighbour])


def test_clean_finds_what_even_the_guard_could_not_remove(
    tare_here: Tare, scratch: Path, state: Path
) -> None:
    records = state / "storage"
    records.mkdir(parents=True)
    left, other = scratch / "tare-0a1b-c-1.1", scratch / "tare-ffff-c-1.1"
    for folder in (left, other):
        folder.mkdir()
        (folder / "data").touch()
    gone = {
        "label": f"{new_session('x')._replace(pid=4194303)}c/1.1;",
        "agent": [],
        "hosts": [None],
        "folder": str(left),
    }
    (records / "1.json").write_text(json.dumps(gone))
    assert f"would remove folder {left}\n" in tare_here("clean", "--dry-run").stdout
    assert left.exists()
    assert f"removed folder {left}\n" in tare_here("clean").stdout
    assert not left.exists()
    assert other.exists(), "nobody has it on record"
