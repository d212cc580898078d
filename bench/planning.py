"""Measure the CPU time and the memory in which a study with 100,000 cases is planned, and their growth."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.rows import TARE, Row, cpu_s_and_peak_mib

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
_COMPARED = f"{_STUDY}reference: {{a: 0}}\n"
_DERIVED = f"""\
{_STUDY.replace("command:", "mpi: true" + chr(10) + "    command:")}
site: lab
network: host
ranks: 4
reference: {{nodes: 1}}
""".replace("workload: [echo]\n  a", "workload: [echo]\n  nodes: [1, 2]\n  a")
"""Cases differ from their reference in a setting that is derived, too: in their ranks per node."""


def measure() -> Iterator[Row]:
    """Plan 10,000 and 100,000 cases: alone, as JSON, and with references that are near or equal."""
    for kind, study, options in (
        ("", _STUDY, []),
        (" --json", _STUDY, ["--json"]),
        (", compared", _COMPARED, []),
        (", derived", _DERIVED, []),
    ):
        n_levels = 2 if study is _DERIVED else 1
        (few_s, _), (many_s, peak) = (_planned(study, n // n_levels, options) for n in (10, 100))
        name = f"tare plan{kind}, 100,000 | 10,000 cases, CPU"
        yield Row(name, f"{many_s:.2f} s", f"{few_s:.2f} s", "under 2 s")
        yield Row(f"tare plan{kind}, peak memory", f"{peak:.0f} MiB", "", "under 300 MB")


def _planned(study: str, n: int, options: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the peak MiB of planning 1,000 × `n` cases."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "study.yaml")
        path.write_text(study % tuple(", ".join(map(str, range(size))) for size in (n, 100, 10)))
        return cpu_s_and_peak_mib([TARE, "plan", *options, str(path)], must_succeed=True)
