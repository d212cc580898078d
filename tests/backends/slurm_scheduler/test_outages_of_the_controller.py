"""A controller that does not answer is waited for, and no job is submitted twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, task, wait_for_one
from tare.core.errors import BackendError
from tare.plugins.backends.batch.scheduler import BatchScheduler


def test_an_outage_of_the_controller_is_waited_out(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.n_outages = 10
    for _ in range(10):
        assert scheduler.wait() == []
    assert clock.now > 20, "polls of a controller in trouble must become fewer"
    slurm.run(1)
    assert wait_for_one(scheduler).exit.code == 0


def test_an_outage_that_lasts_is_an_error(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.n_outages = 10_000

    def wait_for_ever() -> None:
        while True:
            scheduler.wait()

    with pytest.raises(BackendError, match="Unable to contact"):
        wait_for_ever()


def test_an_outage_and_its_end_are_each_reported_once(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    told: list[tuple[tuple[str, ...], str]] = []
    scheduler.report_waits(lambda names, reason: told.append((tuple(names), reason)))
    scheduler.submit([task(tmp_path)])
    slurm.n_outages = 3
    slurm.run(1)
    wait_for_one(scheduler)
    names = {names for names, _ in told}
    assert names <= {("tare-abc-1",)}
    slurm.n_outages = 4
    scheduler.submit([task(tmp_path, 2)])
    reasons = [reason for names, reason in told if "tare-abc-2" in names]
    assert len(reasons) == 2
    assert "Slurm does not answer (" in reasons[0]
    assert "Unable to contact" in reasons[0]
    assert reasons[1] == "", "it goes on"


def test_a_submission_during_an_outage_is_made_once_it_is_over(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    slurm.n_outages = 4
    scheduler.submit([task(tmp_path)])
    assert list(slurm.in_queue) == ["1"]


def test_a_job_that_was_taken_although_sbatch_failed_is_not_submitted_twice(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    slurm.loses_answers = True
    scheduler.submit([task(tmp_path)])
    assert list(slurm.in_queue) == ["1"]
    slurm.run(1)
    assert wait_for_one(scheduler).exit.code == 0


def test_a_refusal_has_the_message_of_sbatch(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    slurm.refusal = "sbatch: error: invalid partition specified: fast"
    with pytest.raises(BackendError, match="invalid partition"):
        scheduler.submit([task(tmp_path)])
    assert slurm.in_queue == {}


def test_a_job_that_still_runs_for_a_controller_that_was_killed_is_cancelled_at_the_end(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    for number in (1, 2, 3):
        scheduler.submit([task(tmp_path, number)])
    for number in (1, 2):
        slurm.run(number)
    slurm.set_state(1, "RUNNING")
    while len(slurm.in_queue) - len(scheduler._in_flight) < 2:
        scheduler.wait()
    scheduler.close()
    assert slurm.cancelled == ["1"], "2 has ended, and 3 has not landed"
