"""Measure how long it takes to read, compare and report a campaign of a million measurements."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row, peak_mib, wall_s
from bench.synthetic import write_campaign

_FRAME = (
    "import sys, pathlib\n"
    "from tare.storage.campaign import read_campaign\n"
    "from tare.storage.frame import tidy\n"
    "assert tidy(read_campaign(pathlib.Path(sys.argv[1]))).height > 900_000"
)
_SHAPES = {
    "250 blocks of 40 cases": (250, 10),
    "500 blocks of 20 cases": (500, 5),
    "10 blocks of 1,000 cases": (10, 250),
}
"""Numbers of blocks and workloads, on four networks: 10,000 runs with 100 measurements each."""


def measure() -> Iterator[Row]:
    """Time each step from the command line, for campaigns with many repeats and with many cases."""
    for shape, (n_blocks, n_workloads) in _SHAPES.items():
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            folder = str(write_campaign(Path(name, "campaign"), n_blocks=n_blocks, n_workloads=n_workloads))
            steps = {
                "frame": ([sys.executable, "-c", _FRAME, folder], "under 2 s, 1 GB"),
                "tare compare": ([TARE, "compare", folder], "under 2 s, 1 GB"),
                "tare compare --all": ([TARE, "compare", "--all", "--json", folder], "1 GB"),
                "tare report": ([TARE, "report", folder], "under 5 s, 1 GB"),
            }
            for step, (command, goal) in steps.items():
                what = f"{step}, 1,000,000 measurements, {shape}"
                yield Row(what, f"{wall_s(command):.2f} s", f"{peak_mib(command):.0f} MiB", goal)
            size = Path(folder, "report", "index.html").stat().st_size
            yield Row("size of its page", f"{size / 1e6:.2f} MB", "", "under 5 MB")
