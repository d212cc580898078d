"""One row of the benchmark table, and functions that measure commands."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TARE = str(Path(sys.executable).with_name("tare"))

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode


class Row(NamedTuple):
    """The name of a measurement, its result, the value to compare it with, and the goal, all as text."""

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


def cpu_and_wall_s(argv: Sequence[str]) -> tuple[float, float]:
    """Return the CPU and the wall time of a command in seconds. Raises CalledProcessError if it fails."""
    began = time.perf_counter()
    cpu_s, _ = cpu_s_and_peak_mib(argv, must_succeed=True)
    return cpu_s, time.perf_counter() - began


def peak_mib(argv: Sequence[str], cwd: Path | None = None) -> float:
    """Return the peak resident memory of a command, in MiB. Raises CalledProcessError if it fails."""
    _, peak, code = _usage(argv, cwd)
    if code:
        raise subprocess.CalledProcessError(code, argv)
    return peak


def cpu_s_and_peak_mib(argv: Sequence[str], *, must_succeed: bool = False) -> tuple[float, float]:
    """Return the CPU time of a command in seconds and its peak memory in MiB, even if it fails.

    Raises CalledProcessError where it fails and `must_succeed`.
    """
    cpu_s, peak, code = _usage(argv, None)
    if code and must_succeed:
        raise subprocess.CalledProcessError(code, argv)
    return cpu_s, peak


def _usage(argv: Sequence[str], cwd: Path | None) -> tuple[float, float, int]:
    """Return CPU seconds, peak MiB and exit code of a command, from getrusage(2) in its parent process."""
    script = (
        "import resource, subprocess, sys\n"
        "from subprocess import DEVNULL\n"
        "code = subprocess.run(sys.argv[1:], stdout=DEVNULL, stderr=DEVNULL).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, code)"
    )
    done = subprocess.run([sys.executable, "-c", script, *argv], capture_output=True, check=True, cwd=cwd)
    cpu_s, peak_kib, code = done.stdout.split()[-3:]
    return float(cpu_s), int(peak_kib) / 1024, int(code)
