"""Measure how fast a study with 100,000 cases is planned, and in how much memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row, peak_mib, wall_s

_STUDY = """\
study: large
workloads:
  echo:
    command: [echo, "{a} {b} {c}"]
    parameters: {a: 0, b: 0, c: 0}
    foms: [{name: value, unit: s, better: lower, regex: '(\\S+)'}]
factors:
  workload: [echo]
  a: [%s]
  b: [%s]
  c: [%s]
repeats: 3
"""


def measure() -> Iterator[Row]:
    """Plan 100,000 cases, with a table and with JSON as output."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder, "study.yaml")
        study.write_text(_STUDY % tuple(", ".join(map(str, range(n))) for n in (100, 100, 10)))
        for name, command in (
            ("tare plan, 100,000 cases", [TARE, "plan", str(study)]),
            ("tare plan --json, 100,000 cases", [TARE, "plan", "--json", str(study)]),
        ):
            yield Row(name, f"{wall_s(command, repeats=3):.2f} s", "", "under 2 s")
            yield Row(f"{name}, peak memory", f"{peak_mib(command):.0f} MiB", "", "under 300 MB")
