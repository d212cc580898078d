"""Give the sessions of jobs priority over all other sessions of the machine (sched(7), autogroups).

Linux first divides the time of a CPU among sessions. Ranks that wait for each other suffer most when they
share a CPU with other sessions: on two busy cores a ping-pong took 20 s instead of 1. A session with the nice
value −20 goes before all others; only root may set it. The setting ends with the session.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tare.core.job import Job
from tare.plugins.backends.ownership import process_labels

_RANKS_S, _LOOK_AGAIN_S = 4.0, 0.03  # ranks wait for 3 s (see placement_probe.sh); each look takes some 2 ms

BOOST = -20
"""The nice value of a session with the highest priority."""

TRIAL = f"""
import os
try:
    os.write(os.open('/proc/self/autogroup', os.O_WRONLY), b'{BOOST}')
except BlockingIOError:  # without CAP_SYS_ADMIN the kernel takes one in a tenth of a second
    pass
"""
"""A program of Python that boosts its own session, and fails where its user may not."""


def boost(pid: int) -> None:
    """Give the session of `pid` priority over all others, if this user may."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(BOOST))


def may_boost() -> bool:
    """Return whether this user may boost a session, by trying it on a new one."""
    tried = subprocess.run(
        [sys.executable, "-I", "-S", "-c", TRIAL],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return tried.returncode == 0


def boost_ranks(job: Job, wait: Callable[[float], bool]) -> None:
    """Boost the sessions that a job starts until all its ranks have reported their start, or for 4 s.

    `wait` waits for the end of the job for so many seconds. Launchers start the ranks of other nodes in
    sessions of their own, and in the lab these may not boost themselves.
    """
    deadline = time.monotonic() + _RANKS_S
    known: set[int] = set()
    while time.monotonic() < deadline and not wait(_LOOK_AGAIN_S):
        if sum(1 for _ in (job.folder / job.ranks).glob("*.*")) >= job.n_boosted:
            return
        for pid in process_labels.labelled_pids(job.label):
            with contextlib.suppress(OSError):
                session = os.getsid(pid)
                if session not in known:
                    boost(pid)
                    known.add(session)
