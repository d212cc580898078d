from __future__ import annotations

import signal
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from backends.simulated_slurm import SimulatedSlurm
from tare.core.case import Layout
from tare.core.errors import BackendError
from tare.core.launch import Invocation
from tare.core.scheduler import JobResult, Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.plugin import BACKEND


class Clock:
    """Stands for time: sleeping is what makes it pass."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps.append(seconds)


@pytest.fixture
def slurm() -> SimulatedSlurm:
    return SimulatedSlurm()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scheduler(slurm: SimulatedSlurm, clock: Clock) -> BatchScheduler:
    return make_scheduler(slurm, clock)


def make_scheduler(slurm: SimulatedSlurm, clock: Clock) -> BatchScheduler:
    return BACKEND.scheduler(slurm, lambda _: "", clock=lambda: clock.now, sleep=clock.sleep)


def task(folder: Path, number: int = 1) -> Task:
    work = folder / str(number)
    work.mkdir(exist_ok=True)
    return Task(
        name=f"tare-abc-{number}",
        folder=work,
        steps=(Step(name="run", invocation=Invocation(argv=("true",))),),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(backend="slurm", options=SlurmOptions()),
        timeout_s=60.0,
    )


def wait_for_one(scheduler: BatchScheduler) -> JobResult:
    for _ in range(100):
        landed = scheduler.wait()
        if landed:
            (one,) = landed
            return one
    raise AssertionError("nothing landed")


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
    said = "queued by Slurm: ReqNodeNotAvail, UnavailableNodes:n[1-2]"
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
