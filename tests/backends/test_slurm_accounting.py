"""What is asked of sacct, and what is believed of it. The double stands for the programs themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import QueuedJob
from tare.plugins.backends.slurm.commands import Slurm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def slurm_whose_sacct(folder: Path, script: str) -> Slurm:
    program = folder / "sacct"
    program.write_text(f'#!/bin/sh\necho "$@" >>{folder}/calls\n{script}\n')
    program.chmod(0o755)
    agent = folder / "agent"
    agent.write_text(f'#!/bin/sh\nshift\nPATH={folder}:/usr/bin:/bin\nexec sh -c "$*"\n')
    agent.chmod(0o755)
    return Slurm([str(agent)], "login", {})


def n_calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines())


def test_all_jobs_are_asked_for_at_once_and_steps_are_left_out(folder: Path) -> None:
    slurm = slurm_whose_sacct(folder, "printf '3|CANCELLED by 0|tare-a\\n12|COMPLETED|tare-b\\n'")
    assert slurm.account({"12", "3"}) == [
        QueuedJob("3", Phase.CANCELLED, "CANCELLED by 0", "tare-a"),
        QueuedJob("12", Phase.ENDED, "COMPLETED", "tare-b"),
    ]
    assert "--allocations" in (folder / "calls").read_text()
    assert "--jobs=3,12" in (folder / "calls").read_text()


def test_jobs_that_accounting_lists_as_running_are_left_out(folder: Path) -> None:
    """slurmdbd never hears of the end of a job that died with its controller."""
    slurm = slurm_whose_sacct(folder, "printf '1|RUNNING|a\\n2|PENDING|b\\n3|WHO_KNOWS|c\\n4|TIMEOUT|d\\n'")
    assert [job.id for job in slurm.account({"1", "2", "3", "4"})] == ["4"]


def test_a_site_without_accounting_is_asked_once(folder: Path) -> None:
    slurm = slurm_whose_sacct(folder, "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert [slurm.account({"1"}) for _ in range(3)] == [[]] * 3
    assert n_calls(folder) == 1


def test_an_outage_of_accounting_is_no_reason_not_to_ask_again(folder: Path) -> None:
    slurm = slurm_whose_sacct(folder, "echo 'Connection refused' >&2; exit 1")
    assert [slurm.account({"1"}) for _ in range(3)] == [[]] * 3
    assert n_calls(folder) == 3


def test_nobody_is_asked_for_nothing(folder: Path) -> None:
    slurm = slurm_whose_sacct(folder, "exit 1")
    assert slurm.account([]) == []
    assert not (folder / "calls").exists()
