"""Measure the time that Tare adds to each run, compared with a plain loop of subprocess.run."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.rows import TARE, Row, cpu_and_wall_s, peak_mib

N_RUNS = 1000
_COMMAND = ["sh", "-c", "echo value: 1.0"]
_STUDY = """\
study: echo
workloads:
  echo:
    command: [sh, -c, "echo value: 1.0"]
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
    checks: [{matches: 'value:'}]
factors: {workload: [echo]}
repeats: %d
"""
_BARE = f"import subprocess\nfor _ in range({N_RUNS}): subprocess.run({_COMMAND!r}, capture_output=True)"
_KINDS = {"with telemetry": ((), "under 2 ms", "under 3 ms"), "without": (("--telemetry", "off"), "", "")}


class _Added(NamedTuple):
    """What a run took more than one turn of the loop, in milliseconds."""

    cpu_ms: float
    wall_ms: float


def measure() -> Iterator[Row]:
    """Run the same 1,000 commands in a loop and by Tare, in turn, five times; Tare syncs each run to disk."""
    added: dict[str, list[_Added]] = {name: [] for name in _KINDS}
    loops = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        study = Path(folder, "echo.yaml")
        study.write_text(_STUDY % N_RUNS)
        for turn in range(5):
            bare = cpu_and_wall_s([sys.executable, "-c", _BARE])
            loops.append(bare)
            for name, (options, _, _) in _KINDS.items():
                out = ["--out", f"{folder}/{name}-{turn}".replace(" ", "-")]
                added[name].append(_over(bare, cpu_and_wall_s([TARE, "run", str(study), *out, *options])))
        yield from _rows(added, loops)
        few, many = (_peak(folder, n) for n in (100, 2000))
        yield Row("peak memory, 2,000 runs | 100 runs", f"{many:.0f} MiB", f"{few:.0f} MiB", "flat")


def _over(bare: tuple[float, float], tare: tuple[float, float]) -> _Added:
    cpu_ms, wall_ms = (1e3 * (ours - theirs) / N_RUNS for ours, theirs in zip(tare, bare, strict=True))
    return _Added(cpu_ms, wall_ms)


def _rows(added: dict[str, list[_Added]], loops: Sequence[tuple[float, float]]) -> Iterator[Row]:
    loop_cpu, loop_wall = (1e3 * statistics.median(one) / N_RUNS for one in zip(*loops, strict=True))
    for name, (_, cpu_goal, wall_goal) in _KINDS.items():
        cpu = statistics.median(one.cpu_ms for one in added[name])
        wall = statistics.median(one.wall_ms for one in added[name])
        what = f"added by tare to each run, {name}"
        yield Row(f"{what} | the run in a loop, CPU", f"{cpu:.2f} ms", f"{loop_cpu:.2f} ms", cpu_goal)
        yield Row(f"{what} | the run in a loop, wall", f"{wall:.2f} ms", f"{loop_wall:.2f} ms", wall_goal)


def _peak(folder: str, n_runs: int) -> float:
    study = Path(folder, f"echo-{n_runs}.yaml")
    study.write_text(_STUDY % n_runs)
    return peak_mib([TARE, "run", str(study), "--out", f"{folder}/peak-{n_runs}"])
