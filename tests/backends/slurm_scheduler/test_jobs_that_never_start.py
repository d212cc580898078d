"""Pending jobs that waiting alone does not start: the cure is told at once, and what is hopeless ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, task, wait_for_one
from tare.core.errors import BackendError
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.slurm.commands import parse_queue
from tare.plugins.backends.slurm.reasons import obstacle_of

_FINAL = [
    "PartitionTimeLimit",
    "AccountNotAllowed",
    "InvalidAccount",
    "InvalidQOS",
    "QOSNotAllowed",
    "BadConstraints",
    "MaxMemPerLimit",
    "ReservationDeleted",
    "DependencyNeverSatisfied",
    "DeadLine",
    "JobHoldMaxRequeue",
    "AssocMaxWallDurationPerJobLimit",
    "AssocMaxCpuPerNode",
    "QOSMaxNodePerJobLimit",
    "QOSMaxCpuMinutesPerJobLimit",
    "QOSMinCpuNotSatisfied",
    "QOSMinGRES",
    "launch failed requeued held",
    "launch_failed_requeued_held",
]
_CURABLE = [
    "PartitionNodeLimit",
    "PartitionConfig",
    "PartitionDown",
    "PartitionInactive",
    "ReqNodeNotAvail, UnavailableNodes:n[1-2],n7",
    "(ReqNodeNotAvail, May be reserved for other job)",
    "NodeDown",
    "JobHeldUser",
    "JobHeldAdmin",
    "AssocGrpCPUMinutesLimit",
    "QOSGrpNodeLimit",
    "QOSUsageThreshold",
]
_PASSING = [
    "Priority",
    "Resources",
    "None",
    "BeginTime",
    "Dependency",
    "Licenses",
    "Reservation",
    "QOSMaxCpuPerUserLimit",
    "QOSMaxJobsPerUserLimit",
    "AssocMaxJobsLimit",
    "MaxJobsPerAccount",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    "",
    "|",
    "\x1b[2J",
]


@pytest.mark.parametrize("reason", _FINAL)
def test_a_reason_that_never_passes_is_final_with_a_cure(reason: str) -> None:
    found = obstacle_of(reason, "compute")
    assert found is not None
    assert found.is_final
    assert found.cure


@pytest.mark.parametrize("reason", _CURABLE)
def test_a_reason_that_somebody_may_end_has_a_cure_and_is_waited_for(reason: str) -> None:
    found = obstacle_of(reason, "compute")
    assert found is not None
    assert not found.is_final


@pytest.mark.parametrize("reason", _PASSING)
def test_a_reason_that_ends_by_itself_has_no_cure(reason: str) -> None:
    assert obstacle_of(reason, "compute") is None


def test_the_limit_of_one_of_several_partitions_is_not_final() -> None:
    found = obstacle_of("PartitionTimeLimit", "short,long")
    assert found is not None
    assert not found.is_final


def test_a_line_of_squeue_has_the_whole_reason_and_the_whole_comment() -> None:
    line = "12|PENDING|tare-abc-1|ReqNodeNotAvail, UnavailableNodes:n[1-2],n7|a,b|session: /c/a|b\n"
    (job,) = parse_queue(line)
    assert (job.reason, job.comment) == ("ReqNodeNotAvail, UnavailableNodes:n[1-2],n7", "session: /c/a|b")


@pytest.mark.parametrize("line", ["", "12", "12_[1-4]|PENDING|x|None|p|", "12+1|RUNNING|x|None|p|", "a|b|c"])
def test_lines_of_arrays_and_of_parts_of_jobs_are_no_jobs_of_tare(line: str) -> None:
    assert list(parse_queue(line)) == []


def test_a_job_that_can_never_start_is_cancelled_and_is_no_fault_of_the_program(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    told: list[str] = []
    scheduler.report_waits(lambda names, reason: told.append(reason))
    scheduler.submit([task(tmp_path)])
    slurm.set_reason(1, "PartitionTimeLimit")
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert fault.startswith("Slurm's job 1 can never start: PartitionTimeLimit; its time limit is above the ")
    assert slurm.cancelled == ["1"]
    assert clock.now < 60
    assert told == [f"queued by Slurm: PartitionTimeLimit; {fault.partition('; ')[2]}"]


def test_the_tasks_of_a_packed_job_that_can_never_start_end_together(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path, 1), task(tmp_path, 2)])
    slurm.set_reason(1, "QOSMaxWallDurationPerJobLimit")
    results = [one for _ in range(20) for one in scheduler.wait()]
    assert [one.name for one in results if one.exit.fault] == ["tare-abc-1", "tare-abc-2"]
    assert slurm.cancelled == ["1"]


def test_a_reason_that_passes_within_seconds_ends_no_job(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    for number in range(20):
        slurm.set_reason(1, "Priority" if number % 2 else "AccountNotAllowed")
        assert scheduler.wait() == []
    assert clock.now > 60
    assert slurm.cancelled == []


def test_a_held_job_is_waited_for_and_the_way_to_release_it_is_reported_within_seconds(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    told: list[str] = []
    scheduler.report_waits(lambda names, reason: told.append(reason))
    scheduler.submit([task(tmp_path)])
    slurm.set_reason(1, "PartitionConfig")
    scheduler.wait()
    slurm.set_reason(1, "JobHeldUser")
    while clock.now < 5:
        scheduler.wait()
    assert told == ["queued by Slurm: JobHeldUser; it is held: scontrol release lets it start"]
    while clock.now < 3600:
        assert scheduler.wait() == []
    assert len(told) == 1
    assert slurm.cancelled == []


def test_a_hopeless_job_that_cannot_be_cancelled_now_is_cancelled_later(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_reason(1, "BadConstraints")

    def refuse(ids: object) -> None:
        monkeypatch.undo()
        raise BackendError("scancel: Unable to contact slurm controller (connect failure)")

    monkeypatch.setattr(slurm, "cancel", refuse)
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert slurm.cancelled == ["1"]
