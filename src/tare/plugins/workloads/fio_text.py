"""Read fio's text output (stat.c) of versions 2 and 3, in which fio chooses a unit for each latency."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from tare.core.values import Scalar
from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.fio_facts import line_facts
from tare.plugins.workloads.fio_results import (
    MOST_OF_AN_OPERATION,
    Job,
    lacks_percentiles,
    number,
    percentile,
)

_JOB = re.compile(
    r"(?:<\S+> )?(.*): \(groupid=([0-9]+), jobs=([0-9]{1,9})\): err=\s*([0-9]+)\b.*: pid=([0-9]*)"
)
_DIRECTION = re.compile(r"\s+(read|write|trim|mixed)\s*: ")
_RATES = re.compile(
    r"IOPS=([0-9.]+)([kKMG]?), BW=([0-9.]+)([kKMGT]?i?(?:B|bit))/s (?:\(([0-9.]+)([kKMGT]?i?(?:B|bit))/s\))?"
)
_OLD_RATES = re.compile(r"bw=([0-9.]+)([KMGT]?B)/s, iops=([0-9.]+)([kKMG]?) ?, ?runt=")
_RUNTIME = re.compile(r"(?:/|runt= *)([0-9]{1,12})msec")
_ISSUED = re.compile(r"\s+issued\b[^:]*: total=([rwd=/,0-9]+)")
"""How many reads, writes and trims the job made."""
_LATENCY = re.compile(r"\s+clat \(([num]?sec)\)\s*: min=.*? avg=\s*([0-9.]+)([KMG]?), stdev=")
_PERCENTILE_HEAD = re.compile(r"\s+(\w+) percentiles \(([num]?sec)\):")
_PERCENTILE = re.compile(r"([0-9.]+)th=\[\s*([0-9]+)([KMG]?)\]")
_SHARES = re.compile(r"\s+lat \([num]?sec\)\s*: [0-9>]")
"""The distribution of latencies, which fio prints only if it also measured completion latencies."""
_STATUS = re.compile(r"Run status group ([0-9]+) \(")
_STATUS_ROW = re.compile(r"\s+(READ|WRITE|TRIM|MIXED): (?:bw|io)=\S+ .*(?:run|maxt)=\S*sec")
_LONGEST = 10_000
_MICROSECONDS = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3, "sec": 1e6}
_THOUSANDS = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_KIBIBYTES = {
    "B": 1 / 1024,
    "kB": 1000 / 1024,
    "KiB": 1.0,
    "MB": 1e6 / 1024,
    "MiB": 1024.0,
    "GB": 1e9 / 1024,
    "GiB": 1024.0**2,
    "TB": 1e12 / 1024,
    "TiB": 1024.0**3,
}
_KIBIBYTES |= {f"{unit[:-1]}bit": factor / 8 for unit, factor in _KIBIBYTES.items()}
"""Bits are the units of rates with unit_base=1."""
_OLD_KIBIBYTES = {"B": 1 / 1024, "KB": 1.0, "MB": 1024.0, "GB": 1024.0**2, "TB": 1024.0**3}
"""Up to 2.x, KB means 1024 bytes (HOWTO: kb_base)."""


_LACKS_LATENCIES = "fio's text lacks lines of latencies, which its other lines show to be missing"


class TextReader:
    """Reads the jobs in a log, run by run, and the closing status of each group with its operations."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._runs: list[dict[tuple[str, ...], Job]] = []
        """The jobs of each run, by their processes."""
        self._n_jobs = 0
        self._last: Job | None = None
        self._statuses: list[dict[int, set[str]]] = []
        self._groups: list[set[int]] = []
        """The groups of jobs that the lines before each run announce."""
        self._status: set[str] | None = None
        self._figures: dict[str, float] | None = None
        self._iops: dict[str, tuple[str, float, float]] = {}
        """The operations per second of the last job as printed, with their unit and the run time in ms."""
        self._percentile_unit: float | None = None
        self._last_percentile = 0.0
        self._has_percentile_head = True
        """Whether a head stands above the percentiles of the last operation, of whatever kind."""
        self._ranks: list[list[str]] = []
        """The percentiles of each operation, in the order of the log."""
        self._version = ""
        self._lacks_latency = self._lacks_percentile_head = self._lacks_issued = False
        self._is_issued_due = self._is_mixed_up = False
        self._asked: dict[tuple[str, int], dict[str, Scalar]] = {}
        self._announced: dict[tuple[str, int], dict[str, Scalar]] = {}
        """Settings of the jobs of the next run, by name and group; `_asked` has those of the current run."""

    @property
    def runs(self) -> list[list[Job]]:
        """The jobs of each run, in their order."""
        return [list(jobs.values()) for jobs in self._runs]

    def read(self, line: str) -> None:
        """Read one line; no line of fio's text is as long as those that are left out."""
        if len(line) > _LONGEST:
            return
        if line.startswith("fio-"):
            self._begin(line.removeprefix("fio-"))
        elif "rw=" in line and (announced := line_facts(line)):
            self._announced[announced[0]] = announced[1]
        elif "(groupid=" in line and (match := _JOB.match(line)):
            if not self._runs:
                self._begin()
            name, group = match[1], int(match[2])
            job = Job(name, group, int(match[4]), pid=match[5], copies=int(match[3]))
            job.facts = self._asked.get((name, group), {}) | self._version_fact
            # An earlier job of the same process is a snapshot (--status-interval); the last is the result.
            jobs = self._runs[-1]
            self._n_jobs += 1
            process = (job.pid, name, match[2]) if job.pid else (str(self._n_jobs),)
            if jobs.pop(process, None):
                self._statuses[-1].pop(group, None)
            self._last = jobs[process] = job
            self._lacks_issued |= self._is_issued_due
            self._is_issued_due = False
            self._findings.begin()
            self._figures = None
            self._iops = {}
        elif line.startswith("Run status group") and self._runs and (match := _STATUS.match(line)):
            self._status = self._statuses[-1].setdefault(int(match[1]), set())
            self._last = self._figures = None
            self._findings.begin()
        elif line.startswith(" ") and self._runs:
            self._read_row(line)

    def _begin(self, version: str = "") -> None:
        self._version = version
        self._runs.append({})
        self._last = None
        self._statuses.append({})
        self._findings.begin()
        self._asked, self._announced = self._announced, {}
        self._groups.append({group for _, group in self._asked})
        self._status = self._figures = self._percentile_unit = None

    @property
    def _version_fact(self) -> dict[str, Scalar]:
        return {"program_version": self._version} if self._version else {}

    @property
    def _figures_of_last(self) -> list[dict[str, float]]:
        return list(self._last.figures.values()) if self._last else []

    def _read_row(self, line: str) -> None:
        first = line.lstrip()[:1]
        if first == "|":
            self._lacks_percentile_head |= not self._has_percentile_head and "th=[" in line
            if self._figures is None and self._statuses[-1] and "th=[" in line:
                self._findings.mixed("percentiles after the closing status")
            if self._figures is not None and self._percentile_unit is not None:
                self._read_percentiles(self._figures, self._percentile_unit, line)
        elif first in "RWTM":
            if self._status is not None and (match := _STATUS_ROW.fullmatch(line)):
                self._status.add(match[1].lower())
        elif first in "rwtm" and (match := _DIRECTION.match(line)):
            self._read_rates(match[1], line)
        elif "clat" in line and self._figures is not None:
            self._read_latency(self._figures, line)
        elif first == "i" and self._last is not None and (issued := _ISSUED.match(line)):
            self._refine_iops(self._last, issued[1])
            self._is_issued_due = False
        elif first == "I" and self._last is not None and line.lstrip().startswith("IO depths"):
            self._is_issued_due = True
        elif first == "l" and _SHARES.match(line):
            self._lacks_latency |= any("latency" not in one for one in self._figures_of_last)
        elif "percentiles (" in line and _PERCENTILE_HEAD.match(line):
            self._percentile_unit, self._has_percentile_head = None, True

    def _read_rates(self, operation: str, line: str) -> None:
        if self._last is None:
            if self._statuses[-1]:
                self._findings.mixed("rows of a job after the closing status")
            return
        if match := _RATES.search(line):
            iops, bandwidth = (match[1], match[2]), (match[3], _KIBIBYTES.get(match[4]))
        elif match := _OLD_RATES.search(line):
            iops, bandwidth = (match[3], match[4]), (match[1], _OLD_KIBIBYTES[match[2]])
        else:  # those of reads and writes together are not printed (unified_rw_reporting=both)
            self._figures = None
            return
        figures = {"iops": number(iops[0]) * _THOUSANDS[iops[1]]}
        if runtime := _RUNTIME.search(line):
            self._iops[operation] = (iops[0], _THOUSANDS[iops[1]], float(runtime[1]))
        if bandwidth[1] is not None:
            figures["bandwidth"] = number(bandwidth[0]) * bandwidth[1]
            if match.re is _RATES and match[5]:  # the same again, in units of 1000
                again = number(match[5]) * _KIBIBYTES[match[6]]
                if _lost_carry(bandwidth[0], again / bandwidth[1]):
                    figures["bandwidth"] = again
        if operation in self._last.figures:
            self._findings.mixed(f"two rows of {operation}s of one job")
        self._last.figures[operation] = self._figures = figures
        self._ranks.append([])
        self._findings.keep(MOST_OF_AN_OPERATION)
        self._percentile_unit, self._has_percentile_head = None, False

    def _refine_iops(self, job: Job, totals: str) -> None:
        """Replace rates by the number of operations / time, of which fio prints some digits."""
        for operation, total in zip(("read", "write", "trim"), re.findall("[0-9]+", totals), strict=False):
            text, unit, runtime_ms = self._iops.get(operation, ("", 1.0, 0.0))
            if runtime_ms:
                rate = 1000 * float(total) / runtime_ms
                if _is_printed_as(text, rate / unit) or _lost_carry(text, rate / unit):
                    job.figures[operation]["iops"] = rate

    def _read_latency(self, figures: dict[str, float], line: str) -> None:
        if match := _LATENCY.match(line):
            if "latency" in figures:
                self._findings.mixed("two latencies of one operation")
            figures["latency"] = number(match[2]) * _THOUSANDS[match[3]] * _MICROSECONDS[match[1]]
        elif match := _PERCENTILE_HEAD.match(line):
            self._percentile_unit = _MICROSECONDS[match[2]] if match[1] == "clat" else None
            self._last_percentile = 0.0
            self._has_percentile_head = True

    def _read_percentiles(self, figures: dict[str, float], unit: float, line: str) -> None:
        for rank, value, thousands in _PERCENTILE.findall(line):
            self._ranks[-1].append(rank)
            latency = float(value) * _THOUSANDS[thousands] * unit
            self._is_mixed_up |= latency < self._last_percentile
            self._last_percentile = latency
            if name := percentile(rank):
                figures[name] = latency

    def finish(self) -> None:
        """Add to each job the number of jobs of its kind; text reports such jobs one by one, or as one."""
        for jobs in self.runs:
            counts = Counter[tuple[str, int]]()
            for job in jobs:
                counts[job.name, job.group] += job.copies
            for job in jobs:
                job.facts = {**job.facts, "threads": counts[job.name, job.group]}

    def faults(self) -> Iterator[str]:
        """Yield the groups of jobs without a closing status, and the lines that are missing."""
        if self._lacks_latency:
            yield _LACKS_LATENCIES
        if self._lacks_percentile_head or any(map(lacks_percentiles, self._ranks)):
            yield "fio's text lacks lines of percentiles"
        if self._is_mixed_up:
            yield "fio's text has percentiles that do not grow"
        if self._lacks_issued or self._is_issued_due:
            yield "fio's text lacks a line of the issued operations"
        for jobs, statuses, announced in zip(self.runs, self._statuses, self._groups, strict=True):
            for group in sorted(announced - {job.group for job in jobs}) if jobs else ():
                yield f"fio's text lacks the jobs of group {group}, which it announces"
            for group, operations in sorted(_operations(jobs).items()):
                missing = operations - statuses.get(group, set())
                both = {"mixed"} if operations else set()  # the sum of the others
                strays = statuses.get(group, set()) - operations - both
                if strays:
                    yield f"fio's text lacks the figures of the {', '.join(sorted(strays))}s of group {group}"
                if missing or group not in statuses:
                    lacks = f" of its {', '.join(sorted(missing))}s" if missing else ""
                    yield f"fio's text lacks the closing status{lacks} for group {group}"
            kinds = {frozenset(one) for job in jobs for one in job.figures.values()}
            if len(kinds) > 1:
                yield _LACKS_LATENCIES
            if not jobs:
                yield "fio began, but printed nothing of its jobs"


def _is_printed_as(text: str, value: float) -> bool:
    """Return whether `text` is `value`, with its last digit cut off or rounded."""
    step = 10.0 ** -len(text.partition(".")[2])
    return abs(value - number(text)) < step


def _lost_carry(text: str, value: float) -> bool:
    """Return whether `text` is `value` as some fio 3 print it: without the carry, 11.98 as ``11.0``.

    `value` may be rounded to three digits.
    """
    return text.endswith(".0") and 0.7 <= value - number(text) < 1.01 + 0.005 * value


def _operations(jobs: list[Job]) -> Mapping[int, set[str]]:
    operations: dict[int, set[str]] = {}
    for job in jobs:
        operations.setdefault(job.group, set()).update(job.figures)
    return operations
