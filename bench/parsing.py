"""How fast logs are read, beside a bare loop over their lines, and in how much memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.logs import LOGS
from bench.rows import TARE, Row, cpu_s_and_peak_mib

N_BYTES = int(os.environ.get("TARE_BENCH_MB", "200")) * 1_000_000
_LOOP = "import sys\nfor line in open(sys.argv[1], encoding='utf-8', errors='replace'): pass"


def measure() -> Iterator[Row]:
    """Read a long log of each tool: its own lines alone, and hidden among those of other programs."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        for name, parts in LOGS.items():
            for kind, pieces in (("dense", parts.dense(N_BYTES)), ("95 % noise", parts.noisy(N_BYTES))):
                _write(log, pieces)
                yield _row(f"tare parse, {name}, {kind} | loop", parts.workload, log)


def _write(path: Path, pieces: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)


def _row(what: str, workload: str, log: Path) -> Row:
    size_mb = log.stat().st_size / 1e6
    loop_s, _ = cpu_s_and_peak_mib([sys.executable, "-c", _LOOP, str(log)])
    parse_s, peak = cpu_s_and_peak_mib([TARE, "parse", "--json", workload, str(log)])
    return Row(
        what,
        f"{size_mb / parse_s:.0f} MB/s",
        f"{size_mb / loop_s:.0f} MB/s",
        f"over 50 MB/s; took {peak:.0f} MiB",
    )
