"""Reap processes of a lab that became children of this process, such as ranks of a killed launcher.

A process stays in its PID namespace until its parent has reaped it, and until then the namespace does not end
(pid_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

_LOOK_S = 0.05


def wait_reaping(descriptor: int, timeout_s: float) -> bool:
    """Wait for the process of a pidfd to end, and reap ended processes below; return whether it ended."""
    deadline = time.monotonic() + timeout_s
    while not select.select([descriptor], [], [], _LOOK_S)[0]:
        if time.monotonic() > deadline:
            return False
        for pid in _ended_below():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    return True


def _ended_below() -> Iterator[int]:
    """Yield children of this process that have ended and are in a PID namespace below its own."""
    depth = len(_status("self").get("NSpid", "").split())
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for pid in (task / "children").read_text().split():
                status = _status(pid)
                if status.get("State", "").startswith("Z") and len(status.get("NSpid", "").split()) > depth:
                    yield int(pid)


def _status(pid: str) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}
