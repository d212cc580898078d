"""Launchers wait for the outputs of what their ranks left behind: the run ends all the same, and says so."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Tare
from support.sleeping import sleeping
from tare.core.attempt import Attempt, State
from tare.lab.mpi import is_installed, mpi_folder
from tare.plugins.backends.process import control_groups, lingering
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("shared_lab")]

STUDY = """\
study: lingering
site: lab
platform: {mpi}
workloads:
  ranks:
    command: [sh, -c, 'case $PMI_RANK in 1) setsid sleep {seconds} & ;; *) echo value: 1; esac']
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: true
    needs_transport: false
factors: {{workload: [ranks]}}
nodes: 2
repeats: 1
timeout: {timeout}
"""


@pytest.fixture
def seconds() -> Iterator[str]:
    """For how long the process sleeps that rank 1 leaves behind: nothing else does for as long."""
    seconds = f"300.{time.monotonic_ns() % 10**9}"
    yield seconds
    for pid in sleeping(seconds):
        os.kill(pid, signal.SIGKILL)


def run(tare_here: Tare, folder: Path, mpi: str, seconds: str, timeout: str = "5 min") -> Attempt:
    if not is_installed(mpi, mpi_folder()):
        pytest.skip(f"no {mpi} here; run: tare lab setup")
    (folder / "study.yaml").write_text(STUDY.format(mpi=mpi, seconds=seconds, timeout=timeout))
    done = tare_here("run", "study.yaml", "--out", "c")
    assert (folder / "c").exists(), done.stdout + done.stderr
    (attempt,) = read_campaign(folder / "c").attempts
    assert sleeping(seconds) == [], done.stdout + done.stderr
    return attempt


@pytest.mark.parametrize("mpi", ["intelmpi", "mpich"])
def test_a_launcher_does_not_wait_for_what_a_rank_left_behind(
    tare_here: Tare, tmp_path: Path, mpi: str, seconds: str
) -> None:
    attempt = run(tare_here, tmp_path, mpi, seconds)
    assert (attempt.state, attempt.check) == (State.INVALID, "lingerers"), attempt.reason
    assert f"(sleep {seconds})" in attempt.reason
    assert attempt.exit_code == 0


def test_it_is_found_by_its_job_label_where_no_control_group_may_be_made(
    tare_here: Tare, tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "usable", lambda: None)
    attempt = run(tare_here, tmp_path, "mpich", seconds)
    assert (attempt.state, attempt.check) == (State.INVALID, "lingerers"), attempt.reason


def test_a_run_that_comes_to_its_time_out_before_names_it(
    tare_here: Tare, tmp_path: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "_FIRST_S", 1e9)
    attempt = run(tare_here, tmp_path, "mpich", seconds, timeout="15 s")
    assert (attempt.state, attempt.check) == (State.FAILED, "timeout")
    assert "its ranks had ended, but not" in attempt.reason
    assert f"(sleep {seconds})" in attempt.reason
