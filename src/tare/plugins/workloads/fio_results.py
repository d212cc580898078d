"""Read fio's JSON output (stat.c) of versions 2 and 3; fio_text reads its text output.

Messages and progress lines of fio may precede the JSON. The jobs of clients are in ``client_stats``.
Latencies are in microseconds (``clat``) up to 2.x, and in nanoseconds (``clat_ns``) since 3.0.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tare.core.counting import count
from tare.core.errors import NOT_JSON
from tare.core.values import Scalar
from tare.plugins.workloads.common.benchmark import Findings
from tare.plugins.workloads.common.text import doubled_name
from tare.plugins.workloads.fio_facts import option_facts

_PERCENTILES = {50.0: "latency_p50", 95.0: "latency_p95", 99.0: "latency_p99", 99.9: "latency_p999"}
MOST_OF_AN_OPERATION = 3 + len(_PERCENTILES)
"""How many figures one operation has at most: bandwidth, iops, mean latency, percentiles."""
_SUM = "All clients"
_DEFAULT_RANKS = frozenset(
    (1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99)
)
"""The percentiles that fio prints by default (--percentile_list changes them)."""
_MOST_LINES = 1_000_000  # of one document; a longer one is not from fio


@dataclasses.dataclass
class Job:
    """One job, or a group of jobs that fio reports as one, with its figures by operation."""

    name: str
    group: int
    error: int
    host: str | None = None
    figures: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """Its settings, by the name of the parameter."""
    runtime_ms: float = 0.0
    pid: str = ""
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    """Why an operation has no latency, by the operation."""
    copies: int = 1
    """How many jobs the text reports as this one."""

    @property
    def is_sum(self) -> bool:
        """Whether it is fio's sum over all clients."""
        return self.name == _SUM

    @property
    def n_figures(self) -> int:
        """How many figures it has, over all operations."""
        return sum(map(len, self.figures.values()))


UNTIMED = "fio prints it as 0, as it does not measure it with gtod_reduce or disable_clat"

# JSON


class _Latency(msgspec.Struct):
    mean: float | None = None
    percentile: dict[str, float | None] = {}


class _Direction(msgspec.Struct):
    io_bytes: float | None = None
    runtime: float | None = None
    bw: float | None = None
    iops: float | None = None
    clat_ns: _Latency | None = None
    clat: _Latency | None = None

    @property
    def lacks(self) -> bool:
        """Whether a figure is missing that fio always prints with the others."""
        rates = (self.io_bytes, self.bw, self.iops)
        latency = self.clat_ns or self.clat
        if latency is None:
            return False
        return (None in rates and any(rates)) or latency.mean is None or lacks_percentiles(latency.percentile)

    @property
    def is_untimed(self) -> bool:
        """Whether its latency is printed as 0, since fio did not measure it."""
        latency = self.clat_ns or self.clat
        return latency is not None and latency.mean == 0

    def figures(self) -> dict[str, float]:
        """Return its figures, in KiB/s, operations per second and microseconds."""
        found = {"bandwidth": self.bw, "iops": self.iops}
        latency, per_us = (self.clat_ns, 1000) if self.clat_ns else (self.clat or _Latency(), 1)
        values = {"latency": latency.mean}
        for key, value in latency.percentile.items():
            if name := percentile(key):
                values[name] = value
        if self.is_untimed:
            values = {}
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
    options: dict[str, str] = msgspec.field(default={}, name="job options")

    @property
    def _runtime_ms(self) -> float:
        directions = (self.read, self.write, self.trim, self.mixed)
        return max((one.runtime or 0.0 for one in directions if one), default=0.0)

    def job(self, common: Mapping[str, str] = {}) -> Job:
        """Return the job, without the operations that moved no data; `common` are the global options."""
        directions = {"read": self.read, "write": self.write, "trim": self.trim, "mixed": self.mixed}
        moved = {name: one for name, one in directions.items() if one and one.io_bytes}
        figures = {name: one.figures() for name, one in moved.items()}
        host = None if self.jobname == _SUM else self.hostname
        facts = option_facts({**common, **self.options})
        return Job(
            self.jobname,
            self.groupid,
            self.error,
            host,
            figures,
            facts if self.jobname != _SUM else {},
            self._runtime_ms,
            left_out={name: UNTIMED for name, one in moved.items() if one.is_untimed},
        )


class _Document(msgspec.Struct):
    version: str = msgspec.field(name="fio version")
    options: dict[str, str] = msgspec.field(default={}, name="global options")
    timestamp: float | None = None
    timestamp_ms: float | None = None
    jobs: list[_JsonJob] = []
    client_stats: list[_JsonJob] = []

    @property
    def version_fact(self) -> dict[str, Scalar]:
        """Return fio's version, which may differ from document to document; empty if it has none."""
        version = self.version.removeprefix("fio-")
        return {"program_version": version} if version else {}

    @property
    def printed_ms(self) -> float | None:
        """Return the time at which it was printed, in milliseconds; None if it has no time stamp."""
        seconds = None if self.timestamp is None else 1000 * self.timestamp
        return seconds if self.timestamp_ms is None else self.timestamp_ms


def _faults(document: _Document) -> Iterator[str]:
    """Yield the members that a document lacks although its other members imply them."""
    clients = [one for one in document.client_stats if one.jobname != _SUM]
    if any(one.hostname for one in clients) and not all(one.hostname for one in clients):
        yield "a job of fio's clients lacks its host"
    for job in (*document.jobs, *document.client_stats):
        for direction in (job.read, job.write, job.trim, job.mixed):
            if direction is not None and direction.lacks:
                yield f"job {job.jobname} of fio lacks lines of its figures"


_decode = msgspec.json.Decoder(_Document).decode
_JSON_LINE = re.compile(r'\s*[{}]|\s+["\[\]]|\s+-?[0-9.e+-]+,?$')
"""The form of fio's lines within a document; other lines are output of other programs."""
_UNUSED_PERCENTILE = re.compile(r',\s*"0\.00" *: *0(?=\s*[,}])')
"""What fio 2 prints for each percentile of its list of 20 that is not used (stat.c)."""
_NO_NUMBER = re.compile(r"(: *)-?(?:nan|inf)\b")
_NO_NUMBERS = (" nan", " inf", "-nan", "-inf", ":nan", ":inf")
"""Every text that matches the pattern contains one of these; searching for them is faster."""


class JsonReader:
    """Reads the JSON documents in a log; `faults` lists those that could not be read.

    `is_open` says that a document has begun and has not ended.
    """

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.runs: list[list[Job]] = []
        self.faults: list[str] = []
        self.is_open = False
        self._lines: list[str] = []
        self._printed_ms: float | None = None

    def read(self, line: str) -> None:
        """Read a line that begins a document, or a later line of it."""
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
        """Read a line of the open document."""
        self._lines.append(line)
        if len(self._lines) > _MOST_LINES:
            self.finish()

    def finish(self) -> None:
        """Discard the open document, if there is one, and record that it is cut short."""
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
            text, n_lost = _NO_NUMBER.subn(r"\1null", text)
            if n_lost:
                lost = count(n_lost, "value that is no number", "values that are no numbers")
                self._fail(f"fio printed {lost}")
        try:
            try:
                document = _decode(text)
            except NOT_JSON:  # other programs printed indented lines in between
                document = _decode("\n".join(filter(_JSON_LINE.match, text.split("\n"))))
        except (UnicodeEncodeError, *NOT_JSON) as error:
            self._fail(f"a JSON document of fio is broken: {error}")
        else:
            if (name := doubled_name(_UNUSED_PERCENTILE.sub("", text))) is not None:
                self._findings.mixed(f"a JSON document of fio has {name} twice")
            for fault in () if self.faults else _faults(document):
                self._fail(fault)
            jobs = [one.job(document.options) for one in (*document.jobs, *document.client_stats)]
            for job in jobs:
                job.facts = {} if job.is_sum else job.facts | document.version_fact
            if self._is_snapshot_of(jobs, document.printed_ms):
                self.runs.pop()
            self.runs.append(jobs)
            self._printed_ms = document.printed_ms
            self._findings.begin()
            self._findings.keep(sum(job.n_figures for job in jobs))

    def _is_snapshot_of(self, jobs: list[Job], printed_ms: float | None) -> bool:
        """Return whether the previous document was a snapshot of these jobs (--status-interval).

        It was a snapshot if the same jobs had already begun when it was printed.
        """
        if not self.runs or self._printed_ms is None or printed_ms is None:
            return False
        last = [(job.host, job.name, job.group) for job in self.runs[-1]]
        runtime_ms = max((job.runtime_ms for job in jobs), default=0.0)
        is_same = last == [(job.host, job.name, job.group) for job in jobs]
        return is_same and printed_ms - runtime_ms < self._printed_ms - _SLACK_MS


_SLACK_MS = 500
"""Tolerance between the run time and the document's time stamp, which may be in whole seconds."""


def number(text: str) -> float:
    """Return the number in `text`, which has digits and at most one point; NaN if it is not a number."""
    digits = text.replace(".", "", 1)
    return float(text) if digits.isascii() and digits.isdigit() else math.nan


def lacks_percentiles(ranks: Iterable[str]) -> bool:
    """Return whether some of fio's default percentiles are missing; few of them are a list of the user's."""
    n_default = len({number(rank) for rank in ranks} & _DEFAULT_RANKS)
    return len(_DEFAULT_RANKS) > n_default > len(_DEFAULT_RANKS) // 2


def percentile(rank: str) -> str | None:
    """Return the figure of merit of the percentile `rank`, or None if it has none."""
    value = number(rank)
    return _PERCENTILES.get(value)
