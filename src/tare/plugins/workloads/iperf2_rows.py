"""One row of iperf 2: what was moved in an interval, as text (ReportOutputs.c) or as CSV (-y C)."""

from __future__ import annotations

import re
from typing import NamedTuple

from tare.plugins.workloads.common.data_rates import (
    RESULT,
    contradiction,
    gbit_per_s,
    least_bytes,
    loss_percent,
    rounded_away,
)

TEXT_ROW = re.compile(
    r"\[ *\*?(?P<id>[0-9]{1,5}|SUM(?:-[0-9]{1,5})?)\]\s+"
    r"(?P<start>[0-9]{1,9}\.[0-9]{1,4})- *(?P<end>[0-9]{1,9}\.[0-9]{1,4}) sec\s+" + RESULT + r"(?=\s|$)"
    r"(?:\s+(?P<jitter>[0-9]{1,9}\.[0-9]{3}) ms\s+"
    r"(?P<lost>[0-9]{1,15})/ *(?P<total>[0-9]{1,15}) \((?P<loss>[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)%\))?"
)
CSV_ROW = re.compile(
    r"(?:[+-][0-9]{4}:)?(?P<time>[0-9]{14})(?:\.[0-9]+)?,(?P<near>[^,]*,[^,]*),(?P<far>[^,]*,[^,]*),"
    r"(?P<id>-?[0-9]{1,5}),(?P<start>[0-9]{1,9}\.[0-9]+)-(?P<end>[0-9]{1,9}\.[0-9]+),"
    r"(?P<bytes>[0-9]{1,18}),(?P<rate>[0-9]{1,18})"
    r"(?:,(?P<jitter>[0-9]{1,9}\.[0-9]+),(?P<lost>-?[0-9]{1,15}),(?P<total>-?[0-9]{1,15}),"
    r"(?P<loss>-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?),-?[0-9]+)?(?=[\s,]|$)"
)


class IntervalRow(NamedTuple):
    """One row: the data moved from `start_s` to `end_s`, and for UDP the jitter and loss of datagrams.

    `gbit_per_s` is None where the unit is too large for the rate; then `fault` says so. A row that
    `is_uneven` ends at no multiple of 5 ms, iperf's shortest interval (-i), so it is not the first of many.
    """

    start_s: float
    end_s: float
    gbit_per_s: float | None
    least_bytes: int
    jitter_ms: float | None = None
    lost: int | None = None
    loss: float | None = None
    fault: str = ""
    is_uneven: bool = False


def row_of(line: str) -> IntervalRow | None:
    """Return the row in a line of text or CSV, or None if the line is not a row."""
    fault = ""
    if match := TEXT_ROW.match(line):
        rate, amount = gbit_per_s(match), least_bytes(match)
        fault = rounded_away(match) if rate is None else contradiction(match)
    elif match := CSV_ROW.match(line):
        rate, amount = float(match["rate"]) / 1e9, int(match["bytes"])
        fault = _broken_rate(match)
    else:
        return None
    row = IntervalRow(
        float(match["start"]),
        float(match["end"]),
        rate,
        amount,
        fault=fault,
        is_uneven=_is_uneven(match["end"]),
    )
    if match["jitter"] is None or match["lost"][0] == "-" or match["total"][0] == "-":  # not known
        return row
    is_text = match.re is TEXT_ROW  # with two digits; CSV has more
    loss = loss_percent(match["lost"], match["total"], match["loss"]) if is_text else float(match["loss"])
    return row._replace(jitter_ms=float(match["jitter"]), lost=int(match["lost"]), loss=loss)


_SHORTEST = 50
"""The shortest interval, 5 ms, in the last of four decimals of a second."""


def _is_uneven(end_s: str) -> bool:
    """Return whether a time is no multiple of the shortest interval; it needs four decimals to show that."""
    _, _, decimals = end_s.partition(".")
    return len(decimals) == 4 and int(decimals) % _SHORTEST != 0


def _broken_rate(row: re.Match[str]) -> str:
    """Return the fault of a row of CSV whose rate is not that of its bytes and its time; empty if it is."""
    rate, time_s = float(row["rate"]), float(row["end"]) - float(row["start"])
    step = 10.0 ** -len(row["end"].partition(".")[2])
    least, most = (8 * float(row["bytes"]) / max(time_s + error, 1e-6) for error in (step, -step))
    if least * 0.99 - 1 <= rate <= most * 1.01 + 1:
        return ""
    told = f"{row['rate']} bits a second are not the rate of its bytes and its time"
    return f"a row is broken: {told}: {row[0][:120]}"
