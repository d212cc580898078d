"""Find and end processes that keep an MPI launcher waiting after all of its ranks have ended.

Hydra's proxies and Open MPI's daemons end when the output pipes of their ranks are closed. A process that a
rank left behind in its own session keeps these pipes open while it lives. It would be ended with its job, but
the job does not end. So Tare ends such a process as soon as only launchers are left of the job beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tare.plugins.backends.process.orphans import Process, command_of, look

_LAUNCHERS = frozenset(
    {
        *("mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "hydra_bstrap_pr", "pmi_proxy"),
        *("orterun", "orted", "prterun", "prted"),
    }
)
"""Names of programs that wait for ranks, cut to 15 characters as in the kernel (proc_pid_comm(5))."""

_FIRST_S, _MOST_S = 2.0, 30.0  # between scans, which get rarer: each reads files of all processes of the job
_AGAIN_S = 0.2
_ZOMBIE = "Z"


class Lingering:
    """Waits for the end of a job with `wait`, and ends processes that alone keep its launcher running.

    `pid` is the job's first process. `members` returns the job's currently known processes. `found` names
    each process that was found, by pid and command.
    """

    def __init__(
        self, wait: Callable[[float], bool], pid: int, members: Callable[[], Collection[int]]
    ) -> None:
        self.found: tuple[str, ...] = ()
        self._wait = wait
        self._pid = pid
        self._members = members
        self._pause_s = _FIRST_S
        self._due = time.monotonic() + _FIRST_S

    def __call__(self, timeout_s: float) -> bool:
        """Wait for so many seconds. Return whether the job has ended."""
        if self._wait(timeout_s):
            return True
        if time.monotonic() >= self._due:
            for pid in self.look():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._pause_s = min(2 * self._pause_s, _MOST_S)
            self._due = time.monotonic() + self._pause_s
        return False

    def look(self) -> list[int]:
        """Return the processes that keep the launcher running, and add their names to `found`.

        A process counts only if a second scan finds it again, because one scan does not see all processes at
        the same moment.
        """
        seen = lingerers(self._pid, self._members())
        if not seen or self._wait(_AGAIN_S):
            return []
        again = lingerers(self._pid, self._members())
        pids = [pid for pid in seen if pid in again and seen[pid].start == again[pid].start]
        self.found += tuple(f"{pid} ({command_of(pid)})" for pid in pids)
        return pids


def lingerers(pid: int, members: Collection[int]) -> dict[int, Process]:
    """Return processes of a job that are not its launchers and hold their pipes; none while ranks are alive.

    Among the job's processes, descendants of the first one, `pid`, are launchers and their ranks. The others
    have outlived their parents.
    """
    seen = {one: found for one in members if (found := look(one)) is not None and found.state != _ZOMBIE}
    tree = {one for one in seen if _descends(one, pid, seen)}
    rest = seen.keys() - tree
    leaves = tree - {seen[one].parent for one in tree}
    if not rest or not leaves or not all(_name(one) in _LAUNCHERS for one in leaves):
        return {}
    awaited = set().union(*map(_pipes, leaves))
    return {one: seen[one] for one in rest} if any(awaited & _pipes(one) for one in rest) else {}


def _descends(one: int, pid: int, seen: dict[int, Process]) -> bool:
    met: set[int] = set()
    while one != pid:
        if one in met or one not in seen:
            return False
        met.add(one)
        one = seen[one].parent
    return one in seen


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _pipes(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(one.readlink()))
    return {one for one in found if one.startswith("pipe:")}
