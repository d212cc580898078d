"""Measure the time that Tare adds to each run, compared with a plain loop of subprocess.run."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row, peak_mib, wall_s

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


def measure() -> Iterator[Row]:
    """Run the same 1,000 commands both ways, alternately, five times; Tare syncs each run to disk."""
    added, bare_times, tare_times = [], [], []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        study = Path(folder, "echo.yaml")
        study.write_text(_STUDY % N_RUNS)
        for turn in range(5):
            bare = wall_s([sys.executable, "-c", _BARE])
            tare = wall_s([TARE, "run", str(study), "--out", f"{folder}/campaign-{turn}"])
            bare_times.append(bare)
            tare_times.append(tare)
            added.append((tare - bare) / N_RUNS)
        yield Row(
            "tare run, 1,000 runs | subprocess.run loop",
            f"{statistics.median(tare_times):.2f} s",
            f"{statistics.median(bare_times):.2f} s",
            "",
        )
        yield Row(
            "added by tare to each run",
            f"{statistics.median(added) * 1e3:.2f} ms",
            "",
            "under 3 ms, better 1.2",
        )
        few, many = (_peak(folder, n) for n in (100, 2000))
        yield Row("peak memory, 2,000 runs | 100 runs", f"{many:.0f} MiB", f"{few:.0f} MiB", "flat")


def _peak(folder: str, n_runs: int) -> float:
    study = Path(folder, f"echo-{n_runs}.yaml")
    study.write_text(_STUDY % n_runs)
    return peak_mib([TARE, "run", str(study), "--out", f"{folder}/peak-{n_runs}"])
