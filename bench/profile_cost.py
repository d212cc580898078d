"""Measure how much the profiling library slows programs down: runs with it and without it, in turn.

The runs are those of a study with `profile: true`, in random order within each block. The most sensitive
program is a ping-pong of 8 bytes: all its time is calls. Over a network each takes tens of microseconds, in
shared memory less than one.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.rows import TARE, Row
from tare.core.attempt import Attempt
from tare.core.case import Pass
from tare.stats.intervals import geometric_intervals
from tare.storage.campaign import read_campaign

GOAL = 0.01
BLOCKS = 60
"""Runs differ by several percent, and more so the longer one waits: so many short ones."""
_TIMES = ("latency_p50", "hours_per_ns")

_PING_PONG = """
workload:
  tare.p2p: {max_bytes: 8, min_bytes: 8, operations: pingpong, iterations: 10000, time_s: 3 s}
"""
_GROMACS = """
workload:
  gromacs.water: {size: 3, steps: 200}
"""
_STUDIES = {
    "ping-pong of 8 bytes, host network": f"nodes: 2\nranks_per_node: 1\nnetwork: host\n{_PING_PONG}",
    "ping-pong of 8 bytes, overlay": f"nodes: 2\nranks_per_node: 1\nnetwork: overlay\n{_PING_PONG}",
    "ping-pong of 8 bytes, shared memory": f"nodes: 1\nranks: 2\n{_PING_PONG}",
    "GROMACS, 2 nodes": f"nodes: 2\nranks_per_node: 1\nnetwork: host\n{_GROMACS}",
}


def measure() -> Iterator[Row]:
    """Yield the cost for each program; it needs an otherwise idle machine."""
    for name, text in studies():
        if "gromacs" in text and shutil.which("gmx_mpi") is None:
            yield Row(f"profile: {name}", "no gmx_mpi", "-", "-")
            continue
        with tempfile.TemporaryDirectory() as folder:
            yield Row(f"profile: {name}", *_cost(Path(folder), text), goal=f"≤ {GOAL:.0%}")


def studies() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each study."""
    for name, text in _STUDIES.items():
        yield name, f"study: cost\nsite: lab\nprofile: true\nrepeats: {BLOCKS}\nplatform: debian\n{text}"


def _cost(folder: Path, text: str) -> tuple[str, str]:
    """Run the study; return the cost with its 95 % interval, and the median without the library."""
    study = folder / "study.yaml"
    study.write_text(text)
    run = [
        TARE,
        "run",
        str(study),
        "--out",
        str(folder / "out"),
        "--telemetry",
        "off",
        "--no-boost",
    ]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    said = (done.stderr.strip() or done.stdout.strip() or "tare run said nothing").splitlines()
    if not (folder / "out" / "plan.json").exists():
        return "no runs", said[-1]
    campaign = read_campaign(folder / "out")
    plain, profiled = (_figures(one) for one in (campaign.measured(), campaign.profiled()))
    both = sorted(plain.keys() & profiled.keys())
    if len(both) < 3:
        return "no runs", said[-1]
    ratios = np.array([[profiled[one] / plain[one]] for one in both])
    found = geometric_intervals(ratios, 0.95)
    low, centre, high = (100 * (float(one[0]) - 1) for one in (found.low, found.centre, found.high))
    unit = float(np.median([plain[one] for one in both]))
    return f"{centre:+.2f} % [{low:+.2f}, {high:+.2f}]", f"{unit:.4g}"


def _figures(attempts: Sequence[Attempt]) -> dict[Pass, float]:
    """Return the time that each run prints: its median latency, or hours for a simulated nanosecond."""
    return {
        one.together: next(each.values[0] for each in one.series if each.fom in _TIMES) for one in attempts
    }
