"""MPI launchers that wait for ever, though all of their ranks have ended.

Hydra's proxies and Open MPI's daemons end when the pipes of their ranks' outputs do. What a rank has left
behind in a session of its own holds these pipes open, for as long as it lives. It would end with its job;
but the job does not end. So it is ended as soon as nothing but launchers is left of the job beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tare.plugins.backends.orphans import Process, command_of, look

_LAUNCHERS = frozenset(
    {
        *("mpirun", "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "hydra_bstrap_pr", "pmi_proxy"),
        *("orterun", "orted", "prterun", "prted"),
    }
)
"""Names of what waits for ranks, of at most 15 characters, as the kernel keeps them (proc_pid_comm(5))."""

_FIRST_S, _MOST_S = 2.0, 30.0  # between looks, ever rarer: each reads some files of every process of the job
_AGAIN_S = 0.2
_ZOMBIE = "Z"


class Lingering:
    """Waits for the end of a job as `wait` does, and meanwhile ends what alone keeps its launcher from it.

    `pid` is the job's first process, and `members` returns its processes of now, as far as they are known.
    `found` names each that was found, by pid and command.
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
        """Wait for so many seconds; return whether the job has ended."""
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
        """Return what keeps the launcher from its end, and keep the names of it in `found`.

        It counts where a second look finds it again: processes are not all looked at in one moment.
        """
        seen = lingerers(self._pid, self._members())
        if not seen or self._wait(_AGAIN_S):
            return []
        again = lingerers(self._pid, self._members())
        pids = [pid for pid in seen if pid in again and seen[pid].start == again[pid].start]
        self.found += tuple(f"{pid} ({command_of(pid)})" for pid in pids)
        return pids


def lingerers(pid: int, members: Collection[int]) -> dict[int, Process]:
    """Return what is left of a job beside its launchers and holds their pipes; nothing while ranks are there.

    Of the job's processes, those that descend from its first one, `pid`, are its launchers and their ranks;
    the others have outlived who started them.
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
