"""Parse amounts and rates as iperf 2 and 3 print them: ``12.7 GBytes``, ``10.9 Gbits/sec`` (units.c)."""

from __future__ import annotations

import re

from tare.plugins.workloads.common.rounded import rounded

RESULT = (
    r"(?P<amount>[0-9]{1,9}(?:\.[0-9]{1,3})?) (?P<scale>[KMGT]?)Bytes\s+"
    r"(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,3})?) (?P<unit>[KMGT]?(?:bits|Bytes))/sec"
)
"""A pattern for an amount and a rate; `least_bytes` and `gbit_per_s` convert its match."""

_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

_FAR = 1.5
_SHORTEST_S = 0.5
"""Shorter intervals are printed with too few digits for a check."""


def gbit_per_s(row: re.Match[str]) -> float | None:
    """Return the rate in 10⁹ bits per second; prefixes of bits are powers of 1000, those of bytes of 1024.

    None if it is printed as 0 because its unit is too large (-f T): `rounded_away` says so.
    """
    rate, unit = float(row["rate"]), row["unit"]
    if rate == 0 and unit[0] in _POWER and (row["scale"] or float(row["amount"])):
        return None
    if unit.endswith("bits"):
        return round(rate * 1000.0 ** (_POWER[unit[:-4]] - 3), 12)
    return rate * 1024.0 ** _POWER[unit[:-5]] * 8 / 1e9


def least_bytes(row: re.Match[str]) -> int:
    """Return the smallest number of bytes that iperf would print as this amount (it rounds)."""
    amount = row["amount"]
    decimals = len(amount.partition(".")[2])
    return max(int((float(amount) - 0.51 * 10.0**-decimals) * 1024 ** _POWER[row["scale"]]), 0)


def contradiction(row: re.Match[str]) -> str:
    """Return the fault of a row whose rate is far from its amount / its time; empty if it is not.

    They need not agree closely: the times of the two ends differ, and iperf 3 prints that of one for both.
    """
    time_s = float(row["end"]) - float(row["start"])
    rate, amount = gbit_per_s(row), rounded(row["amount"])
    if not rate or amount is None or time_s < _SHORTEST_S:
        return ""
    gbits = amount.scaled(1024.0 ** _POWER[row["scale"]] * 8e-9)
    step = 0.51 * 10.0 ** -len(row["rate"].partition(".")[2]) / float(row["rate"])
    if gbits.least / time_s / _FAR <= rate * (1 + step) and rate * (1 - step) <= gbits.most / time_s * _FAR:
        return ""
    return f"a row is broken: its rate is not its amount in its time: {row[0].strip()[:120]}"


def rounded_away(row: re.Match[str]) -> str:
    """Return the fault of a row whose rate is lost to rounding."""
    printed = f"{row['rate']} {row['unit']}/sec"
    return f"the rate is printed as {printed}, since the unit is too large for it; use -f m"


def loss_percent(lost: str, total: str, printed: str) -> float:
    """Return the share of lost datagrams in percent; `printed` is that share with two digits."""
    share = 100 * int(lost) / int(total) if int(total) else 0.0
    return share if f"{share:.2g}" == f"{float(printed):.2g}" else float(printed)
