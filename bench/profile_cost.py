"""Measure how much the profiling library slows programs down.

Runs differ by more than the library costs. So a run with the library calls the MPI through it and directly,
in turn. The most sensitive program is a ping-pong of 8 bytes, since all its time is calls: over a network
each takes tens of microseconds, in shared memory less than one (profile_pingpong.c). A library that is loaded
before the profiling library does the same to GROMACS (profile_turns.c). In runs without the profiling library
both kinds of calls are the same, and so should be their times.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.rows import TARE, Row
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.stats.intervals import geometric_intervals
from tare.storage.campaign import read_campaign

GOAL = 0.01

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
repeats: 12
nodes: 2
ranks_per_node: 1
network: host
wrapper: "{programs}/turns.sh"
workload:
  gromacs.water: {{size: 3, steps: 4000}}
"""
_WRAPPER = """\
#!/bin/sh
LD_PRELOAD={programs}/libturns.so${{LD_PRELOAD:+:$LD_PRELOAD}} exec "$@"
"""
_STUDIES = {
    "ping-pong of 8 bytes, host network": f"nodes: 2\nranks_per_node: 1\nnetwork: host\n{_PING_PONG}",
    "ping-pong of 8 bytes, overlay": f"nodes: 2\nranks_per_node: 1\nnetwork: overlay\n{_PING_PONG}",
    "ping-pong of 8 bytes, shared memory": f"nodes: 1\nranks: 2\n{_PING_PONG}",
    "GROMACS, 2 nodes": _GROMACS,
}


class _Turns(NamedTuple):
    """What calls took in one run, in microseconds: those that went through the library, and direct ones."""

    through: float
    direct: float


def measure() -> Iterator[Row]:
    """Yield the cost for each program; it needs an otherwise idle machine."""
    if not shutil.which("mpicc.openmpi"):
        yield Row("profile", "no mpicc.openmpi", "-", "-")
        return
    with tempfile.TemporaryDirectory() as name:
        programs = Path(name)
        _build(programs)
        for what, text in studies(programs):
            if "gromacs" in text and shutil.which("gmx_mpi") is None:
                yield Row(f"profile: {what}", "no gmx_mpi", "-", "-")
                continue
            with tempfile.TemporaryDirectory() as folder:
                yield from _measured(what, Path(folder), text)


def _build(programs: Path) -> None:
    """Compile the ping-pong, and the library that takes turns with its wrapper, into a folder."""
    for source, options, made in (
        ("profile_pingpong.c", [], "profile_pingpong"),
        ("profile_turns.c", ["-fPIC", "-shared"], "libturns.so"),
    ):
        path = Path(__file__).with_name(source)
        build = ["mpicc.openmpi", "-O2", *options, "-o", str(programs / made), str(path), "-ldl"]
        subprocess.run(build, check=True)
    wrapper = programs / "turns.sh"
    wrapper.write_text(_WRAPPER.format(programs=programs))
    wrapper.chmod(0o755)


def studies(programs: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each study; `programs` is the folder of what was compiled."""
    for name, text in _STUDIES.items():
        head = "study: cost\nsite: lab\nprofile: true\nplatform: debian\n"
        yield name, head + text.format(programs=programs)


def _measured(what: str, folder: Path, text: str) -> Iterator[Row]:
    """Run the study; yield the cost with its 95 % interval, and the median without the library."""
    study = folder / "study.yaml"
    study.write_text(text)
    run = [TARE, "run", str(study), "--out", str(folder / "out"), "--telemetry", "off", "--no-boost"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    said = (done.stderr.strip() or done.stdout.strip() or "tare run said nothing").splitlines()
    if not (folder / "out" / "plan.json").exists():
        yield Row(f"profile: {what}", "no runs", said[-1], "-")
        return
    campaign = read_campaign(folder / "out")
    if "gromacs" not in text:
        yield _row(what, [_printed(one) for one in campaign.profiled()], f"≤ {GOAL:.0%}", said[-1])
        return
    of_profiled, of_plain = (
        list(_in_files(campaign, attempts)) for attempts in (campaign.profiled(), campaign.measured())
    )
    yield _row(f"{what}, 20 steps", of_profiled, f"≤ {GOAL:.0%}", said[-1])
    yield _row(f"{what}, without the library", of_plain, "0 in the interval", said[-1])


def _row(what: str, runs: Sequence[_Turns], goal: str, said: str) -> Row:
    if len(runs) < 3:
        return Row(f"profile: {what}", "no runs", said, goal)
    ratios = np.array([[one.through / one.direct] for one in runs])
    found = geometric_intervals(ratios, 0.95)
    low, centre, high = (100 * (float(one[0]) - 1) for one in (found.low, found.centre, found.high))
    direct = float(np.median([one.direct for one in runs]))
    return Row(f"profile: {what}", f"{centre:+.2f} % [{low:+.2f}, {high:+.2f}]", f"{direct:.4g} us", goal)


def _printed(attempt: Attempt) -> _Turns:
    """Return the times that the ping-pong printed."""
    values = {each.fom: each.values[0] for each in attempt.series}
    return _Turns(values["through"], values["direct"])


def _in_files(campaign: Campaign, attempts: Iterable[Attempt]) -> Iterator[_Turns]:
    """Yield the times in the files that were written beside a program's own output."""
    for one in attempts:
        written = (campaign.folder / one.folder / "turns").read_text()
        through, direct = re.findall(r"[0-9.]+", written)
        yield _Turns(float(through), float(direct))
