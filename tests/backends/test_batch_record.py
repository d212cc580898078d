"""The record that a job left, whole or damaged: what cannot be read is never success."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from tare.core.case import Layout
from tare.core.scheduler import Task
from tare.core.site import Platform
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.record import read_complete, read_progress, result_without_record
from tare.plugins.backends.slurm.commands import parse_queue

MESHED = "job 7 n1\nbegan 100.5 9.0\nstep mesh 0 101.0 9.5 102.0 10.5\n"
RUN = "step run 3 103.0 11.5 105.0 13.5\n"


def test_a_whole_record_has_every_step(tmp_path: Path) -> None:
    (tmp_path / "landed").write_text(MESHED + RUN)
    found = read_complete(tmp_path)
    assert found is not None
    assert [(one.name, one.code, one.elapsed_s) for one in found.steps] == [("mesh", 0, 1.0), ("run", 3, 2.0)]


@pytest.mark.parametrize("end", range(1, len(RUN)))
def test_a_record_that_was_cut_is_not_complete(tmp_path: Path, end: int) -> None:
    (tmp_path / "landed").write_text(MESHED + RUN[:end])
    assert read_complete(tmp_path) is None


@pytest.mark.parametrize("name", ["landed", "progress", "before.n1", "room.n1"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_pipes_and_links_that_a_program_left_are_no_record(tmp_path: Path, name: str, kind: str) -> None:
    signal.alarm(60)  # ends the tests where a pipe is waited for
    (tmp_path / "t").mkdir()
    (tmp_path / "secret").write_text(MESHED + RUN)
    if kind == "pipe":
        os.mkfifo(tmp_path / "t" / name)
    else:
        (tmp_path / "t" / name).symlink_to(tmp_path / "secret")
    assert read_complete(tmp_path / "t") is None
    assert read_progress(tmp_path / "t") is None
    platform = Platform(backend="slurm")
    task = Task(name="t", folder=tmp_path / "t", steps=(), layout=Layout(), platform=platform, timeout_s=1)
    found = result_without_record(task, None, Phase.ENDED, "it ended")
    assert (found.nodes, found.before) == ((), {})
    signal.alarm(0)


@pytest.mark.parametrize(
    ("told", "damaged"),
    [
        ("run 3", "run x"),
        ("run 3", "run " + "9" * 5000),
        ("run 3", "run ²"),
        ("103.0", "nan"),
        ("103.0", "1e400"),
    ],
)
def test_a_damaged_record_is_not_complete_and_keeps_what_can_be_read(
    tmp_path: Path, told: str, damaged: str
) -> None:
    for name in ("landed", "progress"):
        (tmp_path / name).write_text(MESHED + RUN.replace(told, damaged))
    assert read_complete(tmp_path) is None
    found = read_progress(tmp_path)
    assert found is not None
    assert (found.began_at, [one.name for one in found.steps]) == (100.5, ["mesh"])


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "1_[2-3]", ""])
def test_a_line_of_the_queue_without_a_jobs_number_is_none_of_ours(number: str) -> None:
    assert [one.id for one in parse_queue(f"{number}|RUNNING|x|y\n17|RUNNING|x|y\n")] == ["17"]


_BATCH_SYSTEM = """\
set -u
job_id=1 job_nodes=n1 node0=n1 this_node=n1 task_name=t counters=true facts=true
on_each() { sleep 2; }
"""


@pytest.mark.skipif(shutil.which("timeout") is None, reason="no timeout(1) here")
def test_what_nodes_take_to_answer_is_not_taken_from_a_programs_time(tmp_path: Path) -> None:
    """Else a program that ran out of time would be recorded as one that returned 124."""
    functions = resources.files("tare").joinpath("plugins/backends/batch/job.sh").read_text()
    steps = f"task {tmp_path} 1 3; sleep 2; step mesh out err sleep 1; sleep 2; step run out err sleep 60"
    script = f"{_BATCH_SYSTEM}{functions}\n{steps}\n"
    subprocess.run(["bash", "-c", script], check=False, timeout=60)
    found = read_progress(tmp_path)
    assert found is not None
    assert [(one.name, one.code) for one in found.steps] == [("mesh", 0), ("run", 124)]
    assert 2.0 <= found.elapsed_s < 5.0
