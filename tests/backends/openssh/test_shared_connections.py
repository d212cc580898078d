"""Connections that jobs share are closed at the end, also after a tare that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from support.waiting import until
from tare.plugins.backends.hosts.openssh import OpenSsh
from tare.plugins.backends.ownership import process_labels
from tare.plugins.backends.process.backend import ProcessBackend
from tare.plugins.backends.process.orphans import look


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
    until(lambda: not _sharing(folder))


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
    until(lambda: (tmp_path / "up").exists())
    (folder,) = Path(runtime).iterdir()
    assert [path for path in folder.iterdir() if path.is_socket()]
    assert len(process_labels.labelled_pids(f"{campaign}:")) >= 2
    runner.kill()
    runner.wait()
    until(lambda: process_labels.labelled_pids(f"{campaign}:") == [])
    until(lambda: not folder.exists() and not _sharing(folder))
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
    until(lambda: (seen := look(guard)) is None or seen.state == "Z")  # until then it holds the lock
    assert _sharing(folder)
    OpenSsh(agent).close(os.environ)
    until(lambda: not folder.exists() and not _sharing(folder))
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
