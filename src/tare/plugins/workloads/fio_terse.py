"""Read fio's terse output (--minimal), versions 3 to 5: one row per job, with fields separated by semicolons.

A row has a head, the same fields for reads, writes and (from version 4 on) trims, and then processor use,
depths, latencies and disks (stat.c: show_thread_status_terse_all; HOWTO: terse output). It does not print the
pattern. Percentiles are in whole microseconds, cut off, so that a percentile of 0 is one below 1 µs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.common.text import figure
from tare.plugins.workloads.fio_results import UNTIMED, Job, percentile

_HEAD = re.compile(r"[0-9];fio-[^;]+;")
_OLD_HEAD = re.compile(r"2;[^;]*;[0-9]+;[0-9]+;(?:[^;]*;){100}")
_N_HEAD = 5
_N_REST = 5 + 7 + 22
"""Fields for processor use, depths and latencies; fields for disks and a remark may follow."""
_N_FIELDS = {3: 41, 4: 41, 5: 47}
"""How many fields each operation has, by version of the format."""
_OPERATIONS = {3: ("read", "write"), 4: ("read", "write", "trim"), 5: ("read", "write", "trim")}
_LATENCY = 10
_FIGURES: Mapping[int, str] = {1: "bandwidth", 2: "iops", _LATENCY: "latency"}
"""The index of each figure among the fields of an operation: KiB/s, operations per second, microseconds."""
_RUNTIME = 3
"""The index of the run time in milliseconds among the fields of an operation."""
_PERCENTILES = slice(12, 32)


class TerseReader:
    """Reads the rows in a log, one job each; `faults` lists which rows could not be read."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.jobs: list[Job] = []
        self.faults: dict[str, None] = {}

    def read(self, line: str) -> None:
        """Read a line that begins with a digit."""
        if _HEAD.match(line):
            self._read_row(int(line[0]), line.split(";"))
        elif line.startswith("2;") and _OLD_HEAD.match(line):
            self.faults.setdefault(
                "this is version 2 of fio's terse output, which is not read; use --output-format=json"
            )

    def _read_row(self, version: int, fields: list[str]) -> None:
        if version not in _N_FIELDS:
            self.faults.setdefault(
                f"version {version} of fio's terse output is not known; use --output-format=json"
            )
            return
        width, operations = _N_FIELDS[version], _OPERATIONS[version]
        head = fields[3:_N_HEAD]
        if len(fields) < _N_HEAD + len(operations) * width + _N_REST or not all(map(str.isdecimal, head)):
            self.faults.setdefault(
                "a row of fio's terse output is broken, or is one of unified_rw_reporting=1, which has fewer "
                "fields; use --output-format=json"
            )
            return
        job = Job(fields[2], group=int(head[0]), error=int(head[1]))
        job.facts = {"program_version": fields[1].removeprefix("fio-")}
        for number, operation in enumerate(operations):
            start = _N_HEAD + number * width
            found = dict(_figures(fields[start : start + width]))
            if fields[start] != "0":
                job.figures[operation] = found
                if figure(fields[start + _LATENCY]) == 0:
                    job.left_out[operation] = UNTIMED
                job.runtime_ms = max(job.runtime_ms, figure(fields[start + _RUNTIME]) or 0.0)
        if any(_is_snapshot(one, job) for one in self.jobs):
            self.faults.setdefault(
                f"fio's terse output has several rows of job {job.name} of different lengths: if they are "
                "snapshots (--status-interval), use --output-format=json, which distinguishes them"
            )
        self.jobs.append(job)
        self._findings.begin()
        self._findings.keep(job.n_figures)


def _is_snapshot(one: Job, other: Job) -> bool:
    """Return whether `one` may be an earlier state of `other`: copies of one job have similar run times."""
    return (one.name, one.group) == (other.name, other.group) and other.runtime_ms > 1.2 * one.runtime_ms > 0


def _figures(fields: list[str]) -> Iterator[tuple[str, float]]:
    if figure(fields[_LATENCY]) == 0:  # fio measured none (gtod_reduce, disable_clat)
        fields = [*fields[:_LATENCY], *[""] * (len(fields) - _LATENCY)]
    for column, fom in _FIGURES.items():
        if (value := figure(fields[column])) is not None:
            yield fom, value
    for field in fields[_PERCENTILES]:
        rank, _, microseconds = field.partition("%=")
        if (name := percentile(rank)) and (value := figure(microseconds)):
            yield name, value
