"""Measure how fast `tare parse` reads logs, compared with a plain loop over their lines, and its memory.

The speed is that of each further byte, without the time to start: a log and a tenth of it are parsed in turn,
and the median of the differences counts. A parser keeps no more figures of one output than any run prints,
and only counts the lines after that. So a log that is made of figures is as long as its parser reads, and a
short log is named several times in one call. Where a log is little else than figures, what each of them takes
is shown.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.logs import LOGS, Log
from bench.real_logs import real_logs
from bench.rows import TARE, Row, cpu_s_and_peak_mib, wall_s
from bench.startup import ms
from tare.core.workload import Parsed
from tare.plugins import registry

N_BYTES = int(os.environ.get("TARE_BENCH_MB", "200")) * 1_000_000
_LEAST_BYTES = 5_000_000
"""What one call reads at least; short logs are named several times."""
_N_PAIRS = 5
"""How many times a log and its tenth are parsed; logs of more than _LONG_BYTES vary less."""
_N_LONG_PAIRS, _LONG_BYTES = 3, 50_000_000
_DENSE_BYTES = 100
"""A log with a figure in fewer bytes takes the time of its figures rather than that of its text."""
_LOOP = (
    "import sys\nfor name in sys.argv[1:]:\n for line in open(name, encoding='utf-8', errors='replace'): pass"
)
_Pieces = Callable[[int], Iterator[str]]


def measure() -> Iterator[Row]:
    """Parse long logs of each tool: synthetic ones of several kinds, and repeated real output."""
    yield _start()
    for name, log in LOGS.items():
        for kind, pieces in _kinds(log).items():
            yield _row(f"{name}, {kind}", log.workload, pieces)
    yield _row("osu, longer than any run prints", "osu.latency", LOGS["osu"].dense, is_whole=False)
    for name, log in real_logs():
        yield _row(f"{name}, real", log.workload, log.dense)


def _start() -> Row:
    """Return how long `tare parse` takes for an output of one run, which is nearly all start."""
    log = LOGS["osu"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        _write(path, log.dense(1))
        python = wall_s([sys.executable, "-c", "import json"], repeats=15)
        parse = wall_s([TARE, "parse", "--json", log.workload, str(path)], repeats=15)
    return Row("tare parse, one table of osu | python -c 'import json'", ms(parse), ms(python), "")


def _kinds(log: Log) -> dict[str, _Pieces]:
    return {"one run": log.dense, "many runs": log.runs, "rows alone": log.rows, "95 % noise": log.noisy}


def _row(what: str, workload: str, pieces: _Pieces, *, is_whole: bool = True) -> Row:
    """Return the speed of parsing a log without the time to start, and its memory against a tenth of it.

    The log is as long as its parser reads, or else N_BYTES long: then the parser counts most of its lines.
    """
    n_bytes = n_read_whole(workload, pieces) if is_whole else N_BYTES
    n_figures = len(_parsed(workload, pieces(n_bytes)).measurements)
    n_figures -= len(_parsed(workload, pieces(n_bytes // 10)).measurements)
    with tempfile.TemporaryDirectory() as folder:
        log, tenth = Path(folder, "log"), Path(folder, "tenth")
        _write(log, pieces(n_bytes))
        _write(tenth, pieces(n_bytes // 10))
        n_times = -(-_LEAST_BYTES // log.stat().st_size)
        parse = [TARE, "parse", "--json", workload]
        (_, long_mib), (_, short_mib) = (cpu_s_and_peak_mib([*parse, str(path)]) for path in (log, tenth))
        parse_s = _difference_s(parse, log, tenth, n_times)
        loop_s = _difference_s([sys.executable, "-c", _LOOP], log, tenth, n_times)
        more_mb = n_times * (log.stat().st_size - tenth.stat().st_size) / 1e6
        size_mb = log.stat().st_size / 1e6
    is_dense = n_times * n_figures * _DENSE_BYTES > more_mb * 1e6
    figure = f"{parse_s / (n_times * n_figures) * 1e6:.1f} µs a figure; " if is_dense else ""
    return Row(
        f"tare parse, {what} | loop",
        f"{more_mb / parse_s:.0f} MB/s",
        f"{more_mb / loop_s:.0f} MB/s",
        f"over 50 MB/s; {figure}{size_mb:.1f} MB took {long_mib:.0f} MiB, and {short_mib:.0f} of a tenth",
    )


def _difference_s(command: list[str], log: Path, tenth: Path, n_times: int) -> float:
    """Return the median CPU time that `n_times` the log takes more than `n_times` its tenth, in seconds."""
    n_pairs = _N_PAIRS if log.stat().st_size < _LONG_BYTES else _N_LONG_PAIRS
    pairs = [
        [cpu_s_and_peak_mib([*command, *[str(path)] * n_times])[0] for path in (log, tenth)]
        for _ in range(n_pairs)
    ]
    return statistics.median(whole - part for whole, part in pairs)


def n_read_whole(workload: str, pieces: _Pieces) -> int:
    """Return the size of the longest log, halved from N_BYTES, of which the parser reads every line."""
    n_bytes = N_BYTES
    while n_bytes > 1 and not is_read_whole(workload, pieces(n_bytes)):
        n_bytes //= 2
    return n_bytes


def is_read_whole(workload: str, pieces: Iterator[str]) -> bool:
    """Return whether the parser reads every line of a log."""
    return not any("more than any run prints" in one for one in _parsed(workload, pieces).problems)


def _parsed(workload: str, pieces: Iterator[str]) -> Parsed:
    lines = (line for piece in pieces for line in piece.splitlines(keepends=True))
    return registry.workloads()[workload].parse(lines)


def _write(path: Path, pieces: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
