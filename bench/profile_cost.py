"""Measure how much the profiling library slows programs down.

The most sensitive program is a ping-pong of 8 bytes: all its time is calls. Over a network each takes tens
of microseconds, in shared memory less than one. A run with the library calls the MPI through it and directly,
in turn (profile_pingpong.c): runs differ by more than the library costs. GROMACS runs with it and without it,
in random order within each block of a study with `profile: true`.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.rows import TARE, Row
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.stats.intervals import geometric_intervals
from tare.storage.campaign import read_campaign

GOAL = 0.01
_SOURCE = Path(__file__).with_name("profile_pingpong.c")

_PING_PONG = """
repeats: 12
workloads:
  pingpong:
    command: ["{programs}/profile_pingpong", 200]
    mpi: true
    foms:
      - {{name: through, unit: us, better: lower, regex: 'through (\\S+)'}}
      - {{name: direct, unit: us, better: lower, regex: 'direct (\\S+)'}}
workload: pingpong
"""
_GROMACS = """
repeats: 40
nodes: 2
ranks_per_node: 1
network: host
workload:
  gromacs.water: {{size: 3, steps: 200}}
"""
_STUDIES = {
    "ping-pong of 8 bytes, host network": f"nodes: 2\nranks_per_node: 1\nnetwork: host\n{_PING_PONG}",
    "ping-pong of 8 bytes, overlay": f"nodes: 2\nranks_per_node: 1\nnetwork: overlay\n{_PING_PONG}",
    "ping-pong of 8 bytes, shared memory": f"nodes: 1\nranks: 2\n{_PING_PONG}",
    "GROMACS, 2 nodes": _GROMACS,
}


class _Cost(NamedTuple):
    """Times with the library over those without, one for each run or pair of runs, and a time without it."""

    ratios: list[float]
    unit: str


def measure() -> Iterator[Row]:
    """Yield the cost for each program; it needs an otherwise idle machine."""
    if not shutil.which("mpicc.openmpi"):
        yield Row("profile", "no mpicc.openmpi", "-", "-")
        return
    with tempfile.TemporaryDirectory() as name:
        programs = Path(name)
        build = ["mpicc.openmpi", "-O2", "-o", f"{programs}/profile_pingpong", str(_SOURCE), "-ldl"]
        subprocess.run(build, check=True)
        for what, text in studies(programs):
            if "gromacs" in text and shutil.which("gmx_mpi") is None:
                yield Row(f"profile: {what}", "no gmx_mpi", "-", "-")
                continue
            with tempfile.TemporaryDirectory() as folder:
                yield Row(f"profile: {what}", *_measured(Path(folder), text), goal=f"≤ {GOAL:.0%}")


def studies(programs: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each study; `programs` is the folder of the compiled ping-pong."""
    for name, text in _STUDIES.items():
        head = "study: cost\nsite: lab\nprofile: true\nplatform: debian\n"
        yield name, head + text.format(programs=programs)


def _measured(folder: Path, text: str) -> tuple[str, str]:
    """Run the study; return the cost with its 95 % interval, and the median without the library."""
    study = folder / "study.yaml"
    study.write_text(text)
    run = [TARE, "run", str(study), "--out", str(folder / "out"), "--telemetry", "off", "--no-boost"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    said = (done.stderr.strip() or done.stdout.strip() or "tare run said nothing").splitlines()
    if not (folder / "out" / "plan.json").exists():
        return "no runs", said[-1]
    campaign = read_campaign(folder / "out")
    cost = _between_runs(campaign) if "gromacs" in text else _within_runs(campaign)
    if len(cost.ratios) < 3:
        return "no runs", said[-1]
    found = geometric_intervals(np.array([cost.ratios]).T, 0.95)
    low, centre, high = (100 * (float(one[0]) - 1) for one in (found.low, found.centre, found.high))
    return f"{centre:+.2f} % [{low:+.2f}, {high:+.2f}]", cost.unit


def _within_runs(campaign: Campaign) -> _Cost:
    """Return the cost that the ping-pong prints in each profiled run: through the library over directly."""
    printed = [_printed(one) for one in campaign.profiled()]
    unit = f"{np.median([one['direct'] for one in printed]):.4g} us" if printed else "-"
    return _Cost([one["through"] / one["direct"] for one in printed], unit)


def _between_runs(campaign: Campaign) -> _Cost:
    """Return the cost between the runs of each block: profiled over plain."""
    plain, profiled = (
        {one.together: _printed(one)["hours_per_ns"] for one in attempts}
        for attempts in (campaign.measured(), campaign.profiled())
    )
    both = sorted(plain.keys() & profiled.keys())
    unit = f"{np.median([plain[one] for one in both]):.4g} h/ns" if both else "-"
    return _Cost([profiled[one] / plain[one] for one in both], unit)


def _printed(attempt: Attempt) -> Mapping[str, float]:
    return {each.fom: each.values[0] for each in attempt.series}
