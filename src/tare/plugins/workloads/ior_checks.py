"""Check a table of IOR: whether its heads are whole, and its summary that of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tare.plugins.workloads.common.heads import Unknown, unknown_heads
from tare.plugins.workloads.common.text import figure

ROW_COLUMNS = {
    "bw(MiB/s)": "row_bandwidth",
    "IOPS": "row_iops",
    "Latency(s)": "latency",
    "open(s)": "open_time",
    "wr/rd(s)": "access_time",
    "close(s)": "close_time",
    "total(s)": "total_time",
}
"""The figure of merit for each column of a row."""

SUMMARY_COLUMNS = {
    "Max(MiB)": "bandwidth_max",
    "Min(MiB)": "bandwidth_min",
    "Mean(MiB)": "bandwidth",
    "Mean(OPs)": "iops",
}
"""The figure of merit for each column of a summary."""

_OTHERS = frozenset(
    {
        *("access", "block(KiB)", "xfer(KiB)", "iter", "Operation", "StdDev", "Max(OPs)", "Min(OPs)"),
        *("Mean(s)", "Stonewall(s)", "Stonewall(MiB)", "Test#", "#Tasks", "tPN", "reps", "fPP", "reord"),
        *("reordoff", "reordrand", "seed", "segcnt", "blksiz", "xsize", "aggs(MiB)", "aggsize", "API"),
        "RefNum",
    }
)
_LAST = {"access": "iter", "Operation": "Mean(s)"}
"""By the first head of a table: one at its right end, or to the right of all figures."""
_COARSE, _FINE = 3600, 1
"""Rows have whole numbers from 3600 on, and 2 decimals from 1 on (ior-output.c: PPDouble)."""


def is_cut(columns: Sequence[str]) -> bool:
    """Return whether heads lack their right end, as those that a terminal or a log wrapped."""
    return bool(columns) and _LAST.get(columns[0], columns[0]) not in columns


def unknown_columns(columns: Sequence[str]) -> Iterator[Unknown]:
    """Yield the heads that IOR is not known to print."""
    return unknown_heads(columns, {**ROW_COLUMNS, **SUMMARY_COLUMNS}, _OTHERS)


def is_sorted(summary: Mapping[str, str]) -> bool:
    """Return whether the least, mean and largest rates in a summary grow."""
    for unit in ("MiB", "OPs"):
        words = [summary.get(f"{name}({unit})", "") for name in ("Min", "Mean", "Max")]
        rates = [value for value in map(figure, words) if value is not None and not math.isnan(value)]
        if rates != sorted(rates):
            return False
    return True


def contradiction(rows: Sequence[Mapping[str, float]], summary: Mapping[str, float]) -> str:
    """Return in words how a summary is not that of all `rows` of its test; empty if it is."""
    rates = [row["row_bandwidth"] for row in rows if "row_bandwidth" in row]
    for name, fom, found in (("least", "bandwidth_min", min), ("largest", "bandwidth_max", max)):
        printed = summary.get(fom)
        if printed is not None and len(rates) == len(rows) > 0 and not _are_one(found(rates), printed):
            return f"its {name} bandwidth is {printed}, and that of its rows {found(rates)}"
    return ""


def _are_one(row: float, summary: float) -> bool:
    """Return whether the numbers in a row and in a summary, which has two decimals, may be the same."""
    half = 0.5 if max(row, summary) >= _COARSE - _FINE else 0.005
    return abs(row - summary) <= half + 0.005 + 1e-6 * summary
