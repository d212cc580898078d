"""What PSI/J is taken to say of jobs: also when its batch system forgets them, or does not answer."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backends.psij.doubles import BatchSystemDouble
from support.sleeping import sleeping
from support.waiting import until
from tare.core.errors import BackendError, UsageError
from tare.core.site import Platform
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import Request
from tare.plugins.backends.psij.options import PsijOptions
from tare.plugins.backends.psij.queue import PsijQueue
from tare.plugins.backends.psij.register import Entry, Register, registers, work_folder
from tare.plugins.backends.psij.systems import Executor

QueueOf = Callable[[Register], PsijQueue]
COMMENT = "0123456789ab:1:2: /campaigns/c"
ENTRY = Entry(name="tare-0123456789ab-c-1.1", comment=COMMENT, script="/campaigns/c/job.sh")


@pytest.fixture
def pbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BatchSystemDouble:
    return BatchSystemDouble(tmp_path, monkeypatch, "qsub", "qstat", "qdel")


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path / "psij", Executor.PBS, tmp_path / "state")


@pytest.fixture
def queue_of() -> Iterator[QueueOf]:
    with ExitStack() as stack:

        def make(register: Register) -> PsijQueue:
            queue = PsijQueue(register.executor, register, Reach(), poll_s=0.05)
            stack.callback(queue.close)
            return queue

        yield make


def qstat(state: str, number: str = "7.server", **more: object) -> str:
    return json.dumps({"Jobs": {number: {"job_state": state, **more}}})


def test_a_job_of_an_earlier_session_is_found_with_its_name(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    register.add("7.server", ENTRY)
    pbs.says("qstat", qstat("R"))
    (job,) = queue_of(register).jobs(["7.server"])
    assert (job.id, job.phase, job.name, job.comment) == ("7.server", Phase.ACTIVE, ENTRY.name, COMMENT)


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        (qstat("Q"), Phase.QUEUED),
        (qstat("H"), Phase.QUEUED),
        (qstat("E"), Phase.ACTIVE),
        (qstat("F", Exit_status=1), Phase.ENDED),
        (qstat("F", Exit_status=265), Phase.CANCELLED),
    ],
)
def test_states_of_psij_become_phases(
    pbs: BatchSystemDouble, register: Register, state: str, phase: Phase, queue_of: QueueOf
) -> None:
    pbs.says("qstat", state)
    assert [job.phase for job in queue_of(register).jobs(["7.server"])] == [phase]


def test_a_job_that_its_server_forgot_is_not_known_and_off_the_record(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    """It may run all the same: its task's own record tells."""
    register.add("7.server", ENTRY)
    pbs.says("qstat", "", complains="qstat: Unknown Job Id 7.server\n", code=153)
    assert queue_of(register).jobs(["7.server"]) == []
    assert register.entries() == {}


def test_a_server_that_does_not_answer_ends_no_job(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    """PSI/J itself then calls all of them failed."""
    register.add("7.server", ENTRY)
    pbs.says("qstat", qstat("R"))
    queue = queue_of(register)
    assert [job.phase for job in queue.jobs(["7.server"])] == [Phase.ACTIVE]
    pbs.says("qstat", "", complains="qstat: cannot connect to server\n", code=1)

    said: list[str] = []

    def is_silent() -> bool:
        try:
            phases = [job.phase for job in queue.jobs(["7.server"])]
        except BackendError as error:
            said.append(str(error))
            return True
        return phases != [Phase.ACTIVE]

    until(is_silent)
    assert "cannot connect to server" in said[0]
    pbs.says("qstat", qstat("R"))
    until(lambda: not is_silent())
    assert list(register.entries()) == ["7.server"]


def test_without_jobs_the_server_is_asked_at_once(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    pbs.says("qstat", "", complains="qstat: cannot connect to server\n", code=1)
    with pytest.raises(BackendError, match="cannot connect"):
        queue_of(register).jobs(())


def test_a_script_that_has_ended_is_over_before_its_server_reports_it(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    pbs.says("qstat", qstat("R"))
    exit_code = register.work / "pbs" / "7.server.ec"
    exit_code.parent.mkdir(parents=True)
    exit_code.write_text("0\n")
    assert [job.phase for job in queue_of(register).jobs(["7.server"])] == [Phase.ENDED]


def test_a_cancelled_job_is_off_the_record(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    register.add("7.server", ENTRY)
    pbs.says("qstat", qstat("R"))
    queue_of(register).cancel(["7.server"])
    assert "qdel 7.server" in pbs.calls
    assert register.entries() == {}


def test_a_job_that_cannot_be_cancelled_stays_on_record(
    pbs: BatchSystemDouble, register: Register, queue_of: QueueOf
) -> None:
    register.add("7.server", ENTRY)
    pbs.says("qstat", qstat("R"))
    pbs.says("qdel", "", complains="qdel: Unauthorized Request 7.server\n", code=159)
    with pytest.raises(BackendError, match="Unauthorized"):
        queue_of(register).cancel(["7.server"])
    assert list(register.entries()) == ["7.server"]


def test_a_process_that_has_the_number_of_a_job_by_now_is_not_the_job(
    tmp_path: Path, queue_of: QueueOf
) -> None:
    register = Register(tmp_path / "psij", Executor.LOCAL, tmp_path / "state")
    own = str(os.getpid())
    register.add(own, ENTRY)
    queue = queue_of(register)
    assert [job.phase for job in queue.jobs([own])] == [Phase.ENDED]
    queue.cancel([own])  # this test goes on


def test_what_a_job_here_starts_while_it_is_cancelled_ends_with_it(tmp_path: Path, queue_of: QueueOf) -> None:
    """PSI/J kills the processes that it has listed; what a job forks meanwhile would go on."""
    long = f"60.{os.getpid()}"
    script = tmp_path / "job.sh"
    script.write_text(f"for i in {{1..300}}; do sleep {long} & done; wait\n")
    queue = queue_of(Register(tmp_path / "psij", Executor.LOCAL, tmp_path / "state"))
    number = queue.submit(
        script,
        Request(
            name="tare-fork",
            nodes=1,
            ranks_per_node=1,
            threads=1,
            minutes=5,
            output=tmp_path / "out",
            platform=Platform(backend="psij", options=PsijOptions(executor=Executor.LOCAL)),
        ),
    )
    try:
        until(lambda: len(sleeping(long)) > 20)
        queue.cancel([number])
        time.sleep(0.2)
        assert sleeping(long) == []
    finally:
        for pid in sleeping(long):
            os.kill(pid, signal.SIGKILL)


def test_clean_knows_campaigns_while_they_have_jobs(tmp_path: Path) -> None:
    register = Register(tmp_path / "c" / "psij", Executor.LSF, tmp_path / "state")
    register.add("4711", ENTRY)
    register.add("4712", ENTRY)
    (found,) = registers(tmp_path / "state")
    assert (found.work, found.executor, list(found.entries())) == (
        register.work,
        Executor.LSF,
        ["4711", "4712"],
    )
    register.remove("4711")
    assert len(list(registers(tmp_path / "state"))) == 1
    register.remove("4712")
    assert list(registers(tmp_path / "state")) == []
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_puts_on_record_is_not_believed(tmp_path: Path) -> None:
    register = Register(tmp_path / "psij", Executor.PBS, tmp_path / "state")
    register.add("7.server", ENTRY)
    os.chown(tmp_path / "psij" / "jobs" / "pbs" / "7.server", 12345, -1)
    (tmp_path / "psij" / "jobs" / "pbs" / "8.server").symlink_to("7.server")
    assert register.entries() == {}


def test_psijs_files_are_in_the_campaign_or_where_its_scripts_can_hold_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/home/me/state")
    assert work_folder(Path("/scratch/c"), "0123") == Path("/scratch/c/psij")
    assert work_folder(Path("/scratch/it's mine"), "0123") == Path("/home/me/state/tare/psij-work/0123")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/my own")
    with pytest.raises(UsageError, match="can hold neither /scratch/it's mine"):
        work_folder(Path("/scratch/it's mine"), "0123")
