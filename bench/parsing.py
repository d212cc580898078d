"""Measure how fast `tare parse` reads logs, compared with a plain loop over their lines, and its memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.logs import LOGS, Log
from bench.real_logs import real_logs
from bench.rows import TARE, Row, cpu_s_and_peak_mib

N_BYTES = int(os.environ.get("TARE_BENCH_MB", "200")) * 1_000_000
_LOOP = "import sys\nfor line in open(sys.argv[1], encoding='utf-8', errors='replace'): pass"


def measure() -> Iterator[Row]:
    """Parse long logs of each tool: synthetic ones of several kinds, and repeated real output."""
    for name, log in LOGS.items():
        for kind, pieces in _KINDS.items():
            yield _row(f"{name}, {kind}", log.workload, pieces(log, N_BYTES // 10), pieces(log, N_BYTES))
    for name, log in real_logs():
        yield _row(f"{name}, real", log.workload, log.dense(N_BYTES // 10), log.dense(N_BYTES))


_KINDS = {"one run": Log.dense, "many runs": Log.runs, "rows alone": Log.rows, "95 % noise": Log.noisy}


def _row(what: str, workload: str, short: Iterable[str], long: Iterable[str]) -> Row:
    """Return the speed of parsing a long log, and its memory compared with that of a short log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        parse = [TARE, "parse", "--json", workload, str(log)]
        _write(log, short)
        _, short_mib = cpu_s_and_peak_mib(parse)
        _write(log, long)
        parse_s, long_mib = cpu_s_and_peak_mib(parse)
        loop_s, _ = cpu_s_and_peak_mib([sys.executable, "-c", _LOOP, str(log)])
        size_mb = log.stat().st_size / 1e6
    return Row(
        f"tare parse, {what} | loop",
        f"{size_mb / parse_s:.0f} MB/s",
        f"{size_mb / loop_s:.0f} MB/s",
        f"over 50 MB/s; took {long_mib:.0f} MiB, and {short_mib:.0f} of a tenth",
    )


def _write(path: Path, pieces: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
