"""End the processes of a job that PSI/J's local executor started.

PSI/J (0.9.11) lists a job's processes and kills them. What the job forks meanwhile goes on.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable

import psutil  # PSI/J depends on it

_MOST_S, _LOOK_S = 5.0, 0.002
_CANNOT_FORK = {
    psutil.STATUS_STOPPED,
    psutil.STATUS_TRACING_STOP,  # below strace(1)
    psutil.STATUS_ZOMBIE,
    psutil.STATUS_DEAD,
}


def is_child(pid: int) -> bool:
    """Return whether `pid` is a child of this process."""
    try:
        return bool(psutil.Process(pid).ppid() == os.getpid())
    except psutil.Error:
        return False


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes. Later ones that have their pids are not killed."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def stopped_tree(pid: int) -> set[psutil.Process]:
    """Stop a process and its descendants with SIGSTOP, and return them. What is stopped does not fork."""
    held: set[psutil.Process] = set()
    deadline = time.monotonic() + _MOST_S
    while time.monotonic() < deadline:
        try:
            root = psutil.Process(pid)
            new = {root, *root.children(recursive=True)} - held
        except psutil.NoSuchProcess:
            break
        for one in new:
            with contextlib.suppress(psutil.Error):
                one.suspend()
        held |= new
        if not new and all(map(_cannot_fork, held)):
            break
        time.sleep(_LOOK_S)
    return held


def _cannot_fork(process: psutil.Process) -> bool:
    """Return whether a process is stopped, or over."""
    try:
        return process.status() in _CANNOT_FORK
    except psutil.Error:
        return True
