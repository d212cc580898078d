"""Jobs that the controller no longer knows: accounting says what became of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, task, wait_for_one
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.scheduler import BatchScheduler


def test_a_number_that_is_given_again_is_another_job(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.in_queue["1"] = slurm.in_queue["1"]._replace(
        name="somebody-else", phase=Phase.CANCELLED, state="CANCELLED"
    )
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert "no longer has job 1" in fault


def test_a_job_that_the_controller_forgot_may_still_end(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    (tmp_path / "1" / "progress").write_text("job 1 n1\nbegan 1.0\n")
    del slurm.in_queue["1"]
    while clock.now < 60:
        assert scheduler.wait() == []
    (tmp_path / "1" / "landed").write_text("began 1.0\nstep run 0 1.0 50.0\n")
    assert wait_for_one(scheduler).exit.code == 0


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("NODE_FAIL", "a node failed"),
        ("PREEMPTED", "preempted"),
        ("CANCELLED by 0", "cancelled by scancel"),
        ("OUT_OF_MEMORY", "more memory"),
        ("COMPLETED", "is COMPLETED"),
    ],
)
def test_accounting_shows_what_became_of_a_job_that_the_controller_has_forgotten(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, state: str, says: str
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.forget(1, state)
    one = wait_for_one(scheduler)
    assert says in (one.reason or one.exit.fault or "")


def test_a_time_limit_of_the_job_is_a_time_out_also_from_accounting(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    (tmp_path / "1" / "progress").write_text("job 1 n1\nbegan 1.0\n")
    slurm.forget(1, "TIMEOUT")
    assert wait_for_one(scheduler).exit.is_timeout


def test_accounting_of_another_job_with_the_same_number_is_not_believed(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.forget(1, "CANCELLED")
    slurm.accounts["1"] = slurm.accounts["1"]._replace(name="somebody-else")
    assert "no longer has job 1" in (wait_for_one(scheduler).exit.fault or "")


def test_accounting_is_asked_once_a_poll_for_all_jobs_that_are_missing(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    for number in range(1, 101):
        scheduler.submit([task(tmp_path, number)])
    for number in range(1, 51):
        slurm.forget(number, "NODE_FAIL")
    before = slurm.n_queries
    assert len(scheduler.wait()) == 50
    assert slurm.n_queries - before == 2
