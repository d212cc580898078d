"""The process backend: it runs jobs, tells how they end, and leaves nothing alive."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.waiting import until
from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend

Run = Callable[..., Exit]


@pytest.fixture
def prefix() -> str:
    return str(new_session(f"test{time.monotonic_ns()}"))


@pytest.fixture
def backend(prefix: str) -> Iterator[ProcessBackend]:
    with ProcessBackend(label=prefix) as backend:
        yield backend


@pytest.fixture
def run(backend: ProcessBackend, prefix: str, tmp_path: Path) -> Run:
    def run(*argv: str, timeout_s: float = 20, env: dict[str, str] | None = None) -> Exit:
        return backend.run(
            Job(
                label=f"{prefix}case/1.1;",
                invocation=Invocation(argv=argv, env=env or {}),
                host=None,
                folder=tmp_path,
                timeout_s=timeout_s,
            )
        )

    return run


def test_output_and_exit_code_are_kept(run: Run, tmp_path: Path) -> None:
    ended = run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.code, ended.signal, ended.is_timeout, ended.fault) == (7, None, False, None)
    assert (tmp_path / "stdout").read_text() == "out\n"
    assert (tmp_path / "stderr").read_text() == "err\n"


def test_a_signal_is_distinguished_from_an_exit_code(run: Run) -> None:
    ended = run("sh", "-c", "kill -SEGV $$")
    assert (ended.code, ended.signal) == (None, signal.SIGSEGV)


def test_hostile_words_reach_the_program_unchanged(run: Run, tmp_path: Path) -> None:
    words = ["two words", "$(touch harm)", "quote'\"", "new\nline", "*", "`id`", "-n", "ä€", ""]
    run(sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words)
    assert (tmp_path / "stdout").read_text() == f"{words!a}\n"
    assert not (tmp_path / "harm").exists()


def test_standard_input_is_closed(run: Run) -> None:
    assert run("sh", "-c", "read line || exit 3").code == 3


def test_ten_megabytes_of_bytes_that_are_not_text_are_kept_whole(run: Run, tmp_path: Path) -> None:
    run(sys.executable, "-c", r"import sys; sys.stdout.buffer.write(b'\xff\x00' * 5_000_000)")
    assert (tmp_path / "stdout").stat().st_size == 10_000_000


def test_the_environment_of_the_invocation_is_added(run: Run, tmp_path: Path) -> None:
    run("sh", "-c", 'echo "$GREETING"', env={"GREETING": "a 'b' $c"})
    assert (tmp_path / "stdout").read_text() == "a 'b' $c\n"


def test_a_program_that_is_not_there_is_a_failure_of_the_job(run: Run, tmp_path: Path) -> None:
    ended = run("no-such-program")
    assert (ended.code, ended.fault) == (127, None)
    assert "no-such-program" in (tmp_path / "stderr").read_text()


def test_a_program_that_removes_its_folder_at_once_ends_as_it_did(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow this machine is at that moment: its room was asked for when the folder was gone."""
    ask = os.statvfs

    def slow(folder: Path) -> os.statvfs_result:
        deadline = time.monotonic() + 1
        while folder.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return ask(folder)

    monkeypatch.setattr("tare.plugins.backends.process.waiting.os.statvfs", slow)
    assert run("sh", "-c", f"rm -rf {tmp_path}; exit 3").code == 3


def test_a_time_out_ends_the_whole_tree(run: Run, prefix: str) -> None:
    """Children that ignore SIGTERM, and that left the session, go too."""
    script = "trap '' TERM; setsid sleep 60 & (sleep 60 &) ; sleep 60"
    ended = run("sh", "-c", script, timeout_s=0.3)
    assert ended.is_timeout
    assert process_labels.labelled_pids(prefix) == []


def test_what_outlives_its_job_is_ended(run: Run, prefix: str) -> None:
    ended = run("sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & exit 0")
    assert ended.code == 0
    assert process_labels.labelled_pids(prefix) == []


def test_no_zombie_of_an_ended_job_stays(run: Run) -> None:
    """A PID namespace, such as the lab's, does not end before its zombies are reaped."""
    others = zombies()
    run("sh", "-c", "(setsid sleep 60 &); (sleep 60 &); sleep 60", timeout_s=0.3)
    run("sh", "-c", "(setsid sleep 60 &); (true &); exit 3")
    assert zombies() <= others


def zombies() -> set[str]:
    """Return the children of this process that have ended and that nobody has taken leave of."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = {pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children}
    return {pid for pid, state in states.items() if state == "Z"}


def test_an_interrupt_ends_the_job_before_it_goes_on(run: Run, prefix: str) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            run("sh", "-c", "setsid sleep 60 & sleep 60")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert process_labels.labelled_pids(prefix) == []


def test_the_guard_ends_the_job_of_a_killed_runner(tmp_path: Path) -> None:
    campaign = f"killed{time.monotonic_ns()}"
    script = f"""
import pathlib
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend
from tare.core.job import Job
from tare.core.launch import Invocation
prefix = str(new_session({campaign!r}))
with ProcessBackend(label=prefix) as backend:
    command = Invocation(argv=("sh", "-c", "setsid sleep 60 & echo up; sleep 60"))
    backend.run(Job(label=prefix + "case/1.1;", invocation=command, host=None,
                    folder=pathlib.Path({str(tmp_path)!r}), timeout_s=60))
"""
    runner = subprocess.Popen([sys.executable, "-c", script])
    until(lambda: (tmp_path / "stdout").exists() and (tmp_path / "stdout").read_text() == "up\n")
    assert len(process_labels.labelled_pids(f"{campaign}:")) >= 2
    runner.kill()
    runner.wait()
    until(lambda: process_labels.labelled_pids(f"{campaign}:") == [])


def test_files_of_this_machine_are_read_and_missing_ones_left_out(backend: ProcessBackend) -> None:
    found = backend.read([None], ["/proc/net/dev", "/no/such/file"])
    assert list(found[None]) == ["/proc/net/dev"]
    assert "lo:" in found[None]["/proc/net/dev"]


def test_a_job_goes_before_what_else_the_machine_does_where_the_user_may(run: Run, tmp_path: Path) -> None:
    own = Path("/proc/self/autogroup")
    if os.geteuid() != 0 or not own.exists():
        pytest.skip("only root may favour a session, on a kernel with autogroups")
    run("sh", "-c", "cat /proc/$$/autogroup")
    assert "nice -20" in (tmp_path / "stdout").read_text()
    assert "nice -20" not in own.read_text()


def test_a_job_goes_before_from_its_first_moment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever keeps this process from running when the job has begun."""
    if os.geteuid() != 0 or not Path("/proc/self/autogroup").exists():
        pytest.skip("only root may favour a session, on a kernel with autogroups")

    class Slow(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            time.sleep(0.3)

    monkeypatch.setattr(subprocess, "Popen", Slow)
    run("sh", "-c", "read said </proc/self/autogroup; echo $said")
    assert (tmp_path / "stdout").read_text().endswith("nice -20\n")


def test_a_job_is_as_all_else_where_that_is_asked(prefix: str, tmp_path: Path) -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("a kernel without autogroups")
    invocation = Invocation(argv=("sh", "-c", "cat /proc/$$/autogroup"))
    job = Job(label=f"{prefix}c/1.1;", invocation=invocation, host=None, folder=tmp_path, timeout_s=20)
    with ProcessBackend(label=prefix, boosts=False) as backend:
        backend.run(job)
    assert (tmp_path / "stdout").read_text().endswith("nice 0\n")


class TestThroughAnAgent:
    """An agent is called as ssh is: its words are joined, and given to a shell."""

    @pytest.fixture
    def agent(self, tmp_path: Path) -> Path:
        path = tmp_path / "agent"
        path.write_text('#!/bin/sh\n[ "$1" = away ] && exit 255\nshift\nexec /bin/sh -c "$*"\n')
        path.chmod(0o755)
        return path

    @pytest.fixture
    def remote(self, agent: Path, prefix: str, tmp_path: Path) -> Iterator[Run]:
        with ProcessBackend(label=prefix, agent=(str(agent),), hosts=("here",)) as backend:

            def run(*argv: str, host: str = "here", env: dict[str, str] | None = None) -> Exit:
                invocation = Invocation(argv=argv, env=env or {})
                label = f"{prefix}case/1.1;"
                return backend.run(
                    Job(label=label, invocation=invocation, host=host, folder=tmp_path, timeout_s=20)
                )

            yield run

    def test_hostile_words_and_variables_survive_the_shell(self, remote: Run, tmp_path: Path) -> None:
        words = ["two words", "$(touch harm)", "quote'\"", "new\nline", "", "*"]
        script = "import os, sys; print(ascii([*sys.argv[1:], os.environ['HOSTILE'], os.getcwd()]))"
        remote(sys.executable, "-c", script, *words, env={"HOSTILE": "$(id) 'x'"})
        assert (tmp_path / "stdout").read_text() == f"{[*words, '$(id) ' + repr('x'), str(tmp_path)]!a}\n"
        assert not (tmp_path / "harm").exists()

    def test_the_exit_code_comes_back(self, remote: Run) -> None:
        assert remote("sh", "-c", "exit 9").code == 9

    def test_a_host_out_of_reach_is_a_fault_of_the_infrastructure(self, remote: Run) -> None:
        assert "away could not be reached" in str(remote("true", host="away").fault)

    def test_a_job_that_exits_as_an_agent_would_is_not_mistaken_for_it(self, remote: Run) -> None:
        ended = remote("sh", "-c", "exit 255")
        assert (ended.code, ended.fault) == (255, None)

    def test_small_files_are_read(self, agent: Path, prefix: str) -> None:
        with ProcessBackend(label=prefix, agent=(str(agent),)) as backend:
            found = backend.read(["one", "two"], ["/proc/loadavg", "/no/such/file"])
        assert {host: list(texts) for host, texts in found.items()} == {
            "one": ["/proc/loadavg"],
            "two": ["/proc/loadavg"],
        }


def test_the_script_for_other_hosts_ends_only_what_is_marked() -> None:
    other = subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: "other:"})
    marked = subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: "mine:1:2:case"})
    try:
        subprocess.run(["sh", "-c", process_labels.remote_end_script("mine:")], check=True)
        assert marked.wait(timeout=10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (other, marked):
            process.kill()
            process.wait()


@pytest.mark.parametrize("told_by", ["command", "sshd"])
def test_what_a_slow_login_script_holds_up_never_starts(told_by: str, tmp_path: Path) -> None:
    """It has no mark yet: an interrupt in this moment left the program running."""
    (tmp_path / "rc").write_text("sleep 1\n")
    started = tmp_path / "started"
    command = f"exec env 'TARE_JOB=mine:1:2:case' touch {started}"
    env = {**os.environ, "BASH_ENV": str(tmp_path / "rc")}
    if told_by == "sshd":  # which forces another command
        env["SSH_ORIGINAL_COMMAND"], command = command, 'eval "$SSH_ORIGINAL_COMMAND"'
    login = subprocess.Popen(["bash", "-c", command], env=env)
    try:
        time.sleep(0.2)
        subprocess.run(["sh", "-c", process_labels.remote_end_script("mine:")], check=True)
        assert login.wait(timeout=10) == -signal.SIGKILL
        assert not started.exists()
    finally:
        login.kill()
        login.wait()


def test_this_process_is_never_found() -> None:
    script = "import os; from tare.plugins.backends.ownership.process_labels import labelled_pids; "
    script += "assert not labelled_pids('own:1:'), os.getpid()"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TARE_JOB": "own:1:x;"}, check=True)


def test_the_script_for_other_hosts_ends_one_job_and_none_of_a_name_that_begins_so() -> None:
    """Nor one to which its dots and brackets would be a pattern."""
    labels = ["a.b:2:h:[x]/1.1;", "a.b:2:h:[x]/1.1;2", "a.b:2:h:[x]/1.10;", "a-b:2:h:x/1.1;", ""]
    started = [subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: one}) for one in labels]
    try:
        subprocess.run(["sh", "-c", process_labels.remote_end_script(labels[0])], check=True)
        assert started[0].wait(timeout=10) == -signal.SIGKILL
        assert [one.poll() for one in started[1:]] == [None] * 4
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_only_whole_labels_and_whole_sessions_are_ended() -> None:
    labels = ["a:2:h:x/1.1;", "a:2:h:x/1.1;2", "a:2:hh:x/1.1;", ""]
    started = [subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: one}) for one in labels]
    try:
        assert process_labels.end_labelled("a:2:h:x/1.1;") == 1
        assert [one.poll() for one in started[1:]] == [None] * 3
        assert process_labels.end_labelled("a:2:h:") == 1
        assert [one.poll() for one in started[2:]] == [None] * 2
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_what_earlier_sessions_of_a_campaign_left_ends_and_nothing_of_another_host(
    tmp_path: Path,
) -> None:
    """Its agent stands for a node that two head nodes share."""
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nshift\nexec /bin/sh -c "$*"\n')
    agent.chmod(0o755)
    campaign = f"shared{time.monotonic_ns()}"
    here = new_session(campaign)
    sessions = [
        here._replace(pid=4194303),
        here._replace(pid=4194303, host="elsewhere"),
        here._replace(pid=4194303, campaign="another"),
        here,
    ]
    started = [
        subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: f"{one}x/1.1;"}) for one in sessions
    ]
    try:
        with ProcessBackend(label=str(here), agent=(str(agent),), hosts=("n1",)) as backend:
            assert backend._reach.labels(["n1"], campaign) == {
                f"{one}x/1.1;" for one in sessions if one.campaign == campaign
            }
            backend.end_earlier(campaign)
            assert started[0].wait(timeout=10) == -signal.SIGKILL
            assert [one.poll() for one in started[1:]] == [None] * 3
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("name", "value"), [("SHELLOPTS", "errexit:noglob:nounset"), ("BASHOPTS", "failglob")]
)
def test_a_users_options_of_bash_do_not_end_a_script_that_asks(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with ProcessBackend(label=str(new_session(f"asks{time.monotonic_ns()}"))) as backend:
        found = backend.ask([None], "false; echo /none/*.txt ${NOTHING-}; echo $NOTHING /de[v]")
    assert found == {None: "/none/*.txt\n/dev\n"}
