"""How a job ended: exit codes, time-outs, faults of nodes and queue, and records that come late."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from backends.simulated_slurm import SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, make_scheduler, task, wait_for_one
from tare.plugins.backends.batch.scheduler import BatchScheduler


def test_a_task_ends_with_the_exit_code_and_time_that_its_job_recorded(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    assert scheduler.wait() == []
    slurm.run(1, code=3, seconds=2.5)
    one = wait_for_one(scheduler)
    assert (one.name, one.exit.code, one.exit.elapsed_s, one.started_at) == ("tare-abc-1", 3, 2.5, 100.5)
    assert one.exit.fault is None


def test_an_exit_code_above_128_is_the_signal_that_ended_the_program(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.run(1, code=139)
    assert wait_for_one(scheduler).exit.signal == 11


def test_only_a_program_that_used_all_its_time_has_timed_out(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path, 1)])
    slurm.run(1, code=124, seconds=60.2)
    assert wait_for_one(scheduler).exit.is_timeout
    scheduler.submit([task(tmp_path, 2)])
    slurm.run(2, code=124, seconds=2.0)
    ended = wait_for_one(scheduler).exit
    assert (ended.is_timeout, ended.code) == (False, 124)


@pytest.mark.parametrize(
    ("state", "says"),
    [("NODE_FAIL", "a node failed"), ("PREEMPTED", "preempted"), ("BOOT_FAIL", "a node failed")],
)
def test_what_the_nodes_or_the_queue_did_is_the_infrastructures_fault(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, state: str, says: str
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_state(1, state)
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert says in fault
    assert "job 1" in fault


@pytest.mark.parametrize(
    ("state", "says"), [("CANCELLED by 0", "cancelled by scancel"), ("OUT_OF_MEMORY", "more memory")]
)
def test_what_somebody_or_the_program_did_is_reported_and_is_no_fault_of_the_infrastructure(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, state: str, says: str
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_state(1, state)
    one = wait_for_one(scheduler)
    assert says in one.reason
    assert one.exit.fault is None


def test_a_state_that_nobody_knows_is_not_success_and_not_the_end(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_state(1, "QUANTUM_TUNNELLED")
    assert [scheduler.wait() for _ in range(20)] == [[]] * 20
    del slurm.in_queue["1"]
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert "no longer has job 1" in fault


@pytest.mark.parametrize(("seen", "is_fault"), [(["SUSPENDED"], True), (["RUNNING"], False)])
def test_a_job_that_was_suspended_while_it_ran_is_no_measurement(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, seen: list[str], is_fault: bool
) -> None:
    one = task(tmp_path)
    scheduler.submit([one])
    (one.folder / "progress").write_text("job 1 n[1-2]\nbegan 100.5\n")
    for state in seen:
        slurm.set_state(1, state)
        assert [scheduler.wait() for _ in range(3)] == [[]] * 3
    slurm.run(1)
    fault = wait_for_one(scheduler).exit.fault
    assert (fault is not None) is is_fault
    assert fault is None or "job 1 was suspended while it ran" in fault


def test_a_clock_that_was_set_during_a_step_is_reported(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    one = task(tmp_path)
    scheduler.submit([one])
    slurm.run(1)
    (one.folder / "landed").write_text("job 1 n1\nbegan 100.5 7.0\nstep run 0 101.0 7.5 3703.0 9.5\n")
    landed = wait_for_one(scheduler)
    assert (landed.exit.elapsed_s, landed.clock_set_s) == (2.0, 3600.0)


def test_a_record_that_a_file_system_shows_late_is_waited_for(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, clock: Clock, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_state(1, "COMPLETED")
    while clock.now < 10:
        assert scheduler.wait() == []
    slurm.run(1)
    assert wait_for_one(scheduler).exit.code == 0


def test_a_job_that_left_no_record_is_a_fault_that_names_the_folder(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    scheduler.submit([task(tmp_path)])
    slurm.set_state(1, "COMPLETED")
    fault = wait_for_one(scheduler).exit.fault
    assert fault is not None
    assert f"do the nodes share {tmp_path / '1'}?" in fault


@pytest.mark.parametrize(
    ("state", "is_fault"), [("down*", True), ("idle*", True), ("DOWN", True), ("mixed", False)]
)
def test_a_time_out_on_a_node_that_is_out_is_slurms_fault(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, state: str, is_fault: bool
) -> None:
    """A job whose slurmd was killed waits for a step that never starts."""
    scheduler.submit([task(tmp_path)])
    (tmp_path / "1" / "progress").write_text("job 1 n1\nbegan 1.0\n")
    (tmp_path / "1" / "before.n1").write_text("\x1e/proc/net/dev\x1e \n")
    slurm.node_states["n1"] = state
    slurm.forget(1, "TIMEOUT")
    fault = wait_for_one(scheduler).exit.fault
    assert fault == (f"it came to its time-out, and by sinfo node n1 is {state}" if is_fault else None)


@pytest.mark.parametrize(("state", "is_fault"), [("mixed", False), ("drained", True), ("draining", True)])
def test_a_job_that_is_cancelled_on_a_node_that_is_drained_is_tried_again(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, state: str, is_fault: bool
) -> None:
    """A controller that was killed starts jobs twice: slurmd refuses the second, drains and cancels."""
    one = task(tmp_path)
    scheduler.submit([one])
    (one.folder / "progress").write_text("began 100.5\n")
    (one.folder / "before.n1").write_text("\x1e/proc/net/dev\x1eeth0\n")
    slurm.node_states["n1"] = state
    slurm.forget(1, "CANCELLED by 0")
    landed = wait_for_one(scheduler)
    why = "Slurm's job 1 is CANCELLED by 0: cancelled by scancel, or by Slurm itself"
    assert landed.reason == ("" if is_fault else why)
    assert landed.exit.fault == (f"{why}, and by sinfo node n1 is {state}" if is_fault else None)


def test_a_job_that_came_to_its_limit_after_the_program_had_ended_is_no_time_out_of_the_program(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    one = task(tmp_path)
    scheduler.submit([one])
    (one.folder / "progress").write_text("began 100.5\nstep run 0 101.0 101.3\n")
    slurm.forget(1, "TIMEOUT")
    ended = wait_for_one(scheduler).exit
    assert not ended.is_timeout
    assert ended.fault == (
        "Slurm's job 1 is TIMEOUT, though the run's programs had ended: what is done after them did not"
    )


@pytest.mark.parametrize(
    ("record", "elapsed_s"),
    [
        ("began 100.5\n", 24.5),
        ("began 100.5\nstep mesh 0 101.0 104.0\n", 3.0 + 21.0),
        ("began 200.0\n", 0.0),
        ("began 1.0\n", 60.0),
        ("", 0.0),
    ],
)
def test_a_job_that_was_cancelled_took_the_time_from_its_begin_until_then(
    slurm: SimulatedSlurm, clock: Clock, tmp_path: Path, record: str, elapsed_s: float
) -> None:
    """By its own clock, which may differ from this machine's; never more than the run's time-out."""
    clock.now = 125.0
    scheduler = make_scheduler(slurm, clock)
    one = task(tmp_path)
    mesh = msgspec.structs.replace(one.steps[0], name="mesh")
    one = msgspec.structs.replace(one, steps=(mesh, *one.steps))
    scheduler.submit([one])
    if record:
        (one.folder / "progress").write_text(record)
    slurm.set_state(1, "CANCELLED by 1000")
    landed = wait_for_one(scheduler)
    assert landed.exit.elapsed_s == pytest.approx(elapsed_s, abs=1.0)
