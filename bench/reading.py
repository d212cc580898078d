"""Measure the CPU time and the memory in which the runs of a long campaign are read, and their growth."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import Row, cpu_s_and_peak_mib
from bench.synthetic import Shape, write_campaign

_READ = (
    "import sys, pathlib\n"
    "from tare.storage.campaign import read_campaign\n"
    "assert len(read_campaign(pathlib.Path(sys.argv[1])).attempts) == int(sys.argv[2])"
)
_N_CASES = 40


def measure() -> Iterator[Row]:
    """Read 10,000 and 100,000 runs with 100 measurements each."""
    (few_s, few_mib), (many_s, many_mib) = (_read(n_runs) for n_runs in (10_000, 100_000))
    yield Row("read 100,000 | 10,000 runs, CPU", f"{many_s:.1f} s", f"{few_s:.1f} s", "tenfold at most")
    yield Row("read 100,000 | 10,000 runs, memory", f"{many_mib:.0f} MiB", f"{few_mib:.0f} MiB", "1 GB")


def _read(n_runs: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        shape = Shape(n_runs // _N_CASES, _N_CASES // 4)
        folder = write_campaign(Path(name, "campaign"), shape, has_evidence=False)
        return cpu_s_and_peak_mib([sys.executable, "-c", _READ, str(folder), str(n_runs)], must_succeed=True)
