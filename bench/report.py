"""Measure how long it takes to read, compare and report campaigns of many measurements, cases or runs."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row, cpu_s_and_peak_mib, peak_mib, wall_s
from bench.synthetic import Shape, write_campaign
from tare.report.charts.blocks import MOST_POINTS

_FRAME = (
    "import sys, pathlib\n"
    "from tare.storage.campaign import read_campaign\n"
    "from tare.storage.frame import tidy\n"
    "assert tidy(read_campaign(pathlib.Path(sys.argv[1]))).height > 900_000"
)
_MILLION = {
    "250 blocks of 40 cases": Shape(250, 10),
    "500 blocks of 20 cases": Shape(500, 5),
    "10 blocks of 1,000 cases": Shape(10, 250),
    "10 blocks of 1,000 cases of one workload": Shape(10, 1, n_levels=250),
}
"""10,000 runs with 100 measurements each."""

_GROWN = {
    "cases of one workload": (Shape(4, 1, 250, n_sizes=2), Shape(4, 1, 1000, n_sizes=2)),
    "cases of many workloads": (Shape(4, 250, n_sizes=2), Shape(4, 1000, n_sizes=2)),
    "blocks of 10 cases": (Shape(500, 1, 5, 2, n_sizes=1), Shape(2000, 1, 5, 2, n_sizes=1)),
}
"""A campaign, and one with four times as many of what is named."""


def measure() -> Iterator[Row]:
    """Time each step from the command line, for a million measurements, and how its report grows."""
    for shape in _MILLION:
        yield from _million(shape)
    for what in _GROWN:
        yield from _grown(what)
    yield from _many_runs()
    yield _block_chart()


@contextlib.contextmanager
def _campaign(shape: Shape, *, has_evidence: bool = True) -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        yield str(write_campaign(Path(name, "campaign"), shape, has_evidence=has_evidence))


def _million(what: str) -> Iterator[Row]:
    with _campaign(_MILLION[what]) as folder:
        steps = {
            "frame": ([sys.executable, "-c", _FRAME, folder], "under 2 s, 1 GB"),
            "tare compare": ([TARE, "compare", folder], "under 2 s, 1 GB"),
            "tare compare --all": ([TARE, "compare", "--all", "--json", folder], "1 GB"),
            "tare report": ([TARE, "report", folder], "under 5 s, 1 GB"),
        }
        for step, (command, goal) in steps.items():
            name = f"{step}, 1,000,000 measurements, {what}"
            yield Row(name, f"{wall_s(command):.2f} s", f"{peak_mib(command):.0f} MiB", goal)
        size = Path(folder, "report", "index.html").stat().st_size
        yield Row("size of its page", f"{size / 1e6:.2f} MB", "", "under 5 MB")


def _grown(what: str) -> Iterator[Row]:
    """Hold the CPU time and memory of a report against those of a campaign of a quarter of the size."""
    used = []
    for shape in _GROWN[what]:
        with _campaign(shape, has_evidence=False) as folder:
            used.append(cpu_s_and_peak_mib([TARE, "report", folder], must_succeed=True))
    (few_s, few_mib), (many_s, many_mib) = used
    name = f"tare report, four times as many {what}"
    yield Row(f"{name}, CPU", f"{many_s:.1f} s", f"{few_s:.1f} s", "fourfold at most")
    few, many = _GROWN[what]
    kib = (many_mib - few_mib) * 1024 / (many.n_runs - few.n_runs)
    yield Row(
        f"{name}, memory", f"{many_mib:.0f} MiB", f"{few_mib:.0f} MiB", f"{kib:.1f} KiB a run; under 10"
    )


def _many_runs() -> Iterator[Row]:
    """Compare and report 100,000 runs: 10 cases in 10,000 blocks, with 50 million averages of two of them."""
    with _campaign(Shape(10_000, 1, 5, 2, n_sizes=1), has_evidence=False) as folder:
        for step in ("compare", "report"):
            used_s, used_mib = cpu_s_and_peak_mib([TARE, step, folder], must_succeed=True)
            yield Row(
                f"tare {step}, 100,000 runs in 10,000 blocks",
                f"{used_s:.1f} s",
                f"{used_mib:.0f} MiB",
                "1 GB",
            )


def _block_chart() -> Row:
    """Count the points of a case in the chart of its blocks, of which there are thousands."""
    shape = _GROWN["blocks of 10 cases"][1]
    with _campaign(shape, has_evidence=False) as folder:
        cpu_s_and_peak_mib([TARE, "report", folder], must_succeed=True)
        rows = Path(folder, "report", "charts", "blocks.csv").read_text().splitlines()[1:]
    what = f"points of a case in its chart, of {shape.n_blocks:,} blocks"
    return Row(what, f"{len(rows) / shape.n_cases:.0f}", f"{shape.n_blocks}", f"{MOST_POINTS} at most")
