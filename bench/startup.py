"""Measure how fast the `tare` command starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.rows import TARE, Row, wall_s


def measure() -> Iterator[Row]:
    """Compare `tare --version` with the start of Python alone, and time `tare --help`."""
    python = wall_s([sys.executable, "-c", "import json"], repeats=15)
    version = wall_s([TARE, "--version"], repeats=15)
    helped = wall_s([TARE, "--help"], repeats=15)
    limit = 1.5 * python + 0.040
    yield Row("tare --version | python -c 'import json'", ms(version), ms(python), f"under {ms(limit)}")
    yield Row("tare --help", ms(helped), "", "under 250 ms")


def ms(seconds: float) -> str:
    """Return seconds as milliseconds, with the unit."""
    return f"{seconds * 1e3:.1f} ms"
