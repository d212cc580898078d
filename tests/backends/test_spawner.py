"""Jobs are started by a small process of their own: what it is given arrives, and its end loses nothing."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare.plugins.backends.process import spawner as spawner_program
from tare.plugins.backends.process.orphans import look, set_subreaper
from tare.plugins.backends.process.spawning import Spawner, Start, StartedJob


@pytest.fixture
def spawner() -> Iterator[Spawner]:
    with Spawner({**os.environ, "OF_ALL": "yes"}, None, lambda pid: None) as spawner:
        yield spawner


@pytest.fixture
def subreaper() -> Iterator[None]:
    before = set_subreaper(True)
    yield
    set_subreaper(before)


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
    own = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line
    )
    of_python = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    of_glibc = 0b11 << (32 - 1)  # posix_spawn(3) leaves two ignored, which glibc keeps to itself (nptl(7))
    not_asked = of_python | of_glibc  # what has started these tests may have used posix_spawn(3) too
    assert blocked == f"SigBlk:\t{own['SigBlk']}"
    expected = int(own["SigIgn"], 16)  # nohup(1) ignores SIGHUP
    assert int(ignored.split()[1], 16) & ~not_asked == expected & ~not_asked
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


def test_a_program_is_found_by_the_path_of_its_job(spawner: Spawner, out: int, tmp_path: Path) -> None:
    """A file that may not be run does not hide the next of that name; folders may be relative."""
    (tmp_path / "here").mkdir()
    programs = [("plain", 0o644, "no"), ("good", 0o755, "found"), ("here/bin", 0o755, "relative")]
    for place, mode, text in programs:
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "own").write_text(f"#!/bin/sh\necho {text}\n")
        (tmp_path / place / "own").chmod(mode)
    plain, good = str(tmp_path / "plain"), str(tmp_path / "good")
    _start(spawner, out, tmp_path, "own", PATH=f"/missing:{plain}/own:{plain}:{good}").wait()
    _start(spawner, out, tmp_path / "here", "own", PATH=f"bin:{good}").wait()
    assert (tmp_path / "out").read_text() == "found\nrelative\n"
    for path, number in [(f"/missing:{plain}", errno.EACCES), ("/missing", errno.ENOENT)]:
        with pytest.raises(OSError, match=os.strerror(number)):
            _start(spawner, out, tmp_path, "own", PATH=path)


def test_between_jobs_it_works_in_no_folder_of_them(spawner: Spawner, out: int, tmp_path: Path) -> None:
    """A storage path can be unmounted, and a folder on NFS removed."""
    job = _start(spawner, out, tmp_path, "sh", "-c", "pwd; exec sleep 0.2")
    assert Path(f"/proc/{_spawner_of(job)}/cwd").readlink() == Path("/")
    assert job.wait() == 0
    assert (tmp_path / "out").read_text() == f"{tmp_path}\n"


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


@pytest.mark.parametrize("nice", [None, -20])
def test_a_program_that_ends_before_its_starter_goes_on_still_took_its_time(
    out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nice: int | None
) -> None:
    """On a busy machine, a short program has ended before the process that started it runs again."""
    spawn = os.posix_spawn

    def on_a_busy_machine(*arguments: Any, **options: Any) -> int:
        pid = spawn(*arguments, **options)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return pid

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "posix_spawn", on_a_busy_machine)
    monkeypatch.setattr(spawner_program, "_boosted_itself", lambda nice: True)  # this process stays as it is
    monkeypatch.setattr(spawner_program, "_AUTOGROUP", "/dev/null")
    request: dict[str, Any] = {
        "argv": ["sleep", "0.1"],
        "cwd": str(tmp_path),
        "env": {},
        "group": None,
        "home": None,
        "nice": nice,
    }
    before = time.monotonic()
    jobs: set[int] = set()
    answer = spawner_program._started(jobs, request, [out, out])
    at = answer["at"]
    assert isinstance(at, float)
    assert before <= at <= time.monotonic() - 0.1
    os.waitpid(jobs.pop(), 0)


def test_a_boosted_job_is_born_in_the_session_of_its_starter_and_in_a_group_of_its_own(
    spawner: Spawner, out: int, tmp_path: Path
) -> None:
    if os.geteuid() != 0 or not Path("/proc/self/autogroup").exists():
        pytest.skip("only root may favour a session, on a kernel with autogroups")
    script = "read said </proc/self/autogroup; echo $said; ps -o pgid=,sid= -p $$"
    what = Start(argv=["sh", "-c", script], cwd=tmp_path, env={}, outputs=(out, out), nice=-20)
    job = spawner.start(what)
    starter = _spawner_of(job)
    assert job.wait() == 0
    said, ids = (tmp_path / "out").read_text().splitlines()
    assert said.endswith(" nice -20")
    assert [int(one) for one in ids.split()] == [job.pid, starter]


def test_a_job_that_changes_its_priority_does_not_change_that_of_the_next(
    spawner: Spawner, out: int, tmp_path: Path
) -> None:
    if os.geteuid() != 0 or not Path("/proc/self/autogroup").exists():
        pytest.skip("only root may favour a session, on a kernel with autogroups")
    for script in ("echo 5 >/proc/self/autogroup", "read said </proc/self/autogroup; echo $said"):
        what = Start(argv=["sh", "-c", script], cwd=tmp_path, env={}, outputs=(out, out), nice=-20)
        assert spawner.start(what).wait() == 0
    assert (tmp_path / "out").read_text().endswith(" nice -20\n")


def test_the_session_is_boosted_when_the_kernel_takes_a_value_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CAP_SYS_ADMIN, it takes one in a tenth of a second, and one was just tried."""
    answers = iter([BlockingIOError, BlockingIOError, None])

    def write(path: str, data: bytes) -> None:
        if error := next(answers):
            raise error

    monkeypatch.setattr(spawner_program, "_write_or_raise", write)
    monkeypatch.setattr(spawner_program, "_BOOST_AGAIN_S", 0.0)
    spawner_program._boosted_itself.cache_clear()
    try:
        assert spawner_program._boosted_itself(-20)
        assert list(answers) == []
    finally:
        spawner_program._boosted_itself.cache_clear()


def _spawner_of(job: StartedJob) -> int:
    """Return the pid of the program that started a job."""
    seen = look(job.pid)
    assert seen is not None
    return seen.parent


def _ended(pid: int) -> None:
    """Kill a process and wait until it has ended, without reaping it."""
    os.kill(pid, signal.SIGKILL)
    while (seen := look(pid)) is not None and seen.state != "Z":
        time.sleep(0.001)


def test_the_next_job_starts_where_the_program_was_ended_between_jobs(
    spawner: Spawner, out: int, tmp_path: Path
) -> None:
    job = _start(spawner, out, tmp_path, "sleep", "0.1")
    starter = _spawner_of(job)
    job.wait()
    _ended(starter)
    assert _start(spawner, out, tmp_path, "sh", "-c", "exit 4").wait() == 4


def test_a_job_of_an_ended_program_does_not_end_the_next_program(
    spawner: Spawner, out: int, tmp_path: Path, subreaper: None
) -> None:
    long = _start(spawner, out, tmp_path, "sh", "-c", "sleep 0.2; exit 5")
    _ended(_spawner_of(long))
    other = _start(spawner, out, tmp_path, "sleep", "60")
    starter = _spawner_of(other)
    assert long.wait() == 5
    assert _spawner_of(other) == starter
    os.kill(other.pid, signal.SIGKILL)
    assert other.wait() == -signal.SIGKILL


def test_an_exit_code_is_not_lost_where_the_program_ends_while_it_reaps(
    spawner: Spawner, out: int, tmp_path: Path, subreaper: None
) -> None:
    """Its answer may be on the way, or it may not have answered: in both cases the code is known."""
    for delay_s in (0, 0.0003, 0.001, 0.003):
        job = _start(spawner, out, tmp_path, "sh", "-c", "sleep 0.05; exit 6")
        starter = _spawner_of(job)
        assert job.has_ended(10)
        os.kill(starter, signal.SIGSTOP)
        waiter = threading.Thread(target=job.wait)
        waiter.start()
        time.sleep(0.05)  # the request waits in the socket
        os.kill(starter, signal.SIGCONT)
        time.sleep(delay_s)
        _ended(starter)
        waiter.join(10)
        assert job.returncode == 6


def test_a_job_is_reaped_after_its_code_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the program is ended in between, the kernel hands the job to its next parent, with the code."""
    ours, theirs = socket.socketpair()
    pid = os.posix_spawnp("sh", ["sh", "-c", "exit 6"], os.environ)
    order: list[str] = []

    def noted(what: str, call: Any) -> Any:
        def called(*of: Any) -> Any:
            order.append(what)
            return call(*of)

        return called

    monkeypatch.setattr(os, "waitpid", noted("reaped", os.waitpid))
    monkeypatch.setattr(spawner_program, "_send", noted("sent", spawner_program._send))
    with ours, theirs:
        spawner_program.answer_wait({pid}, pid, ours)
        assert theirs.recv(100) == b'{"code": 6}\n'
    assert order == ["sent", "reaped"]
    assert look(pid) is None


def test_a_program_that_somebody_stopped_goes_on(spawner: Spawner, out: int, tmp_path: Path) -> None:
    job = _start(spawner, out, tmp_path, "sh", "-c", "kill -STOP $PPID; exit 2")
    assert job.wait() == 2


def test_an_interrupt_while_a_job_is_reaped_does_not_mix_up_the_answers(
    spawner: Spawner, out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _start(spawner, out, tmp_path, "sh", "-c", "exit 3")
    receive = spawner_program.receive

    def interrupted(channel: socket.socket) -> tuple[bytes, list[int]]:
        monkeypatch.setattr(spawner_program, "receive", receive)
        signal.raise_signal(signal.SIGINT)
        return receive(channel)

    monkeypatch.setattr(spawner_program, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        job.wait()
    assert job.wait() == 3
    assert _start(spawner, out, tmp_path, "sh", "-c", "exit 4").wait() == 4


def test_what_fails_while_an_answer_is_awaited_ends_the_program(
    spawner: Spawner, out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subreaper: None
) -> None:
    """Any exception, such as that of a caller's alarm: the answer must not be taken for that of the next."""
    job = _start(spawner, out, tmp_path, "sh", "-c", "exit 3")
    with monkeypatch.context() as patched:
        patched.setattr(spawner_program, "receive", lambda channel: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            _start(spawner, out, tmp_path, "sleep", "0")
    assert _start(spawner, out, tmp_path, "sh", "-c", "exit 4").wait() == 4
    assert job.wait() == 3


def test_words_arrive_in_any_locale(out: int, tmp_path: Path) -> None:
    """The program encodes them as this process does, whatever the locale of the jobs."""
    made = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / "latin")]
    if shutil.which("localedef") is None or subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("no locale can be made here")
    env = {**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": "latin"}
    with Spawner(env, None, lambda pid: None) as spawner:
        _start(spawner, out, tmp_path, "printf", "%s", "é€\udcff").wait()
    assert (tmp_path / "out").read_bytes() == os.fsencode("é€\udcff")


def test_the_environment_gets_nothing_from_python(out: int, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "LANG": "C"}
    with Spawner(env, None, lambda pid: None) as spawner:
        _start(spawner, out, tmp_path, "env").wait()
    assert sorted((tmp_path / "out").read_text().split("\n"))[1:] == sorted(
        f"{name}={value}" for name, value in env.items()
    )


def test_a_job_that_cannot_be_waited_for_is_ended_and_reaped(
    spawner: Spawner, out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A descriptor of the job is the last thing that its start needs; there may be none left."""
    starter = _spawner_of(first := _start(spawner, out, tmp_path, "sleep", "0.1"))
    first.wait()
    pids: list[int] = []

    def exhausted(pid: int) -> int:
        pids.append(pid)
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pidfd_open", exhausted)
        with pytest.raises(OSError, match="Too many open files"):
            _start(spawner, out, tmp_path, "sleep", "60")
    last = _start(spawner, out, tmp_path, "sleep", "0.1")
    children = Path(f"/proc/{starter}/task/{starter}/children").read_text().split()
    last.wait()
    assert children == [str(last.pid)]
    assert look(pids[0]) is None


def test_a_program_without_descriptors_starts_nothing_and_then_goes_on(
    spawner: Spawner, out: int, tmp_path: Path
) -> None:
    starter = _spawner_of(first := _start(spawner, out, tmp_path, "sleep", "0.1"))
    first.wait()
    _, most = resource.prlimit(starter, resource.RLIMIT_NOFILE)
    resource.prlimit(starter, resource.RLIMIT_NOFILE, (4, most))
    with pytest.raises(OSError, match="ended"):
        _start(spawner, out, tmp_path, "true")
    assert _start(spawner, out, tmp_path, "sh", "-c", "exit 4").wait() == 4


def test_a_program_that_fails_leaves_the_codes_of_its_jobs(
    spawner: Spawner, out: int, tmp_path: Path, subreaper: None
) -> None:
    job = _start(spawner, out, tmp_path, "sh", "-c", "sleep 0.1; exit 3")
    starter = _spawner_of(job)
    assert job.has_ended(10)
    _, most = resource.prlimit(starter, resource.RLIMIT_NOFILE)
    resource.prlimit(starter, resource.RLIMIT_NOFILE, (4, most))
    with pytest.raises(OSError, match="ended"):
        _start(spawner, out, tmp_path, "true")
    assert job.wait() == 3
