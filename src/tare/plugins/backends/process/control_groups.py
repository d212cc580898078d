"""Put each job into its own control group, which no process leaves by a fork or a new session.

A process stays in the group in which it was born (cgroups(7), version 2) until a permitted process moves it,
and ``cgroup.kill`` ends all processes of a group at once. Job groups are made within the group of this
process, if the user may do that: root may, and so may a user who was given the group, as by ``systemd-run
--user --scope``. Job groups get no controllers, so that they do not limit, weigh or schedule what is
measured. This module imports only tare and the standard library.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tare.core.interrupts import interrupts_deferred
from tare.core.kernel_files import read_kernel_file

_PREFIX = "tare:"
_LABEL = "user.tare.label"  # an extended attribute (xattr(7)), because a name has at most 255 bytes
_PROCS, _KILL, _EVENTS = "cgroup.procs", "cgroup.kill", "cgroup.events"
_OLD_S = 60.0  # a job enters its group at once
_GRACE_S = 2.0  # for the kernel to end a process; one that waits for a dead disk does not end


class ControlGroup:
    """A control group at `path`, made by this process or by one that has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.processes = path / _PROCS

    def join(self) -> None:
        """Put the calling process into the group, if possible. Makes system calls only."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self.processes, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, b"0")
            finally:
                os.close(descriptor)

    def end(self, within_s: float = _GRACE_S) -> list[int]:
        """Kill all processes in the group and in groups below it.

        Return the pids of those that do not end.
        """
        deadline = time.monotonic() + within_s
        while self.is_populated():
            try:
                (self.path / _KILL).write_text("1")
            except OSError:  # a kernel before 5.14
                for pid in self.pids():
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                return self.pids()
            time.sleep(0.001)
        return []

    def remove(self) -> None:
        """Remove the group and those below it. A group with a living process stays."""
        with contextlib.suppress(OSError):
            os.rmdir(self.path)  # noqa: PTH106  # most have no group below them
            return
        for folder, _, _ in os.walk(self.path, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106  # a walk gives names

    def is_populated(self) -> bool:
        """Return whether a process in the group or below it is alive. Zombies do not count."""
        try:
            return "populated 1" in read_kernel_file(f"{self.path}/{_EVENTS}")
        except FileNotFoundError:
            return False

    def pids(self) -> list[int]:
        """Return the pids in the group and in those below it."""
        found: list[int] = []
        for folder, _, _ in os.walk(self.path):
            with contextlib.suppress(OSError):
                found += [int(pid) for pid in (Path(folder) / _PROCS).read_text().split()]
        return found


def make(label: str, parent: Path | None) -> ControlGroup | None:
    """Return a new group in `parent` for the job of this label. Return None if none can be made."""
    if parent is None:
        return None
    path = parent / _name(label)
    for number in range(2, 100):
        try:
            path.mkdir()
        except FileExistsError:  # a process of an earlier stage is still alive in it
            path = parent / f"{_name(label)}{number}"
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.setxattr(path, _LABEL, label.encode())
        return ControlGroup(path)
    return None


def usable() -> Path | None:
    """Return the group of this process if job groups can be made and joined in it, which is tried here.

    Empty groups of killed runs whose guards were killed, too, are removed.
    """
    parent = own()
    _remove_empty(parent)
    with interrupts_deferred():  # an interrupt in between would leave a process
        return parent if _is_usable(parent) else None


def _is_usable(parent: Path | None) -> bool:
    """Return whether a process can be put into a new group in `parent` and ended there."""
    group = make(f"trial:{os.getpid()}:{time.monotonic_ns()};", parent)
    if group is None:
        return False
    try:
        tried = subprocess.Popen(
            ["sleep", "60"],
            preexec_fn=group.join,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return f"{tried.pid}\n" in group.processes.read_text() and not group.end()
        finally:
            tried.kill()
            tried.wait()
    except OSError:  # for example EOPNOTSUPP, below a threaded group
        return False
    finally:
        group.remove()


def own(proc: Path = Path("/proc")) -> Path | None:
    """Return the folder of this process's version 2 group. Return None if version 2 is not mounted."""
    try:
        groups = (proc / "self/cgroup").read_text().splitlines()
        mounts = (proc / "self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in groups if line.startswith("0::")), None)
    for mount in mounts if path else ():
        before, _, after = mount.partition(" - ")
        if after.split()[:1] != ["cgroup2"]:
            continue
        root, point = (one.encode().decode("unicode_escape") for one in before.split()[3:5])
        if path is not None and (path == root or path.startswith(root.rstrip("/") + "/")):
            return Path(point) / path[len(root.rstrip("/")) :].lstrip("/")
    return None


def left(parent: Path | None = None) -> Iterator[tuple[ControlGroup, str]]:
    """Yield each job's group below `parent`, with the job's label. The default is this process's own group.

    Groups without a label are left out, as on kernels before 5.7.
    """
    for path in _named(_PREFIX, parent or own()):
        with contextlib.suppress(OSError):
            yield ControlGroup(path), os.getxattr(path, _LABEL).decode(errors="replace")


def end_left(session: str, parent: Path | None = None) -> None:
    """End and remove the groups of all jobs of a session. `session` is the prefix of their labels."""
    for path in _named(_name(session), parent or own()):
        group = ControlGroup(path)
        group.end()
        group.remove()


def _remove_empty(parent: Path | None) -> None:
    """Remove old and empty job groups. rmdir(2) refuses a group with a living process."""
    for path in _named(_PREFIX, parent):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD_S:
                path.rmdir()


def _named(prefix: str, parent: Path | None) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.name.startswith(prefix)) if parent else []
    except OSError:
        return []


def _name(label: str) -> str:
    """Return the name of a job's group: a hash of its session's prefix with the colon, and the job's name."""
    session, _, job = label.rpartition(":")
    return f"{_PREFIX}{hashlib.blake2b(session.encode(), digest_size=8).hexdigest()}:{job.replace('/', '+')}"


if __name__ == "__main__":
    end_left(sys.argv[1])
