"""Folders on a storage path that a killed job left."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import task, wait_for_one
from tare.core.scheduler import Task
from tare.plugins.backends.batch.scheduler import BatchScheduler


def with_storage(folder: Path, left: str) -> Task:
    """Return a task with a folder of its own on a storage path, whose job left one and has ended since."""
    found = msgspec.structs.replace(task(folder), own_storage="/scratch/tare-0a1b2c-case9-1.1")
    (found.folder / "storage.left").write_text(f"{left}\n")
    return found


def test_what_a_killed_job_left_on_its_storage_path_is_removed(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    """No trap of bash outlives SIGKILL, nor the loss of a node."""
    killed = with_storage(tmp_path, "/scratch/tare-0a1b2c-case9-1.1")
    scheduler.submit([killed])
    slurm.set_state(1, "NODE_FAIL")
    assert wait_for_one(scheduler).exit.fault
    assert slurm.removed == ["/scratch/tare-0a1b2c-case9-1.1"]
    assert not (killed.folder / "storage.left").exists()


def test_so_is_what_a_job_of_an_earlier_session_left(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    assert scheduler.adopt([with_storage(tmp_path, "/scratch/tare-ffffff-case9-1.1")]) == []
    assert slurm.removed == ["/scratch/tare-ffffff-case9-1.1"]


@pytest.mark.parametrize(
    "left",
    [
        "/scratch",
        "/home/tare-ffffff-case9-1.1",
        "/scratch/../home/tare-ffffff-case9-1.1",
        "/scratch/tare-ffffff-case9-1.2",
        "/scratch/data-ffffff-case9-1.1",
        "",
    ],
)
def test_no_folder_but_one_of_that_very_attempt_is_removed(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, left: str
) -> None:
    """Whoever made the campaign's folder wrote that record, too."""
    scheduler.adopt([with_storage(tmp_path, left)])
    assert slurm.removed == []
