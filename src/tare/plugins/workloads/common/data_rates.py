"""Parse amounts and rates as iperf 2 and 3 print them: ``12.7 GBytes``, ``10.9 Gbits/sec`` (units.c)."""

from __future__ import annotations

import re

RESULT = (
    r"(?P<amount>[0-9]{1,9}(?:\.[0-9]{1,3})?) (?P<scale>[KMGT]?)Bytes\s+"
    r"(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,3})?) (?P<unit>[KMGT]?(?:bits|Bytes))/sec"
)
"""A pattern for an amount and a rate; `least_bytes` and `gbit_per_s` convert its match."""

_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def gbit_per_s(row: re.Match[str]) -> float:
    """Return the rate in 10⁹ bits per second; prefixes of bits are powers of 1000, those of bytes of 1024."""
    rate, unit = float(row["rate"]), row["unit"]
    if unit.endswith("bits"):
        return round(rate * 1000.0 ** (_POWER[unit[:-4]] - 3), 12)
    return rate * 1024.0 ** _POWER[unit[:-5]] * 8 / 1e9


def least_bytes(row: re.Match[str]) -> int:
    """Return the smallest number of bytes that iperf would print as this amount (it rounds)."""
    amount = row["amount"]
    decimals = len(amount.partition(".")[2])
    return max(int((float(amount) - 0.51 * 10.0**-decimals) * 1024 ** _POWER[row["scale"]]), 0)
