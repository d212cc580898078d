"""Jobs over a real sshd: what ssh adds to them is not theirs, and nothing of them stays on the hosts."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from tare.core.errors import BackendError
from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.hosts.commands import HostCommands
from tare.plugins.backends.hosts.openssh import OpenSsh, wrapper_script
from tare.plugins.backends.ownership import process_labels, stray_processes
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend

Run = Callable[..., Exit]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    with sshd(tmp_path_factory.mktemp("sshd")) as agent:
        yield agent


@pytest.fixture
def prefix() -> str:
    return str(new_session(f"test{time.monotonic_ns()}"))


@pytest.fixture
def backend(agent: tuple[str, ...], prefix: str) -> Iterator[ProcessBackend]:
    with ProcessBackend(label=prefix, agent=agent, hosts=["one", "two"]) as backend:
        yield backend


@pytest.fixture
def run(backend: ProcessBackend, prefix: str, tmp_path: Path) -> Run:
    folder = tmp_path / "work"
    folder.mkdir()

    def run(
        *argv: str, host: str = "one", timeout_s: float = 20, at: Path = folder, place: Path | None = None
    ) -> Exit:
        return backend.run(
            Job(
                label=f"{prefix}case/1.1;",
                invocation=Invocation(argv=argv, env={"GREETING": "a 'b'\n$c"}),
                host=host,
                folder=at,
                timeout_s=timeout_s,
                staging_folder=place,
                hosts=("one", "two"),
            )
        )

    return run


def test_only_the_jobs_own_output_is_kept(run: Run, tmp_path: Path) -> None:
    ended = run("sh", "-c", 'echo "$GREETING"; echo err >&2; exit 7')
    assert (ended.code, ended.signal, ended.fault) == (7, None, None)
    assert (tmp_path / "work/stdout").read_text() == "a 'b'\n$c\n"
    assert (tmp_path / "work/stderr").read_text() == "err\n"


def test_a_jobs_exit_code_of_255_is_its_own(run: Run) -> None:
    ended = run("sh", "-c", "exit 255")
    assert (ended.code, ended.fault) == (255, None)


def test_a_signal_on_the_host_is_reported(run: Run) -> None:
    ended = run("sh", "-c", "kill -SEGV $$")
    assert (ended.code, ended.signal, ended.fault) == (None, signal.SIGSEGV, None)


@pytest.mark.parametrize(
    ("host", "said", "cure"),
    [("away", "refused", "does sshd run there"), ("stranger", "Permission denied", "ssh-copy-id stranger")],
)
def test_a_host_that_lets_nobody_in_is_a_fault_with_ssh_s_words_and_the_cure(
    run: Run, backend: ProcessBackend, host: str, said: str, cure: str
) -> None:
    fault = run("true", host=host).fault or ""
    assert f"host {host} could not be reached" in fault
    assert said in fault
    assert cure in fault
    with pytest.raises(BackendError, match=cure):
        backend.read([host], ["/proc/loadavg"])


def test_a_connection_that_is_lost_is_a_fault_and_not_a_result(run: Run, prefix: str) -> None:
    ended = run("sh", "-c", "sleep 0.5; kill -9 $(ps -o ppid= -p $PPID); sleep 60", timeout_s=30)
    assert "was lost while the job ran" in (ended.fault or "")
    assert process_labels.labelled_pids(prefix) == []


def test_a_folder_that_a_host_lacks_is_a_fault_with_the_cure(tmp_path: Path) -> None:
    """The agent stands for a host that shares nothing: it takes the folder away before the job begins."""
    work = tmp_path / "work"
    work.mkdir()
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nshift\nexec sh -c "$(printf %s "$*" | sed s:/work:/elsewhere:)"\n')
    agent.chmod(0o700)
    label = str(new_session("lacks"))
    with ProcessBackend(label=label, agent=(str(agent),)) as backend:
        command = Invocation(argv=("true",))
        ended = backend.run(Job(label=label, invocation=command, host="n1", folder=work, timeout_s=20))
    assert "host n1 has no folder" in (ended.fault or "")
    assert "staging:" in (ended.fault or "")


def test_a_time_out_ends_what_runs_on_the_host(run: Run, prefix: str, tmp_path: Path) -> None:
    ended = run("sh", "-c", "trap 'echo asked; exit' TERM; setsid sleep 60 & wait", timeout_s=3)
    assert ended.is_timeout
    assert (tmp_path / "work/stdout").read_text() == "asked\n"
    assert process_labels.labelled_pids(prefix) == []


def working_in(folder: Path) -> list[int]:
    """Return what works in `folder` or below it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if entry.readlink().is_relative_to(folder):
                found.append(int(entry.parent.name))
    return found


def sleeping(seconds: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry.read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(entry.parent.name))
    return found


class TestLeftOnAHost:
    """By a job that has ended as it should, on a host whose orphans do not come to this process."""

    LEAVES = "setsid sleep 60 >/dev/null 2>&1 & echo value: 1"

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> Iterator[tuple[str, ...]]:
        (tmp_path / "ssh").mkdir()
        with sshd(tmp_path / "ssh", is_elsewhere=True) as agent:
            yield agent

    @pytest.fixture
    def run(self, elsewhere: tuple[str, ...], prefix: str, tmp_path: Path) -> Iterator[Callable[[str], Exit]]:
        with ProcessBackend(label=prefix, agent=elsewhere, hosts=["one"]) as backend:

            def run(script: str, timeout_s: float = 20) -> Exit:
                command = Invocation(argv=("sh", "-c", script))
                label = f"{prefix}case/1.1;"
                return backend.run(
                    Job(label=label, invocation=command, host="one", folder=tmp_path, timeout_s=timeout_s)
                )

            yield run
            process_labels.end_labelled(prefix)

    def test_it_ends_with_its_job(self, run: Callable[[str], Exit], prefix: str) -> None:
        ended = run(self.LEAVES)
        assert (ended.code, ended.survivors) == (0, ())
        assert process_labels.labelled_pids(prefix) == []

    def test_it_is_named_with_its_host_where_it_does_not_end(
        self, run: Callable[[str], Exit], prefix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As one that waits for a dead disk."""
        monkeypatch.setattr(stray_processes, "SWEEP", stray_processes.SWEEP.replace("kill -", ": -"))
        ended = run(self.LEAVES)
        (pid,) = process_labels.labelled_pids(prefix)
        assert ended.survivors == (f"{pid} (sleep 60) on one",)
        assert ended.code == 0

    @pytest.mark.parametrize(
        "how",
        [
            "env -i setsid sleep 60 >/dev/null 2>&1 &",
            "env -i setsid sh -c 'sleep 60; :' >/dev/null 2>&1 &",
            "mkdir deep; cd deep; (env -i sleep 60 >/dev/null 2>&1 &);",
        ],
    )
    def test_what_lost_its_label_ends_with_its_job(
        self, run: Callable[[str], Exit], tmp_path: Path, how: str
    ) -> None:
        ended = run(f"{how} echo value: 1")
        assert (ended.code, ended.survivors) == (0, ())
        assert working_in(tmp_path) == []

    @pytest.mark.parametrize(
        "how", ["setsid sleep 60", "env -i setsid sleep 60", "setsid sleep 60 2>/dev/null"]
    )
    def test_what_holds_the_outputs_open_does_not_hold_the_run_up(
        self, run: Callable[..., Exit], tmp_path: Path, how: str
    ) -> None:
        ended = run(f"{how} & echo value: 1; exit 3", timeout_s=50)
        assert not ended.is_timeout
        assert (ended.code, ended.survivors, len(ended.lingerers)) == (3, (), 1)
        assert ended.lingerers[0].endswith("(sleep 60) on one")
        assert (tmp_path / "stdout").read_text() == "value: 1\n"

    def test_what_holds_them_open_and_cannot_be_ended_does_not_either(
        self, run: Callable[..., Exit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stray_processes, "SWEEP", stray_processes.SWEEP.replace("kill -", ": -"))
        ended = run("env -i setsid sleep 60 & exit 3", timeout_s=50)
        (pid,) = working_in(tmp_path)
        os.kill(pid, signal.SIGKILL)
        assert (ended.code, ended.is_timeout) == (3, False)
        assert ended.survivors == ended.lingerers == (f"{pid} (sleep 60) on one",)

    def test_what_lost_its_label_is_named_where_it_does_not_end(
        self, run: Callable[[str], Exit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stray_processes, "SWEEP", stray_processes.SWEEP.replace("kill -", ": -"))
        ended = run("env -i setsid sleep 60 >/dev/null 2>&1 & echo value: 1")
        (pid,) = working_in(tmp_path)
        assert ended.survivors == (f"{pid} (sleep 60) on one",)
        os.kill(pid, signal.SIGKILL)

    @pytest.mark.parametrize("whose", ["other job", "other folder", "before", "parent", "other user"])
    def test_what_is_not_the_jobs_lives(
        self,
        run: Callable[[str], Exit],
        elsewhere: tuple[str, ...],
        tmp_path: Path,
        prefix: str,
        whose: str,
    ) -> None:
        """Each lacks one of the signs that it is the job's, and has all others."""
        mark = f"'{process_labels.VARIABLE}={prefix}case/2.1;'" if whose == "other job" else "A=1"
        folder = {"other folder": f"{tmp_path}-2"}.get(whose, str(tmp_path))
        Path(folder).mkdir(exist_ok=True)
        if whose == "other user" and os.geteuid() != 0:
            pytest.skip("only root can start a process of another user")
        user = "setpriv --reuid 65534 --clear-groups" if whose == "other user" else ""
        orphaned = "" if whose == "parent" else "&"
        command = f"cd {folder} && exec env -i {mark} PATH=$PATH setsid {user} sleep 60.5"
        script = f"({command}) >/dev/null 2>&1 {orphaned}"
        start = [*elsewhere, "one", script]
        if whose == "before":
            subprocess.run(start, check=True)
            time.sleep(0.1)
            run("true")
        else:
            starter = threading.Timer(0.5, subprocess.Popen, [start])
            starter.start()
            run("sleep 1.5")
            starter.join()
        alive = sleeping("60.5")
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
        assert len(alive) == 1

    @pytest.fixture
    def scope(self, elsewhere: tuple[str, ...], tmp_path: Path) -> Iterator[Path]:
        """A control group as systemd-logind makes one for a session, with sshd in it."""
        for root in ("systemd", "unified", "."):
            folder = Path("/sys/fs/cgroup", root, f"session-{os.getpid()}.scope")
            if not (folder.parent / "cgroup.procs").exists():
                continue
            with contextlib.suppress(OSError):
                folder.mkdir()
                (folder / "cgroup.procs").write_text((tmp_path / "ssh/pid").read_text())
                break
        else:
            pytest.skip("no control group may be made here")
        yield folder
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()

    @pytest.mark.usefixtures("scope")
    def test_what_went_elsewhere_is_found_by_the_session_that_sshd_made(
        self, run: Callable[[str], Exit]
    ) -> None:
        lasts = f"60.{time.monotonic_ns()}"
        assert run(f"cd /; env -i setsid sleep {lasts} >/dev/null 2>&1 & sleep 0.1").code == 0
        assert sleeping(lasts) == []
        run(f"cd /; env -u {process_labels.VARIABLE} setsid sleep {lasts} >/dev/null 2>&1 & sleep 0.1")
        (pid,) = sleeping(lasts)  # its environment is that of a session, perhaps of somebody who logged in
        os.kill(pid, signal.SIGKILL)

    def test_what_another_job_runs_there_lives(self, run: Callable[[str], Exit], prefix: str) -> None:
        other = subprocess.Popen(["sleep", "60"], env={process_labels.VARIABLE: f"{prefix}case/1.10;"})
        assert run(self.LEAVES).survivors == ()
        assert other.poll() is None
        other.kill()
        other.wait()


def test_connections_are_shared_and_closed_at_the_end(
    agent: tuple[str, ...], prefix: str, tmp_path: Path
) -> None:
    with ProcessBackend(label=prefix, agent=agent, hosts=["one"]) as backend:
        backend.read(["one"], ["/proc/loadavg"])
        folder = backend._reach.folder
        assert folder is not None
        assert folder.stat().st_mode & 0o777 == 0o700
        (connection,) = (path for path in folder.iterdir() if path.is_socket())
        before = _connections(agent)
        backend.read(["one"], ["/proc/loadavg"])
        assert _connections(agent) == before
    assert not folder.exists()
    assert not connection.exists()
    _until(lambda: not _sharing(folder))


def test_a_folder_is_staged_and_what_was_made_comes_back(run: Run, tmp_path: Path) -> None:
    names = ["in put", "new\nline", "-n", "quote'\"", "$(touch harm)"]
    for name in names:
        (tmp_path / "work" / name).write_text(name)
    place = tmp_path / "nodes' own" / "folder"
    ended = run("sh", "-c", "pwd; ls | wc -l; echo made >'of it'; mkdir sub; : >sub/x", place=place)
    assert (ended.code, ended.fault) == (0, None)
    said = (tmp_path / "work/stdout").read_text().split("\n")
    assert said[0] == str(place)
    assert (tmp_path / "work/of it").read_text() == "made\n"
    assert (tmp_path / "work/sub/x").exists()
    assert {name: (tmp_path / "work" / name).read_text() for name in names} == {name: name for name in names}
    assert not place.exists()
    assert not (tmp_path / "work/harm").exists()


def test_a_place_that_cannot_be_made_is_a_fault(run: Run) -> None:
    assert "cannot be copied to or from host one" in (run("true", place=Path("/proc/nowhere")).fault or "")


def test_a_killed_tare_leaves_nothing_on_the_hosts(agent: tuple[str, ...], tmp_path: Path) -> None:
    campaign = f"killed{time.monotonic_ns()}"
    script = f"""
import pathlib
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend
from tare.core.job import Job
from tare.core.launch import Invocation
prefix = str(new_session({campaign!r}))
with ProcessBackend(label=prefix, agent={agent!r}, hosts=["one"]) as backend:
    backend.read(["one"], ["/proc/loadavg"])
    command = Invocation(argv=("sh", "-c", "setsid sleep 60 & echo up >up; sleep 60"))
    backend.run(Job(label=prefix + "case/1.1;", invocation=command, host="one",
                    folder=pathlib.Path({str(tmp_path)!r}), timeout_s=60))
"""
    runtime = tempfile.mkdtemp(prefix="r", dir="/tmp")  # short: there will be sockets in it
    runner = subprocess.Popen([sys.executable, "-c", script], env=os.environ | {"XDG_RUNTIME_DIR": runtime})
    _until(lambda: (tmp_path / "up").exists())
    (folder,) = Path(runtime).iterdir()
    assert [path for path in folder.iterdir() if path.is_socket()]
    assert len(process_labels.labelled_pids(f"{campaign}:")) >= 2
    runner.kill()
    runner.wait()
    _until(lambda: process_labels.labelled_pids(f"{campaign}:") == [])
    _until(lambda: not folder.exists() and not _sharing(folder))
    Path(runtime).rmdir()


def test_connections_of_a_tare_that_was_killed_with_its_guard_are_closed_by_the_next(
    agent: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"""
import os, signal
from tare.plugins.backends.process.backend import ProcessBackend
with ProcessBackend(label="1:2:3:", agent={agent!r}, hosts=["one"]) as backend:
    backend.read(["one"], ["/proc/loadavg"])
    print(backend._guard.pid, flush=True)
    signal.pause()
"""
    runtime = tempfile.mkdtemp(prefix="r", dir="/tmp")  # short: there will be sockets in it
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        guard = int(killed.stdout.readline())
        (folder,) = Path(runtime).iterdir()
        OpenSsh(agent).close(os.environ)
        assert _sharing(folder), "who lives keeps its connections"
        os.kill(guard, signal.SIGKILL)
        killed.kill()
    assert _sharing(folder)
    OpenSsh(agent).close(os.environ)
    _until(lambda: not folder.exists() and not _sharing(folder))
    Path(runtime).rmdir()


def _connections(agent: tuple[str, ...]) -> int:
    log = Path(agent[2]).with_name("sshd.log").read_text()
    return log.count("Accepted publickey")


def _sharing(folder: Path) -> list[int]:
    """Return the processes that hold a shared connection in `folder`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _until(condition: Callable[[], bool], within_s: float = 15) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_script_of_the_name_ssh_gets_no_options_of_tare(tmp_path: Path) -> None:
    script = tmp_path / "ssh"
    script.write_text('#!/bin/sh\nexec ssh -F /etc/site/ssh_config "$@"\n')
    script.chmod(0o755)
    reach = HostCommands((str(script),), os.environ)
    try:
        assert reach.words == (str(script),), "an -F of Tare's would replace that of the script"
        assert not reach.forwards_signals, "its jobs are ended as those of ssh"
    finally:
        reach.close()
    assert wrapper_script(str(script)) == script
    assert wrapper_script("ssh") is None or Path(shutil.which("ssh") or "").read_bytes()[:2] == b"#!"
    assert wrapper_script("/no/such/ssh") is None


@pytest.mark.skipif(shutil.which("tcsh") is None, reason="no tcsh here; apt install tcsh")
def test_scripts_and_jobs_are_those_of_sh_where_the_login_shell_is_csh(tmp_path: Path, prefix: str) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\nshift\nexec tcsh -c \"echo -n 'Welcome to our cluster'; $*\"\n")
    agent.chmod(0o755)
    reach = HostCommands((str(agent),), os.environ)
    script = 'for word in \'a!b\' "it\'s"; do\n  [ -n "$word" ] && echo "$word $(cat | wc -c)"\ndone 2>&1'
    assert reach.run({"one": script})["one"].split() == ["a!b", "0", "it's", "0"]
    with ProcessBackend(label=prefix, agent=(str(agent),), hosts=["one"]) as backend:
        argv = ("sh", "-c", 'echo "$GREETING"; exit 7')
        invocation = Invocation(argv=argv, env={"GREETING": "it's $HOME"})
        job = Job(label=f"{prefix}c/1;", invocation=invocation, host="one", folder=tmp_path, timeout_s=20)
        assert backend.run(job).code == 7
    assert (tmp_path / "stdout").read_text() == "it's $HOME\n"


ODD = (
    "new\nline",
    "!word a!b",
    "!",
    "it's!",
    'say "hi"',
    "$HOME `id` $(id)",
    "back\\slash \\n",
    "*",
    "ünï",
    "",
)


@pytest.mark.parametrize("shell", ["sh", "bash", "tcsh"])
def test_every_argument_arrives_as_it_is_whatever_the_login_shell(
    tmp_path: Path, prefix: str, shell: str
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nshift\nexec {shell} -c "$*"\n')
    agent.chmod(0o755)
    show = ("python3", "-c", "import os, sys; print(ascii(sys.argv[1:])); print(ascii(os.environ['ODD']))")
    work = tmp_path / "a!b"
    work.mkdir()
    with ProcessBackend(label=prefix, agent=(str(agent),), hosts=["one"]) as backend:
        invocation = Invocation(argv=(*show, *ODD), env={"ODD": "".join(ODD)})
        job = Job(label=f"{prefix}c/1;", invocation=invocation, host="one", folder=work, timeout_s=20)
        assert backend.run(job).code == 0, (work / "stderr").read_text()
    assert (work / "stdout").read_text() == f"{[*ODD]!a}\n{''.join(ODD)!a}\n"
    reach = Reach.of((str(agent),), "one", {})
    done = reach.run(["printf", "%s\\0", *ODD], logging.getLogger())
    assert done.stdout.decode().split("\0")[:-1] == [*ODD]
