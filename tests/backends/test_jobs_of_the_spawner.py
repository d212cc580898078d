"""Jobs that the process backend starts by its spawner, whichever of the two ends first."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process import control_groups
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.backends.process.orphans import look
from tare.plugins.backends.process.spawning import Spawner, Start, StartedJob


def _job(backend: ProcessBackend, folder: Path, script: str) -> Job:
    return Job(
        label=f"{backend._label}case/1.1;",
        invocation=Invocation(argv=("sh", "-c", script)),
        host=None,
        folder=folder,
        timeout_s=20,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_outlives_what_started_it_and_its_exit_is_known(tmp_path: Path, number: signal.Signals) -> None:
    """As if a user ended all programs of Python. The next job is started by another program."""
    with ProcessBackend(label=str(new_session(f"spawn{time.monotonic_ns()}"))) as backend:
        script = f"sleep 0.2; kill -{int(number)} $PPID; sleep 0.2; echo value: 1; exit 7"
        ended = backend.run(_job(backend, tmp_path, script))
        assert (ended.code, ended.fault, ended.survivors) == (7, None, ())
        assert (tmp_path / "stdout").read_text() == "value: 1\n"
        again = backend.run(_job(backend, tmp_path, "echo value: 2"))
        assert again == Exit(code=0, elapsed_s=again.elapsed_s)


def test_a_job_is_born_in_its_control_group_and_the_spawner_leaves_it(tmp_path: Path) -> None:
    if control_groups.usable() is None:
        pytest.skip("no control group may be made here")
    with ProcessBackend(label=str(new_session(f"spawn{time.monotonic_ns()}"))) as backend:
        backend.run(_job(backend, tmp_path, "sleep 0.2; grep ^0:: /proc/self/cgroup /proc/$PPID/cgroup"))
    own, spawner = (line.partition("::")[2] for line in (tmp_path / "stdout").read_text().splitlines())
    assert own.rpartition("/")[2].startswith("tare:")
    assert spawner == own.rpartition("/tare:")[0] or spawner == "/"


def test_nothing_of_it_is_left_after_the_backend(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    with ProcessBackend(label=str(new_session(f"spawn{time.monotonic_ns()}"))) as backend:
        backend.run(_job(backend, tmp_path, "echo $PPID"))
        pid = int((tmp_path / "stdout").read_text())
        assert Path(f"/proc/{pid}").exists()
    assert not Path(f"/proc/{pid}").exists()
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_what_was_lost_while_it_was_started_is_ended_with_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has not become its program yet has no label, so only its group knows it."""
    if control_groups.usable() is None:
        pytest.skip("no control group may be made here")
    born: list[subprocess.Popen[bytes]] = []

    def lost(spawner: Spawner, what: Start) -> StartedJob:
        assert what.group is not None
        born.append(subprocess.Popen(["sleep", "60"], preexec_fn=what.group.join))
        raise OSError(errno.EAGAIN, "lost")

    monkeypatch.setattr(Spawner, "start", lost)
    with ProcessBackend(label=str(new_session(f"spawn{time.monotonic_ns()}"))) as backend:
        ended = backend.run(_job(backend, tmp_path, "true"))
    assert ended.fault == "could not start a process: sh: lost"
    (process,) = born
    state = look(process.pid)
    process.kill()
    process.wait()
    assert state is None or state.state == "Z"


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_no_output_of_a_job_is_not_the_programs_fault(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was "exit code 126: sh: Input/output error": the program's failure, which is not tried again."""

    def broken(file: SafeFolder) -> int:
        raise OSError(number, os.strerror(number), file.name)

    monkeypatch.setattr(SafeFolder, "create", broken)
    with ProcessBackend(label=str(new_session(f"spawn{time.monotonic_ns()}"))) as backend:
        ended = backend.run(_job(backend, tmp_path, "true"))
    assert ended.code is None
    assert ended.fault == f"could not start a process: stdout: {os.strerror(number)}"
