"""What a job starts ends with it, however it hides; what is not the job's lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.waiting import until
from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process import control_groups, lingering
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.backends.process.orphans import command_of, look

DAEMON = f"""{sys.executable} -c '
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.execve("/bin/sleep", ["sleep", "300.7"], {{}})
'"""
"""Two forks, a session, no environment, deaf to SIGTERM."""

OWN_GROUP = f"""{sys.executable} -c '
import os
os.setpgid(0, 0)
os.execve("/bin/sleep", ["sleep", "300.7"], {{}})
'"""
"""A group of its own in its starter's session, no environment; a shell's ``set -m`` needs a terminal."""

HIDDEN = {
    "emptied": "env -i setsid sleep 300.7 >/dev/null 2>&1 & echo value: 1",
    "daemon": f"{DAEMON}; sleep 0.1; echo value: 1",
    "own group": f"{OWN_GROUP} >/dev/null 2>&1 & sleep 0.2; echo value: 1",
    "same group": "env -i sleep 300.7 & echo value: 1",
    "chain": "env -i setsid sh -c 'setsid sh -c \"sleep 300.7 & sleep 300.7\" & sleep 300.7' & sleep 0.1",
    "title": f"{sys.executable} -c 'import os, time; os.fork() and os._exit(0); os.setsid(); "
    'os.execve("/bin/sleep", ["sshd: listener", "300.7"], dict(A="b"))\' ',
}


def sleepers() -> set[int]:
    """Return what sleeps for the time that only these tests sleep for, by any name."""
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
    return {
        pid
        for pid in pids
        if command_of(pid).endswith(" 300.7") and (seen := look(pid)) is not None and seen.state != "Z"
    }


@pytest.fixture(params=["control group", "none"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessBackend]:
    if request.param == "none":
        monkeypatch.setattr(control_groups, "usable", lambda: None)
    elif control_groups.usable() is None:
        pytest.skip("no control group may be made here")
    before = sleepers()
    with ProcessBackend(label=str(new_session(f"held{time.monotonic_ns()}"))) as backend:
        yield backend
    for pid in sleepers() - before:
        os.kill(pid, signal.SIGKILL)


def job(backend: ProcessBackend, folder: Path, script: str, case: str = "case", timeout_s: float = 20) -> Job:
    return Job(
        label=f"{backend._label}{case}/1.1;",
        invocation=Invocation(argv=("sh", "-c", script)),
        host=None,
        folder=folder,
        timeout_s=timeout_s,
    )


@pytest.mark.parametrize("how", HIDDEN)
def test_what_hides_ends_with_its_job(backend: ProcessBackend, tmp_path: Path, how: str) -> None:
    before = sleepers()
    ended = backend.run(job(backend, tmp_path, HIDDEN[how]))
    assert sleepers() - before == set()
    assert (ended.code, ended.survivors) == (0, ())


@pytest.mark.parametrize("end", ["sleep 60", "exit 3", "kill -9 $$"])
def test_what_hides_ends_with_a_job_that_fails(backend: ProcessBackend, tmp_path: Path, end: str) -> None:
    before = sleepers()
    script = f"env -i setsid sleep 300.7 & sleep 0.1; {end}"
    backend.run(job(backend, tmp_path, script, timeout_s=0.4))
    assert sleepers() - before == set()


def test_a_pipe_that_waits_for_what_a_shell_left_behind_is_no_launcher(
    backend: ProcessBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only launchers are known to wait for nothing else; here a program waits for its results."""
    monkeypatch.setattr(lingering, "_FIRST_S", 0.1)
    monkeypatch.setattr(lingering, "_MOST_S", 0.1)
    ended = backend.run(job(backend, tmp_path, "(setsid sh -c 'sleep 2; echo value: 1' &) | cat"))
    assert (ended.code, ended.lingerers) == (0, ())
    assert (tmp_path / "stdout").read_text() == "value: 1\n"


def test_a_job_says_when_its_programs_begin_and_when_all_have_ended(
    backend: ProcessBackend, tmp_path: Path
) -> None:
    """What is sampled in between is the job's, so its group is still there at the end."""
    told: list[tuple[str, bool, bool]] = []
    groups: list[Path | None] = []

    def tell(when: str) -> None:
        told.append((when, (tmp_path / "began").exists(), bool(sleepers())))

    def begin(group: Path | None) -> Callable[[], None]:
        groups.append(group)
        return lambda: tell("begin")

    def end(remove: Callable[[], None]) -> None:
        tell("end")
        assert groups[0] is None or groups[0].is_dir()
        remove()

    watched = job(backend, tmp_path, "touch began; sleep 300.7 & sleep 0.1")
    assert backend.run(msgspec.structs.replace(watched, on_begin=begin, on_end=end)).code == 0
    assert told == [("begin", False, False), ("end", True, False)]
    assert groups[0] is None or not groups[0].exists()


def test_bystanders_live(backend: ProcessBackend, tmp_path: Path) -> None:
    """Of the same user and of the same command; with a mark that is empty, shorter or another job's."""
    label = f"{backend._label}case/1.1;"
    forged = ["", label[:4], backend._label, f"{backend._label}case/1.10;", f"x{label}"]
    others = [
        subprocess.Popen(
            ["sleep", "300.7"], start_new_session=True, env={process_labels.VARIABLE: one} if one else {}
        )
        for one in forged
    ]
    # Its parent is gone: a child of this process's subreaper, as a job's orphan is, but from before the job.
    orphan = int(subprocess.check_output(["sh", "-c", "env -i setsid sleep 300.7 >/dev/null & echo $!"]))
    time.sleep(0.05)
    try:
        backend.run(job(backend, tmp_path, "env -i setsid sleep 300.7 & echo value: 1"))
        assert [one.poll() for one in others] == [None] * len(others)
        assert look(orphan) is not None
    finally:
        for one in others:
            one.kill()
            one.wait()
        os.kill(orphan, signal.SIGKILL)


def test_jobs_at_the_same_time_keep_their_own(backend: ProcessBackend, tmp_path: Path) -> None:
    """A job that ends ends none of another's orphans; the last one leaves none, whosever they were."""
    before = sleepers()
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    keeps = "env -i sleep 300.7 & env -i setsid sleep 300.7 & sleep 1.5; pgrep -f '^sleep 300[.]7$' | wc -l"
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(backend.run, job(backend, folders[0], keeps, "long"))
        time.sleep(0.2)
        leaves = "env -i setsid sleep 300.7 & exit 0"
        short = pool.submit(backend.run, job(backend, folders[1], leaves, "short"))
        assert short.result().code == 0
        assert long.result().survivors == ()
    assert int((folders[0] / "stdout").read_text()) >= 2 + len(before)
    assert sleepers() - before == set()


@pytest.mark.parametrize("how", ["same group", "emptied", "own group", "daemon"])
def test_what_a_job_leaves_ends_with_it_while_others_run(
    backend: ProcessBackend, tmp_path: Path, how: str
) -> None:
    """Without control group, group, session and label, its working folder still shows whose it is."""
    before = sleepers()
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        long = pool.submit(backend.run, job(backend, folders[0], "sleep 2", "long"))
        time.sleep(0.2)
        leaves = f"{HIDDEN[how]}; exit 0"
        assert pool.submit(backend.run, job(backend, folders[1], leaves, "short")).result().code == 0
        assert sleepers() - before == set()
        assert not long.done()
        assert long.result().survivors == ()


def test_what_cannot_be_ended_is_named_while_it_lives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a process that waits for a dead disk, or another user's where no control group may be made."""
    monkeypatch.setattr(control_groups, "usable", lambda: None)
    kill = os.kill
    before = sleepers()
    with ProcessBackend(label=str(new_session(f"held{time.monotonic_ns()}"))) as backend:
        monkeypatch.setattr(os, "kill", lambda *_: None)
        first = backend.run(job(backend, tmp_path, "env -i setsid sleep 300.7 & sleep 0.1", "first"))
        second = backend.run(job(backend, tmp_path, "echo value: 1", "second"))
        monkeypatch.undo()
        (pid,) = sleepers() - before
        kill(pid, signal.SIGKILL)
        until(lambda: not sleepers() - before)
        third = backend.run(job(backend, tmp_path, "echo value: 1", "third"))
    assert first.survivors == (f"{pid} (sleep 300.7)",)
    assert second.survivors == (f"{pid} (sleep 300.7, left by first/1.1)",)
    assert third == Exit(code=0, elapsed_s=third.elapsed_s)


def test_the_guard_ends_what_hides_from_a_killed_runner(tmp_path: Path) -> None:
    if control_groups.usable() is None:
        pytest.skip("no control group may be made here: what has no mark cannot be known without its runner")
    before = sleepers()
    script = f"""
import pathlib
from tare.plugins.backends.ownership.sessions import new_session
from tare.plugins.backends.process.backend import ProcessBackend
from tare.core.job import Job
from tare.core.launch import Invocation
prefix = str(new_session("killed{time.monotonic_ns()}"))
with ProcessBackend(label=prefix) as backend:
    command = Invocation(argv=("sh", "-c", "env -i setsid sleep 300.7 & sleep 0.1; echo up; sleep 60"))
    backend.run(Job(label=prefix + "case/1.1;", invocation=command, host=None,
                    folder=pathlib.Path({str(tmp_path)!r}), timeout_s=60))
"""
    with subprocess.Popen([sys.executable, "-c", script]) as runner:
        deadline = time.monotonic() + 20
        out = tmp_path / "stdout"
        while not (out.exists() and out.read_text() == "up\n") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert sleepers() - before
        runner.kill()
    while sleepers() - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sleepers() - before == set()


class TestControlGroups:
    @pytest.fixture
    def group(self) -> Iterator[control_groups.ControlGroup]:
        group = control_groups.make(f"test:1:{time.monotonic_ns()}:case/1.1;", control_groups.usable())
        if group is None:
            pytest.skip("no control group may be made here")
        yield group
        group.end()
        group.remove()

    def test_a_fork_bomb_ends(self, group: control_groups.ControlGroup) -> None:
        script = "n=0; while [ $n -lt 200 ]; do setsid sh -c 'while :; do :; done' & n=$((n + 1)); done"
        with subprocess.Popen(["sh", "-c", script], preexec_fn=group.join):
            time.sleep(0.1)
            assert group.is_populated()
            assert group.end() == []

    def test_it_ends_without_the_kernels_help(
        self, group: control_groups.ControlGroup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A kernel before 5.14 has no cgroup.kill."""
        monkeypatch.setattr(control_groups, "_KILL", "no.such.file/kill")
        with subprocess.Popen(["sh", "-c", "setsid sleep 60 & sleep 60"], preexec_fn=group.join):
            time.sleep(0.1)
            assert group.end() == []

    def test_groups_beneath_it_go_with_it(self, group: control_groups.ControlGroup) -> None:
        beneath = group.path / "one" / "two"
        beneath.mkdir(parents=True)
        with subprocess.Popen(["sleep", "60"], preexec_fn=control_groups.ControlGroup(beneath).join):
            assert group.end() == []
        group.remove()
        assert not group.path.exists()

    def test_what_is_left_of_a_session_is_found_and_nothing_of_another(self) -> None:
        """A session's mark may be longer than the name of a group."""
        parent = control_groups.usable()
        session = f"{'x' * 300}:{time.monotonic_ns()}:"
        labels = [f"{session}case/1.1;", f"{session}case/1.10;", f"{session[:-1]}0:case/1.1;"]
        groups = [control_groups.make(label, parent) for label in labels]
        if parent is None:
            pytest.skip("no control group may be made here")
        try:
            assert {label for _, label in control_groups.left()} >= set(labels)
            control_groups.end_left(session)
            assert [group.path.exists() for group in groups if group] == [False, False, True]
        finally:
            for group in groups:
                if group:
                    group.remove()

    def test_an_old_one_goes_when_it_is_empty(
        self, group: control_groups.ControlGroup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of a run that was killed with its guard; one in which something lives stays, as does a new one."""
        assert control_groups.usable() == group.path.parent
        assert group.path.exists()
        monkeypatch.setattr(control_groups, "_OLD_S", -1.0)
        with subprocess.Popen(["sleep", "60"], preexec_fn=group.join) as sleeper:
            control_groups.usable()
            assert sleeper.poll() is None
            assert group.path.exists()
            assert group.end() == []
        control_groups.usable()
        assert not group.path.exists()

    def test_an_interrupt_while_it_is_tried_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that comes between the start of the trial's process and the note of its pid."""
        parent = control_groups.usable()
        if parent is None:
            pytest.skip("no control group may be made here")
        started: list[subprocess.Popen[bytes]] = []

        class InterruptedPopen(subprocess.Popen[bytes]):
            def __init__(self, *words: Any, **options: Any) -> None:
                super().__init__(*words, **options)
                started.append(self)
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(subprocess, "Popen", InterruptedPopen)
        with pytest.raises(KeyboardInterrupt):
            control_groups.usable()
        (trial,) = started
        try:
            assert trial.returncode is not None
            assert not list(parent.glob(f"{control_groups._name(f'trial:{os.getpid()}:')}*"))
        finally:
            trial.kill()
            trial.wait()

    def test_where_none_may_be_made_there_is_none(self, tmp_path: Path) -> None:
        assert control_groups.own(tmp_path) is None
        assert control_groups.make("a:1:2:x/1.1;", tmp_path / "missing") is None

    @pytest.mark.parametrize(
        ("group", "mounted", "found"),
        [
            ("/", "/ /sys/fs/cgroup", "/sys/fs/cgroup"),
            ("/user.slice/a b", "/ /sys/fs/cgroup", "/sys/fs/cgroup/user.slice/a b"),
            ("/pod/one/job", "/pod/one /sys/fs/cgroup", "/sys/fs/cgroup/job"),
            ("/", "/ /mnt/a\\040b", "/mnt/a b"),
            ("/../x", "/pod /sys/fs/cgroup", None),
        ],
    )
    def test_its_place_is_where_the_tree_is_mounted(
        self, tmp_path: Path, group: str, mounted: str, found: str | None
    ) -> None:
        (tmp_path / "self").mkdir()
        (tmp_path / "self/cgroup").write_text(f"1:cpu:/elsewhere\n0::{group}\n")
        (tmp_path / "self/mountinfo").write_text(
            f"29 24 0:25 / /sys rw - sysfs sysfs rw\n30 29 0:26 {mounted} rw shared:4 - cgroup2 cgroup2 rw\n"
        )
        assert control_groups.own(tmp_path) == (Path(found) if found else None)
