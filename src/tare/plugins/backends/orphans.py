"""Orphans: processes that a job has started and that outlive who started them.

They come to this process, their subreaper (prctl(2)). One that is in a job's session, or carries its mark, is
that job's. One that is and does neither, since it has a session of its own and an emptied environment, is the
job's that alone may have started it: of all that are under way it is the only one that began before it did.
Where several may have, the last of them to end ends it.
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

from tare.plugins.backends import process_labels

_GRACE_S = 2.0
_ZOMBIE = "Z"


class Process(NamedTuple):
    """What is known of a process: state, parent, session, and start in clock ticks since boot (proc(5))."""

    state: str
    parent: int
    session: int
    start: int


def look(pid: int) -> Process | None:
    """Return what /proc says of `pid`; None where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return Process(fields[0], int(fields[1]), int(fields[3]), int(fields[19]))


def command_of(pid: int) -> str:
    """Return the command line of `pid`, or its name where it has none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return "?"
    return " ".join(word.decode(errors="replace") for word in words if word)[:120] or name


class Orphans:
    """The children of this process that came from jobs; `is_own` tells what else may come to it.

    It is made by the thread whose children they become, which is the first one.
    """

    def __init__(self, is_own: Callable[[int], bool]) -> None:
        self._children = f"/proc/self/task/{threading.get_native_id()}/children"
        self._is_own = is_own
        self._kin: set[int] = set()
        self._own: set[int] = set()
        self._session = os.getsid(0)
        self._under_way: dict[int, tuple[str, int]] = {}
        self._lock = threading.Lock()

    def adopt(self) -> None:
        """Take the children of now for none of a job."""
        self._kin |= self.children()

    def keep(self, pid: int) -> None:
        """Take a child for none of a job."""
        self._kin.add(pid)

    def children(self) -> set[int]:
        """Return all children that this process's first thread has, with those that came to it."""
        with open(self._children, "rb") as file:  # noqa: PTH123  # pathlib doubles its cost in this hot path
            return {int(pid) for pid in file.read().split()}

    def begin(self, pid: int, label: str) -> None:
        """Note that the job of this label has begun, with `pid` as its first process."""
        seen = look(pid)
        self._under_way[pid] = (label, seen.start if seen else 0)

    def forget(self, pid: int) -> None:
        """Note that the job whose first process was `pid` has ended, and all of its own with it."""
        self._under_way.pop(pid, None)

    def of(self, pid: int) -> dict[int, Process]:
        """Return the orphans of the job whose first process was `pid`, zombies of any job with them."""
        found = {}
        for child in self.children() - self._kin - self._under_way.keys():
            seen = look(child)
            if seen is not None and self._is_of(pid, child, seen):
                found[child] = seen
        return found

    def end(self, pid: int, within_s: float = _GRACE_S) -> list[int]:
        """Kill the orphans of a job, and theirs as they come, and reap them; return what does not end.

        Only children of this process are killed, before they are reaped: no pid of theirs can be another's.
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
        """Take leave of these children, which end by themselves."""
        deadline = time.monotonic() + within_s
        while (left := pids & self.children()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def reap_own(self, *, with_new: bool) -> None:
        """Take leave of what is this process's own and came to it; of all else that is new if so asked."""
        self.reap(self._own | (self.children() - self._kin if with_new else set()))

    def _is_of(self, pid: int, child: int, seen: Process) -> bool:
        label, _ = self._under_way.get(pid, ("", 0))
        if seen.state == _ZOMBIE:
            return True
        if seen.session in self._under_way:
            return seen.session == pid
        mark = process_labels.label_of(child)
        if mark:
            return mark == label
        if seen.session == self._session:  # which no process of a job can enter: this process has started it
            return False
        if self._is_own(child):
            self._kin.add(child)
            self._own.add(child)
            return False
        may_have = [one for one, (_, start) in self._under_way.items() if start <= seen.start]
        return may_have == [pid]


class Survivors:
    """What could not be ended, of any job: it is told of every job that ends while it lives."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[str, str]] = {}

    def seen(self, label: str, left: Collection[int]) -> tuple[str, ...]:
        """Add what the job of this label left; return each that lives: its pid, command, and whose it is."""
        for pid in left:
            seen = look(pid)
            if seen is not None and seen.state != _ZOMBIE:
                self._known.setdefault((pid, seen.start), (label, command_of(pid)))
        told = []
        for (pid, start), (owner, command) in list(self._known.items()):
            seen = look(pid)
            if seen is None or seen.start != start or seen.state == _ZOMBIE:
                self._known.pop((pid, start), None)
                continue
            of = "" if owner == label else f", left by {owner.rpartition(':')[2].rstrip(';')}"
            told.append(f"{pid} ({command}{of})")
        return tuple(told)


def set_subreaper(is_subreaper: bool) -> bool:
    """Let orphans of this process's children come to it, or no more; return how it was (prctl(2))."""
    import ctypes

    set_child_subreaper, get_child_subreaper = 36, 37
    prctl = ctypes.CDLL(None).prctl
    before = ctypes.c_int()
    prctl(get_child_subreaper, ctypes.byref(before), 0, 0, 0)
    prctl(set_child_subreaper, int(is_subreaper), 0, 0, 0)
    return bool(before.value)
