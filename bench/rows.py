"""One row of the table, and how its parts are timed."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TARE = str(Path(sys.executable).with_name("tare"))


class Row(NamedTuple):
    """What was measured, what it is held against, and the goal, as text."""

    what: str
    measured: str
    against: str
    goal: str


def wall_s(argv: Sequence[str], *, repeats: int = 1, cwd: Path | None = None) -> float:
    """Return the median wall time of a command, in seconds; its output goes to a pipe."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(argv, capture_output=True, check=True, cwd=cwd)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def peak_mib(argv: Sequence[str], cwd: Path | None = None) -> float:
    """Return the peak resident memory of a command, in MiB (getrusage(2) of a waiting process)."""
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, *argv], capture_output=True, check=True, cwd=cwd)
    return int(done.stdout.split()[-1]) / 1024
