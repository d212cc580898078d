"""Read what fio measured, from its JSON and from its text (stat.c), of versions 2 and 3.

JSON may follow words of fio and of its progress; jobs of a client are in ``client_stats``. Latencies are in
microseconds until 2.x (``clat``), in nanoseconds since 3.0 (``clat_ns``), and in text in whatever unit fits.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping

import msgspec

from tare.workloads.common.benchmark import Findings

_PERCENTILES = {50.0: "latency_p50", 95.0: "latency_p95", 99.0: "latency_p99", 99.9: "latency_p999"}
_MOST_OF_AN_OPERATION = 3 + len(_PERCENTILES)
"""Figures of one operation: bandwidth, iops, mean latency, percentiles."""
_SUM = "All clients"
_MOST_LINES = 1_000_000  # of one document; more is no document of fio


@dataclasses.dataclass
class Job:
    """One job, or a group of them that fio reports as one: figures of merit by operation."""

    name: str
    group: int
    error: int
    host: str | None = None
    figures: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)

    @property
    def is_sum(self) -> bool:
        """Whether it is fio's sum over all clients."""
        return self.name == _SUM

    @property
    def n_figures(self) -> int:
        """How many figures it has, of all operations."""
        return sum(map(len, self.figures.values()))


# JSON


class _Latency(msgspec.Struct):
    mean: float | None = None
    percentile: dict[str, float | None] = {}


class _Direction(msgspec.Struct):
    io_bytes: float | None = None
    bw: float | None = None
    iops: float | None = None
    clat_ns: _Latency | None = None
    clat: _Latency | None = None

    def figures(self) -> dict[str, float]:
        """Return its figures: KiB/s, operations per second, microseconds."""
        found = {"bandwidth": self.bw, "iops": self.iops}
        latency, per_us = (self.clat_ns, 1000) if self.clat_ns else (self.clat or _Latency(), 1)
        values = {"latency": latency.mean}
        for key, value in latency.percentile.items():
            if name := percentile(key):
                values[name] = value
        found |= {name: None if value is None else value / per_us for name, value in values.items()}
        return {name: value for name, value in found.items() if value is not None}


class _JsonJob(msgspec.Struct):
    jobname: str
    groupid: int = 0
    error: int = 0
    hostname: str | None = None
    read: _Direction | None = None
    write: _Direction | None = None
    trim: _Direction | None = None
    mixed: _Direction | None = None

    def job(self) -> Job:
        """Return it without the directions in which nothing was moved."""
        directions = {"read": self.read, "write": self.write, "trim": self.trim, "mixed": self.mixed}
        figures = {name: one.figures() for name, one in directions.items() if one and one.io_bytes}
        host = None if self.jobname == _SUM else self.hostname
        return Job(self.jobname, self.groupid, self.error, host, figures)


class _Document(msgspec.Struct):
    version: str = msgspec.field(name="fio version")
    jobs: list[_JsonJob] = []
    client_stats: list[_JsonJob] = []


_decode = msgspec.json.Decoder(_Document).decode
_JSON_LINE = re.compile(r'\s*[{}]|\s+["\[\]]|\s+-?[0-9.e+-]+,?$')
"""How fio's lines look within a document; others are words of other programs."""
_NO_NUMBER = re.compile(r"(: *)-?(?:nan|inf)\b")
_NO_NUMBERS = (" nan", " inf", "-nan", "-inf", ":nan", ":inf")
"""One of these is in every text that matches, and unlike the pattern they are found fast."""


class JsonReader:
    """The documents in a log; `faults` says which could not be read.

    `is_open` says that a document has begun and not ended.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.runs: list[list[Job]] = []
        self.faults: list[str] = []
        self.is_open = False
        self._lines: list[str] = []

    def read(self, line: str) -> None:
        """Take in a line that begins a document, or one after that."""
        first = line[:1]
        if first == "{":
            self.finish()
            self.is_open, self._lines = True, [line]
            if line.endswith("}"):
                self._decode()
        elif _JSON_LINE.match(line):
            self.add(line)
            if first == "}":
                self._decode()

    def add(self, line: str) -> None:
        """Take in a line of the document that is open."""
        self._lines.append(line)
        if len(self._lines) > _MOST_LINES:
            self.finish()

    def finish(self) -> None:
        """Give up the document that is open."""
        if self.is_open:
            self.is_open, self._lines = False, []
            self._fail("a JSON document of fio is cut short")

    def _fail(self, fault: str) -> None:
        self.faults.append(fault)
        self._findings.keep()

    def _decode(self) -> None:
        lines, self.is_open, self._lines = self._lines, False, []
        text = "\n".join(lines)
        if any(word in text for word in _NO_NUMBERS):
            text, count = _NO_NUMBER.subn(r"\1null", text)
            if count:
                self._fail(f"fio printed {count} values that are no numbers")
        try:
            try:
                document = _decode(text)
            except msgspec.DecodeError:  # words of other programs, set in as the members are
                document = _decode("\n".join(filter(_JSON_LINE.match, text.split("\n"))))
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            self._fail(f"a JSON document of fio is broken: {error}")
        else:
            jobs = [one.job() for one in (*document.jobs, *document.client_stats)]
            self.runs.append(jobs)
            self._findings.begin()
            self._findings.keep(sum(job.n_figures for job in jobs))


# Text

_JOB = re.compile(r"(?:<\S+> )?(.*): \(groupid=([0-9]+), jobs=[0-9]+\): err=\s*([0-9]+)\b.*: pid=")
_DIRECTION = re.compile(r"\s+(read|write|trim|mixed)\s*: ")
_RATES = re.compile(r"IOPS=([0-9.]+)([kKMG]?), BW=([0-9.]+)([kKMGT]?i?B)/s ")
_OLD_RATES = re.compile(r"bw=([0-9.]+)([KMGT]?B)/s, iops=([0-9.]+)([kKMG]?),? ")
_LATENCY = re.compile(r"\s+clat \(([num]?sec)\)\s*: min=.* avg=\s*([0-9.]+)([KMG]?), stdev=")
_PERCENTILE_HEAD = re.compile(r"\s+(\w+) percentiles \(([num]?sec)\):")
_PERCENTILE = re.compile(r"([0-9.]+)th=\[\s*([0-9]+)([KMG]?)\]")
_STATUS = re.compile(r"Run status group ([0-9]+) \(")
_STATUS_ROW = re.compile(r"\s+(READ|WRITE|TRIM|MIXED): (?:bw|io)=\S+ .*(?:run|maxt)=\S*sec")
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
    "TiB": 1024.0**3,
}
_OLD_KIBIBYTES = {"B": 1 / 1024, "KB": 1.0, "MB": 1024.0, "GB": 1024.0**2, "TB": 1024.0**3}
"""Until 2.x, KB are 1024 bytes (HOWTO: kb_base)."""


class TextReader:
    """The jobs in a log, run by run, and the groups whose closing status was seen with its operations."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.runs: list[list[Job]] = []
        self._statuses: list[dict[int, set[str]]] = []
        self._status: set[str] | None = None
        self._figures: dict[str, float] | None = None
        self._percentile_unit: float | None = None

    def read(self, line: str) -> None:
        """Take in a line."""
        if line.startswith("fio-"):
            self._begin()
        elif "(groupid=" in line and (match := _JOB.match(line)):
            if not self.runs:
                self._begin()
            self.runs[-1].append(Job(match[1], int(match[2]), int(match[3])))
            self._findings.begin()
            self._figures = None
        elif line.startswith("Run status group") and self.runs and (match := _STATUS.match(line)):
            self._status = self._statuses[-1].setdefault(int(match[1]), set())
            self._findings.begin()
        elif line.startswith(" ") and self.runs:
            self._read_row(line)

    def _begin(self) -> None:
        self.runs.append([])
        self._statuses.append({})
        self._findings.begin()
        self._status = self._figures = self._percentile_unit = None

    def _read_row(self, line: str) -> None:
        first = line.lstrip()[:1]
        if first == "|":
            if self._figures is not None and self._percentile_unit is not None:
                self._read_percentiles(self._figures, self._percentile_unit, line)
        elif first in "RWTM":
            if self._status is not None and (match := _STATUS_ROW.fullmatch(line)):
                self._status.add(match[1].lower())
        elif first in "rwtm" and (match := _DIRECTION.match(line)):
            self._read_rates(match[1], line)
        elif "clat" in line and self._figures is not None:
            self._read_latency(self._figures, line)
        elif "percentiles (" in line and _PERCENTILE_HEAD.match(line):
            self._percentile_unit = None

    def _read_rates(self, operation: str, line: str) -> None:
        if not self.runs[-1]:
            return
        if match := _RATES.search(line):
            iops, bandwidth = (match[1], match[2]), (match[3], _KIBIBYTES.get(match[4]))
        elif match := _OLD_RATES.search(line):
            iops, bandwidth = (match[3], match[4]), (match[1], _OLD_KIBIBYTES[match[2]])
        else:
            return
        figures = {"iops": _number(iops[0]) * _THOUSANDS[iops[1]]}
        if bandwidth[1] is not None:
            figures["bandwidth"] = _number(bandwidth[0]) * bandwidth[1]
        self.runs[-1][-1].figures[operation] = self._figures = figures
        self._findings.keep(_MOST_OF_AN_OPERATION)
        self._percentile_unit = None

    def _read_latency(self, figures: dict[str, float], line: str) -> None:
        if match := _LATENCY.match(line):
            figures["latency"] = _number(match[2]) * _THOUSANDS[match[3]] * _MICROSECONDS[match[1]]
        elif match := _PERCENTILE_HEAD.match(line):
            self._percentile_unit = _MICROSECONDS[match[2]] if match[1] == "clat" else None

    @staticmethod
    def _read_percentiles(figures: dict[str, float], unit: float, line: str) -> None:
        for rank, value, thousands in _PERCENTILE.findall(line):
            if name := percentile(rank):
                figures[name] = float(value) * _THOUSANDS[thousands] * unit

    def faults(self) -> Iterator[str]:
        """Yield which groups of jobs lack the status that closes them."""
        for jobs, statuses in zip(self.runs, self._statuses, strict=True):
            for group, operations in sorted(_operations(jobs).items()):
                missing = operations - statuses.get(group, set())
                if missing or group not in statuses:
                    lacks = f" of its {', '.join(sorted(missing))}s" if missing else ""
                    yield f"fio's text lacks the closing status{lacks} for group {group}"
            if not jobs:
                yield "fio began, but printed nothing of its jobs"


def _operations(jobs: list[Job]) -> Mapping[int, set[str]]:
    operations: dict[int, set[str]] = {}
    for job in jobs:
        operations.setdefault(job.group, set()).update(job.figures)
    return operations


def _number(text: str) -> float:
    """Return the number in `text`; more than one point makes it none."""
    return float(text) if text.count(".") <= 1 and text != "." else math.nan


def percentile(rank: str) -> str | None:
    """Return the figure of merit of the percentile `rank`, if there is one."""
    value = _number(rank) if rank.replace(".", "").isascii() and rank.replace(".", "").isdigit() else math.nan
    return _PERCENTILES.get(value)
