"""Real output of each tool, to be repeated into long logs; the collection is not in the repository."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.logs import Log
from tare.core.workload import Workload
from tare.plugins import registry

_COLLECTION = Path(os.environ.get("TARE_BENCH_OUTPUT", Path(__file__).parents[2] / "shared" / "corpus"))
"""A folder with output files, and an INDEX.tsv with the columns `tool` and `file`."""


def real_logs() -> Iterator[tuple[str, Log]]:
    """Yield the outputs of each tool with the most and the fewest figures per character.

    If there is no collection, nothing is yielded.
    """
    index = _COLLECTION / "INDEX.tsv"
    if not index.is_file():
        return
    found: dict[str, list[tuple[float, str, str]]] = {}
    workloads = registry.workloads()
    for row in csv.DictReader(io.StringIO(index.read_text(encoding="utf-8")), delimiter="\t"):
        name, n_figures = _best(workloads, row["tool"], _text(row["file"]))
        if n_figures:
            density = len(_text(row["file"])) / n_figures
            found.setdefault(row["tool"], []).append((density, row["file"], name))
    for files in found.values():
        for _, file, workload in {min(files), max(files)}:
            yield file, Log(workload, _text(file).rstrip("\n") + "\n")


def _text(file: str) -> str:
    return (_COLLECTION / file).read_text(encoding="utf-8", errors="replace")


def _best(workloads: Mapping[str, Workload], tool: str, text: str) -> tuple[str, int]:
    """Return the tool's workload that finds the most figures in `text`, and their number."""
    counts = {
        name: len(workload.parse(io.StringIO(text)).measurements)
        for name, workload in workloads.items()
        if name.split(".")[0] == tool
    }
    return max(counts.items(), key=lambda one: one[1], default=("", 0))
