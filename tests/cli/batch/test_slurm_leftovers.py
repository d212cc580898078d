"""What a job of the lab's real Slurm leaves on its nodes: processes, and a storage path without room."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.batch.batch_systems import NEEDS_SLURM, SLURM, Administrator
from cli.conftest import Tare
from support.sleeping import sleeping
from tare.core.attempt import State
from tare.plugins.backends.ownership import stray_processes
from tare.storage.campaign import read_campaign

pytestmark = list(NEEDS_SLURM)


@pytest.fixture
def seconds() -> Iterator[str]:
    seconds = f"300.{time.monotonic_ns() % 10**9}"
    yield seconds
    for pid in sleeping(seconds):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.usefixtures("controller")
@pytest.mark.parametrize("how", ["setsid sleep", "env -i setsid sleep"])
@pytest.mark.parametrize("is_mpi", [True, False])
def test_what_a_task_left_on_its_nodes_ends_with_it(
    tare_here: Tare, tmp_path: Path, seconds: str, how: str, is_mpi: bool
) -> None:
    script = f"{how} {seconds} >/dev/null 2>&1 & sleep 0.3; echo value: 1"
    study = SLURM.write_study(tmp_path, script, platforms="packed")
    if not is_mpi:
        study.write_text(study.read_text().replace("mpi: true", "mpi: false"))
    done = tare_here("run", study, "--out", "c", "--no-rehearsal")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sleeping(seconds) == []


@pytest.mark.usefixtures("controller")
def test_what_does_not_end_makes_the_run_invalid_by_name(
    tare_here: Tare, tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that waits for a dead disk."""
    monkeypatch.setattr(
        "tare.plugins.backends.batch.script.SWEEP", stray_processes.SWEEP.replace("kill -", ": -")
    )
    script = f"setsid sleep {seconds} >/dev/null 2>&1 & sleep 0.3; echo value: 1"
    study = SLURM.write_study(tmp_path, script, platforms="packed")
    study.write_text(study.read_text().replace("mpi: true", "mpi: false").replace("[1, 2]", "[1]"))
    tare_here("run", study, "--out", "c", "--no-rehearsal")
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert (attempt.state, attempt.check) == (State.INVALID, "survivors"), attempt.reason
    assert f"(sleep {seconds}) on n1" in attempt.reason


STORED = """\
study: stored
site: stored.yaml
workloads:
  writer:
    command: [sh, -c, 'mount -t tmpfs -o size=512k none "$1"; exit 4', sh, '{storage_path}', '{storage}']
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
workload: writer
repeats: 1
retries: 1
timeout: 30 s
"""


def test_a_storage_path_without_space_is_the_infrastructures(
    controller: Administrator,
    tare_here: Tare,
    tmp_path: Path,
) -> None:
    """The program mounts a small file system there, as somebody else might have filled it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "stored.yaml").write_text(f"{SLURM.site}storage: {{small: {disk}}}\n")
    (tmp_path / "study.yaml").write_text(STORED)
    done = tare_here("run", "study.yaml", "--out", "c", "--no-rehearsal")
    controller.call("sh", "-c", f"while umount {disk}; do :; done 2>/dev/null; true")
    attempts = read_campaign(tmp_path / "c").attempts
    assert [one.is_infrastructure for one in attempts] == [True, True], done.stderr
    told = (
        f"when the run had ended, storage path {disk} takes no file of 1 MiB: No space left on device on n1"
    )
    assert {one.reason.partition(";")[0] for one in attempts} == {told}
