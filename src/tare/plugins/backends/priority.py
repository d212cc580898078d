"""The priority of what runs: a session that goes before all else on its machine (sched(7), autogroups).

Linux divides the time of a CPU among sessions first. Ranks that wait for each other suffer most where they
share it with other sessions: on two busy cores a ping-pong took 20 s instead of 1. A session that has the
nice value −20 goes before all others; only root may give it. Nothing remains of it when the session ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

from tare.core.job import Job
from tare.plugins.backends import process_labels

_RANKS_S, _LOOK_AGAIN_S = 4.0, 0.03  # ranks wait for 3 s (see attest.sh); each look takes some 2 ms

BOOST = -20
"""The nice value of a session that goes before all others."""

_TRIAL = f"open('/proc/self/autogroup', 'w').write('{BOOST}')"


def boost(pid: int) -> None:
    """Let the session of `pid` go before all else on this machine, where this user may."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as autogroup:  # noqa: PTH123  # hot path
        autogroup.write(str(BOOST))


def boost_self() -> None:
    """Let the session of this process go before all else, where this user may, with system calls alone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(b"/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"%d" % BOOST)
        finally:
            os.close(descriptor)


def may_boost() -> bool:
    """Return whether this user may, by trying it on a session of its own."""
    tried = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _TRIAL],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return tried.returncode == 0


def boost_ranks(job: Job, wait: Callable[[float], bool]) -> None:
    """Boost the sessions that a job starts until all its ranks have said that they begin, or for a while.

    `wait` waits so many seconds for the end of the job. Launchers start ranks of other nodes in sessions of
    their own, and in the lab these have no right to it.
    """
    deadline = time.monotonic() + _RANKS_S
    known: set[int] = set()
    while time.monotonic() < deadline and not wait(_LOOK_AGAIN_S):
        if sum(1 for _ in (job.folder / job.ranks).glob("*.*")) >= job.n_boosted:
            return
        for pid in process_labels.marked(job.label):
            with contextlib.suppress(OSError):
                session = os.getsid(pid)
                if session not in known:
                    boost(pid)
                    known.add(session)
