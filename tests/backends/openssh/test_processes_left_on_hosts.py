"""Processes that a job leaves on a host are ended and named, and no others."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from support.sleeping import sleeping
from tare.core.job import Exit, Job
from tare.core.launch import Invocation
from tare.plugins.backends.ownership import process_labels, stray_processes
from tare.plugins.backends.process.backend import ProcessBackend


def working_in(folder: Path) -> list[int]:
    """Return what works in `folder` or below it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if entry.readlink().is_relative_to(folder):
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
