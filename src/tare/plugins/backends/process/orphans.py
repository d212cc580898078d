"""Find and end orphans: processes that a job has started and that outlive their parent.

Orphans become children of this process, because it is their subreaper (prctl(2)). An orphan in a job's
process group or session, or with a job's label, belongs to that job. An orphan may have none of these, with a
session of its own and an empty environment. It belongs to a job if only that job, of all running jobs, began
before the orphan. If several jobs began before it, it belongs to the one in whose folder it works. If it
works in none of theirs, the last of them to end ends the orphan.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from tare.core.kernel_files import read_kernel_file
from tare.plugins.backends.ownership import process_labels

_GRACE_S = 2.0
_ZOMBIE = "Z"


class Process(NamedTuple):
    """A process as proc(5) describes it. `start` is in clock ticks since boot."""

    state: str
    parent: int
    group: int
    session: int
    start: int


def look(pid: int) -> Process | None:
    """Return the entry of `pid` in /proc. Return None if there is none."""
    try:
        stat = read_kernel_file(f"/proc/{pid}/stat")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    parent, group, session = (int(one) for one in fields[1:4])
    return Process(fields[0], parent, group, session, int(fields[19]))


def command_of(pid: int) -> str:
    """Return the command line of `pid`, or its name if it has no command line."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
    return " ".join(word.decode(errors="replace") for word in words if word)[:120] or name


def _works_in(pid: int) -> str:
    """Return the working folder of `pid`; empty if it cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115  # a string is what is compared
    except OSError:
        return ""


class _Begun(NamedTuple):
    label: str
    folder: Path
    start: int


class Orphans:
    """The children of this process that come from jobs.

    `is_own` identifies other children that may come to it. Create it in the thread that becomes the orphans'
    parent: the first thread of the process.
    """

    def __init__(self, is_own: Callable[[int], bool]) -> None:
        self._children = f"/proc/self/task/{threading.get_native_id()}/children"
        self._is_own = is_own
        self._kin: set[int] = set()
        self._own: set[int] = set()
        self._session = os.getsid(0)
        self._under_way: dict[int, _Begun] = {}
        self._lock = threading.Lock()

    def adopt(self) -> None:
        """Treat all current children as this process's own, not as a job's."""
        self._kin |= self.children()

    def keep(self, pid: int) -> None:
        """Treat the child `pid` as this process's own, not as a job's."""
        self._kin.add(pid)

    def children(self) -> set[int]:
        """Return all children of this process's first thread, including adopted orphans."""
        return {int(pid) for pid in read_kernel_file(self._children).split()}

    def begin(self, pid: int, label: str, folder: Path) -> None:
        """Record that the job with this label and folder has begun and that `pid` is its first process."""
        seen = look(pid)
        self._under_way[pid] = _Begun(label, folder, seen.start if seen else 0)

    def forget(self, pid: int) -> None:
        """Record that the job with the first process `pid` has ended, together with all its processes."""
        self._under_way.pop(pid, None)

    def of(self, pid: int) -> dict[int, Process]:
        """Return the orphans of the job with the first process `pid`. Zombies of any job are included."""
        found = {}
        for child in self.children() - self._kin - self._under_way.keys():
            seen = look(child)
            if seen is not None and self._is_of(pid, child, seen):
                found[child] = seen
        return found

    def end(self, pid: int, within_s: float = _GRACE_S) -> list[int]:
        """Kill and reap the orphans of a job and new orphans that follow. Return the pids that do not end.

        Only children of this process are killed, and before they are reaped, so their pids cannot have been
        reused.
        """
        deadline = time.monotonic() + within_s
        while True:
            with self._lock:
                orphans = self.of(pid)
                for child in orphans:
                    with contextlib.suppress(OSError):
                        os.kill(child, signal.SIGKILL)
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(child, os.WNOHANG)
            if not orphans:
                return []
            if time.monotonic() > deadline:
                return [child for child, seen in orphans.items() if seen.state != _ZOMBIE]
            time.sleep(0.002)

    def reap(self, pids: set[int], within_s: float = _GRACE_S) -> None:
        """Wait for these children, which end by themselves."""
        deadline = time.monotonic() + within_s
        while (left := pids & self.children()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def reap_own(self, *, with_new: bool) -> None:
        """Wait for this process's own adopted children.

        With `with_new`, wait for all other new children too.
        """
        self.reap(self._own | (self.children() - self._kin if with_new else set()))

    def _is_of(self, pid: int, child: int, seen: Process) -> bool:
        if seen.state == _ZOMBIE:
            return True
        for one in (seen.group, seen.session):  # a boosted job shares its starter's session
            if one in self._under_way:
                return one == pid
        own_label = process_labels.label_of(child)
        if own_label:
            return pid in self._under_way and own_label == self._under_way[pid].label
        if seen.session == self._session:  # no job's process can enter it: we started this one
            return False
        if self._is_own(child):
            self._kin.add(child)
            self._own.add(child)
            return False
        may_have = {one: job for one, job in self._under_way.items() if job.start <= seen.start}
        if len(may_have) > 1:
            place = f"{_works_in(child)}/"
            at_work = [
                one for one, job in may_have.items() if place.startswith(f"{os.path.realpath(job.folder)}/")
            ]
            return at_work == [pid]
        return [*may_have] == [pid]


class Survivors:
    """The processes of any job that could not be ended. Each job that ends while one is alive reports it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[str, str]] = {}

    def seen(self, label: str, left: Collection[int]) -> tuple[str, ...]:
        """Add the processes that this job left.

        Return a text for each living one: its pid, command and job.
        """
        for pid in left:
            seen = look(pid)
            if seen is not None and seen.state != _ZOMBIE:
                self._known.setdefault((pid, seen.start), (label, command_of(pid)))
        texts = []
        for (pid, start), (owner, command) in list(self._known.items()):
            seen = look(pid)
            if seen is None or seen.start != start or seen.state == _ZOMBIE:
                self._known.pop((pid, start), None)
                continue
            of = "" if owner == label else f", left by {owner.rpartition(':')[2].rstrip(';')}"
            texts.append(f"{pid} ({command}{of})")
        return tuple(texts)


def set_subreaper(is_subreaper: bool) -> bool:
    """Make this process the parent of its children's orphans, or stop that.

    Return the earlier setting (prctl(2)).
    """
    import ctypes

    set_child_subreaper, get_child_subreaper = 36, 37
    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(get_child_subreaper, ctypes.byref(before), 0, 0, 0)
    prctl(set_child_subreaper, int(is_subreaper), 0, 0, 0)
    return bool(before.value)
