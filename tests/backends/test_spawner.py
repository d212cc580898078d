"""Jobs are started by a small process of their own: what it is given arrives, and its end loses nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process import control_groups
from tare.plugins.backends.process import spawner as spawner_program
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.backends.process.spawning import Spawner, Start, StartedJob


@pytest.fixture
def spawner() -> Iterator[Spawner]:
    with Spawner({**os.environ, "OF_ALL": "yes"}, None, lambda pid: None) as spawner:
        yield spawner


@pytest.fixture
def out(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def _start(spawner: Spawner, out: int, folder: Path, *argv: str, **env: str) -> StartedJob:
    return spawner.start(Start(argv=argv, cwd=folder, env=env, outputs=(out, out)))


def test_words_environment_and_folder_arrive_as_they_are(spawner: Spawner, out: int, tmp_path: Path) -> None:
    """Bytes that are no text, quotes, newlines, and half a megabyte: more than a socket takes at once."""
    odd, large = "a'\"\n$(x) \udcff é", "x" * 120_000
    program = (
        "import os, sys; print([os.fsencode(one) for one in sys.argv[1:]], os.getcwd(), os.environ['OF_ALL'],"
    )
    program += " os.fsencode(os.environ['ODD']), sum(len(os.environ[f'L{n}']) for n in range(4)))"
    more = {f"L{number}": large for number in range(4)}
    job = _start(spawner, out, tmp_path, sys.executable, "-c", program, odd, ODD=odd, **more)
    assert job.wait() == 0
    expected = os.fsencode(odd)
    assert (tmp_path / "out").read_text() == f"[{expected!r}] {tmp_path} yes {expected!r} 480000\n"


def test_a_job_holds_no_descriptors_and_blocks_no_signals(spawner: Spawner, out: int, tmp_path: Path) -> None:
    script = "ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; ps -o sid= -p $$ | tr -d ' '"
    job = _start(spawner, out, tmp_path, "sh", "-c", script)
    job.wait()
    *listed, blocked, ignored, session = (tmp_path / "out").read_text().split("\n")[:-1]
    assert listed == ["0", "1", "2", "3"]  # the last one is that of ls
    assert {one.split("\t")[1] for one in (blocked, ignored)} == {"0" * 16}
    assert int(session) == job.pid


def test_what_cannot_be_started_has_the_error_of_exec(spawner: Spawner, out: int, tmp_path: Path) -> None:
    for name, content, mode, number in [
        ("missing", None, 0, errno.ENOENT),
        ("plain", "echo\n", 0o644, errno.EACCES),
        ("no-interpreter", "#!/no/such\n", 0o755, errno.ENOENT),
        ("no-format", "echo\n", 0o755, errno.ENOEXEC),
    ]:
        if content is not None:
            (tmp_path / name).write_text(content)
            (tmp_path / name).chmod(mode)
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            _start(spawner, out, tmp_path, str(tmp_path / name))
        assert caught.value.errno == number
    with pytest.raises(ValueError, match="null byte"):
        _start(spawner, out, tmp_path, "echo", "a\0b")
    assert _start(spawner, out, tmp_path, "true").wait() == 0


def test_exit_codes_and_signals_arrive(spawner: Spawner, out: int, tmp_path: Path) -> None:
    assert _start(spawner, out, tmp_path, "sh", "-c", "exit 3").wait() == 3
    killed = _start(spawner, out, tmp_path, "sleep", "60")
    assert not killed.has_ended(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.has_ended(10)
    assert (killed.wait(), killed.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_a_long_job_holds_up_no_other(spawner: Spawner, out: int, tmp_path: Path) -> None:
    long = _start(spawner, out, tmp_path, "sleep", "60")
    waiter = threading.Thread(target=long.wait)
    waiter.start()
    assert _start(spawner, out, tmp_path, "true").wait() == 0
    os.kill(long.pid, signal.SIGKILL)
    waiter.join(10)
    assert long.returncode == -signal.SIGKILL


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


@pytest.mark.parametrize("nice", [None, -20])
def test_a_program_that_ends_before_its_starter_goes_on_still_took_its_time(
    out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nice: int | None
) -> None:
    """On a busy machine, a short program has ended before the process that started it runs again."""
    popen = subprocess.Popen

    def on_a_busy_machine(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*arguments, **options)
        process.wait()
        return process

    monkeypatch.setattr(subprocess, "Popen", on_a_busy_machine)
    monkeypatch.setattr(spawner_program, "_may_boost", lambda nice: True)  # not tried on this process
    request: dict[str, Any] = {
        "argv": ["sleep", "0.1"],
        "cwd": str(tmp_path),
        "env": {},
        "group": None,
        "home": None,
        "nice": nice,
    }
    before = time.monotonic()
    answer = spawner_program._started({}, request, [out, out])
    at = answer["at"]
    assert isinstance(at, float)
    assert before <= at <= time.monotonic() - 0.1
