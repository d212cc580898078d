"""Measure how fast `tare parse` reads logs, compared with a plain loop over their lines, and its memory.

A parser keeps no more figures of one output than any run prints, and only counts the lines after that. So a
log that is made of figures is as long as its parser reads, and is parsed many times in one call.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.logs import LOGS, Log
from bench.real_logs import real_logs
from bench.rows import TARE, Row, cpu_s_and_peak_mib
from tare.plugins import registry

N_BYTES = int(os.environ.get("TARE_BENCH_MB", "200")) * 1_000_000
_LEAST_BYTES = 20_000_000
"""What one call reads at least; short logs are named several times."""
_LOOP = (
    "import sys\nfor name in sys.argv[1:]:\n for line in open(name, encoding='utf-8', errors='replace'): pass"
)
_Pieces = Callable[[int], Iterator[str]]


def measure() -> Iterator[Row]:
    """Parse long logs of each tool: synthetic ones of several kinds, and repeated real output."""
    for name, log in LOGS.items():
        for kind, pieces in _kinds(log).items():
            yield _row(f"{name}, {kind}", log.workload, pieces)
    yield _row("osu, longer than any run prints", "osu.latency", LOGS["osu"].dense, is_whole=False)
    for name, log in real_logs():
        yield _row(f"{name}, real", log.workload, log.dense)


def _kinds(log: Log) -> dict[str, _Pieces]:
    return {"one run": log.dense, "many runs": log.runs, "rows alone": log.rows, "95 % noise": log.noisy}


def _row(what: str, workload: str, pieces: _Pieces, *, is_whole: bool = True) -> Row:
    """Return the speed of parsing a log without the time to start, and its memory against a tenth of it.

    The log is as long as its parser reads, or else N_BYTES long: then the parser counts most of its lines.
    """
    n_bytes = n_read_whole(workload, pieces) if is_whole else N_BYTES
    with tempfile.TemporaryDirectory() as folder:
        log, tenth = Path(folder, "log"), Path(folder, "tenth")
        _write(log, pieces(n_bytes))
        _write(tenth, pieces(n_bytes // 10))
        n_times = max(1, _LEAST_BYTES // log.stat().st_size)
        parse = [TARE, "parse", "--json", workload]
        _, long_mib = cpu_s_and_peak_mib([*parse, str(log)])
        short_s, short_mib = cpu_s_and_peak_mib([*parse, str(tenth)])
        parse_s, _ = cpu_s_and_peak_mib([*parse, *[str(log)] * n_times, str(tenth)])
        loop_s, _ = cpu_s_and_peak_mib([sys.executable, "-c", _LOOP, *[str(log)] * n_times])
        size_mb = n_times * log.stat().st_size / 1e6
    return Row(
        f"tare parse, {what} | loop",
        f"{size_mb / (parse_s - short_s):.0f} MB/s",
        f"{size_mb / loop_s:.0f} MB/s",
        f"over 50 MB/s; {size_mb / n_times:.1f} MB took {long_mib:.0f} MiB, and {short_mib:.0f} of a tenth",
    )


def n_read_whole(workload: str, pieces: _Pieces) -> int:
    """Return the size of the longest log, halved from N_BYTES, of which the parser reads every line."""
    n_bytes = N_BYTES
    while n_bytes > 1 and not is_read_whole(workload, pieces(n_bytes)):
        n_bytes //= 2
    return n_bytes


def is_read_whole(workload: str, pieces: Iterator[str]) -> bool:
    """Return whether the parser reads every line of a log."""
    lines = (line for piece in pieces for line in piece.splitlines(keepends=True))
    parsed = registry.workloads()[workload].parse(lines)
    return not any("more than any run prints" in one for one in parsed.problems)


def _write(path: Path, pieces: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
