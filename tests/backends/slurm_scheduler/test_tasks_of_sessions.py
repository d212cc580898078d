"""Tasks from submission to cancellation: of one job, of a later session, a thousand at once."""

from __future__ import annotations

import signal
import tracemalloc
from pathlib import Path

import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, make_scheduler, task, wait_for_one
from tare.plugins.backends.batch.scheduler import BatchScheduler


def test_tasks_of_one_job_end_each_by_itself(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    tasks = [task(tmp_path, number) for number in (1, 2, 3)]
    scheduler.submit(tasks)
    slurm.set_state(1, "RUNNING")
    (tasks[0].folder / "landed").write_text("began 1.0\nstep run 0 1.0 2.0\n")
    assert wait_for_one(scheduler).name == "tare-abc-1"
    slurm.set_state(1, "NODE_FAIL")
    rest = {one.name: one.exit.fault for one in scheduler.wait()}
    assert rest.keys() == {"tare-abc-2", "tare-abc-3"}
    assert all(rest.values())


def test_a_new_session_adopts_what_is_queued_or_has_ended_and_nothing_else(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    tasks = [task(tmp_path, number) for number in (1, 2, 3, 4)]
    for one in tasks[:3]:
        scheduler.submit([one])
    slurm.run(2)
    slurm.set_state(3, "CANCELLED")
    (tasks[0].folder / "job").unlink()  # killed between sbatch and its record: the name still tells
    later = make_scheduler(slurm, clock)
    assert set(later.adopt(tasks)) == {"tare-abc-1", "tare-abc-2"}
    assert wait_for_one(later).name == "tare-abc-2"


def test_cancelled_tasks_have_no_result(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    scheduler.cancel(["tare-abc-1"])
    assert slurm.cancelled == ["1"]
    slurm.run(1)
    assert scheduler.wait() == []


def test_a_job_that_is_just_being_taken_when_an_interrupt_comes_can_still_be_cancelled(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    slurm.on_taken = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        scheduler.submit([task(tmp_path)])
    scheduler.cancel(["tare-abc-1"])
    assert slurm.cancelled == ["1"]


def test_a_thousand_jobs_take_one_query_a_poll_and_little_memory(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    for number in range(1, 1001):
        scheduler.submit([task(tmp_path, number)])
    before = slurm.n_queries
    tracemalloc.start()
    for _ in range(5):
        scheduler.wait()
    first, _ = tracemalloc.get_traced_memory()
    for _ in range(20):
        scheduler.wait()
    last, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert slurm.n_queries - before == 25
    assert last - first < 100_000
    for number in range(1, 1001):
        slurm.run(number)
    landed = [one.name for _ in range(100) for one in scheduler.wait()]
    assert len(set(landed)) == len(landed) == 1000


def test_why_a_job_waits_in_the_queue_is_reported_in_slurms_words(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    told: list[tuple[tuple[str, ...], str]] = []
    scheduler.report_waits(lambda names, reason: told.append((tuple(names), reason)))
    scheduler.submit([task(tmp_path)])
    slurm.set_reason(1, "ReqNodeNotAvail, UnavailableNodes:n[1-2]")
    while clock.now < 60:
        scheduler.wait()
    slurm.set_state(1, "RUNNING")
    while clock.now < 120:
        scheduler.wait()
    names = ("tare-abc-1",)
    said = (
        "queued by Slurm: ReqNodeNotAvail, UnavailableNodes:n[1-2]; nodes that it names are down, drained, "
        "reserved or in use (sinfo -R, scontrol show reservation)"
    )
    assert told == [(names, said), (names, "")]


@pytest.mark.parametrize(("at", "is_fault"), [(99.0, False), (112.0, True)])
def test_a_time_out_while_slurmd_was_started_again_is_slurms_failure(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, at: float, is_fault: bool
) -> None:
    one = task(tmp_path)
    scheduler.submit([one])
    (one.folder / "progress").write_text("began 100.5\n")
    (one.folder / "before.n1").write_text("\x1e/proc/net/dev\x1eeth0\n")
    slurm.daemons["n1"] = at
    slurm.forget(1, "TIMEOUT")
    fault = wait_for_one(scheduler).exit.fault
    said = "it came to its time-out, and slurmd of node n1 was started again 12 s after it began"
    assert fault == (said if is_fault else None)


def test_the_log_has_jobs_from_submission_to_end_in_the_same_words_for_every_batch_system(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tare.batch")
    scheduler.submit([task(tmp_path)])
    slurm.run(1, code=3, seconds=2.5)
    wait_for_one(scheduler)
    scheduler.submit([task(tmp_path, 2)])
    scheduler.cancel(["tare-abc-2"])
    told = [(one.message, *vars(one)["fields"].values()) for one in caplog.records]
    assert told == [
        ("job submitted", "Slurm", "1", ["tare-abc-1"]),
        ("job ended", "1", "tare-abc-1", 3, None),
        ("job submitted", "Slurm", "2", ["tare-abc-2"]),
        ("jobs cancelled", "Slurm", ["2"]),
    ]
