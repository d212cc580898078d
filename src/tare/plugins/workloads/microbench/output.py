"""Read the output of microbench.c: a header, a row for each operation and size, and the number of rows."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tare.core.counting import count
from tare.core.errors import NOT_JSON
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.application import check_ranks
from tare.plugins.workloads.common.benchmark import run_number
from tare.plugins.workloads.common.log_parser import LogParser

STATISTICS = {
    "p50": "median",
    "min": "minimum",
    "p1": "percentile 1",
    "p25": "percentile 25",
    "p75": "percentile 75",
    "p90": "percentile 90",
    "p99": "percentile 99",
    "p999": "percentile 99.9",
    "max": "maximum",
    "mean": "mean",
}
"""The statistics over all iterations of one size, by the suffix of the figure's name."""

_ASCENDING = ("min", "p1", "p25", "p50", "p75", "p90", "p99", "p999", "max")

_FIGURES = {"pingpong": "latency", "exchange": "exchange", "bandwidth": "bandwidth"}
"""The prefix of the figures of each operation; for collective operations it is `time`."""

_MPI = re.compile(r"(Open MPI|MPICH|MVAPICH2?|Intel\(R\) MPI)\D*([0-9]+(?:\.[0-9]+)+\w*)")
"""The beginning of what MPI_Get_library_version returns: ``Open MPI v5.0.7, …``, ``MPICH Version: 4.0.2``."""

SMALL_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Messages of one and two digits, over which published comparisons take the mean (Kniep 2014)."""

_LINE_START = '{"tare":"'
_VERSION = 1


class _Line(msgspec.Struct, frozen=True, tag_field="tare"):
    """A line of the program's output; fields that later versions of the program add are ignored."""


class _Header(_Line, frozen=True, tag="header"):
    version: int
    ranks: int
    mpi: str = ""
    """The first line of what MPI_Get_library_version returned."""


class _Row(_Line, frozen=True, tag="row"):
    op: str
    bytes: int
    unit: str
    n: int
    min: float
    max: float
    mean: float
    p1: float | None = None
    p25: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p99: float | None = None
    p999: float | None = msgspec.field(default=None, name="p99.9")
    window: int = 1

    @property
    def figure(self) -> str:
        return _FIGURES.get(self.op, "time")

    @property
    def at(self) -> dict[str, Scalar]:
        """Return the coordinates of the row; a barrier has no size."""
        at: dict[str, Scalar] = {} if self.op in _FIGURES else {"op": self.op}
        return at if self.op == "barrier" else {**at, "bytes": self.bytes}

    @property
    def payload_bytes(self) -> int:
        """Return a lower bound for the bytes that each node sends and receives; a barrier counts one byte."""
        ways = 2 if self.op in {"pingpong", "exchange"} else 1
        return self.n * ways * self.window * (1 if self.op == "barrier" else self.bytes)

    @property
    def n_messages(self) -> int:
        """Return a lower bound for the messages that each node sends and receives one after the other."""
        return {"pingpong": 2 * self.n, "exchange": self.n, "barrier": self.n}.get(self.op, 0)

    def statistics(self) -> Iterator[tuple[str, float]]:
        """Yield the suffix of each figure's name and its value."""
        for name in STATISTICS:
            value: float | None = getattr(self, name)
            if value is not None:
                yield name, value

    def is_in_order(self) -> bool:
        """Return whether the statistics can be of one sample: percentiles grow, the mean is in range."""
        known = dict(self.statistics())
        ascending = [known[name] for name in _ASCENDING if name in known]
        return self.n > 0 and ascending == sorted(ascending) and self.min <= self.mean <= self.max


class _End(_Line, frozen=True, tag="end"):
    rows: int


def mpi_name(version: str) -> str:
    """Return the name and version of an MPI from what MPI_Get_library_version returned: ``Open MPI 5.0.7``.

    A text in another form is returned up to its first comma.
    """
    if found := _MPI.match(version):
        return f"{found[1].replace('(R)', '')} {found[2]}"
    return version.partition(",")[0].strip()


def small_means(rows: Iterable[_Row]) -> Iterator[tuple[str, dict[str, Scalar], float]]:
    """Yield figure, operation and arithmetic mean over the small sizes, where all of them were measured.

    A barrier has no size, and a bandwidth no such mean.
    """
    means: dict[str, dict[int, _Row]] = {}
    for row in rows:
        if row.unit == "us" and row.bytes in SMALL_SIZES:
            means.setdefault(row.op, {})[row.bytes] = row
    for found in means.values():
        if len(found) == len(SMALL_SIZES):
            first = next(iter(found.values()))
            at = {name: value for name, value in first.at.items() if name != "bytes"}
            yield first.figure, at, round(sum(row.mean for row in found.values()) / len(found), 6)


class _Samples(_Line, frozen=True, tag="samples"):
    """A line with all samples of one size (--dump)."""


_DECODER = msgspec.json.Decoder(_Header | _Row | _End | _Samples)


@dataclasses.dataclass
class _Run:
    """The rows of one run of the program; `n_expected` is the number of rows in its last line."""

    header: _Header | None
    rows: list[_Row] = dataclasses.field(default_factory=list)
    n_expected: int | None = None

    def faults(self) -> Iterator[str]:
        if self.header is None:
            yield "the output lacks its first line"
        if self.n_expected is None:
            yield "the output lacks its last line; the program did not come to its end"
        elif self.n_expected != len(self.rows):
            yield f"the output holds {len(self.rows)} of {count(self.n_expected, 'row')}"
        for (op, size), n_there in Counter((row.op, row.bytes) for row in self.rows).items():
            if n_there > 1:
                yield f"{op} at {count(size, 'byte')} is there {count(n_there, 'time')}"


class Log(LogParser):
    """Collects the runs of one output; only the rows of `operations` become measurements."""

    finds_aborts = True

    def __init__(self, foms: Iterable[Fom], operations: Sequence[str], ranks: int | None) -> None:
        foms = tuple(foms)
        super().__init__(foms)
        self._units = {fom.name: fom.unit for fom in foms}
        self._operations = operations
        self._ranks = ranks
        self._runs: list[_Run] = []
        self._is_broken = False

    def read(self, line: str) -> None:
        """Read one line of the output."""
        start = line.find(_LINE_START)
        if start < 0:
            return
        text = line[start : line.rfind("}") + 1]
        try:
            found = _DECODER.decode(text)
        except (UnicodeEncodeError, *NOT_JSON):
            self._break(f"the output has a broken line: {line[start:].strip()[:120]}")
            return
        if isinstance(found, _Header):
            self._begin(_Run(found))
            if found.version != _VERSION:
                self._break(f"the output is of version {found.version} of the program, not {_VERSION}")
        elif isinstance(found, _Row):
            self._read_row(found)
        elif isinstance(found, _End):
            self._open().n_expected = found.rows

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end; its closing brace shows whether it is whole."""
        self.read(line)

    def _read_row(self, row: _Row) -> None:
        self._open().rows.append(row)
        self._findings.keep(len(STATISTICS))
        if row.op in self._operations and row.unit != self._units[f"{row.figure}_p50"]:
            self._break(f"{row.op} at {count(row.bytes, 'byte')} is in {row.unit}")
        elif not row.is_in_order():
            self._break(f"the figures of {row.op} at {count(row.bytes, 'byte')} contradict each other")

    def _open(self) -> _Run:
        """Return the open run; lines after an end, or before any header, begin a run without a header."""
        if not self._runs or self._runs[-1].n_expected is not None:
            self._begin(_Run(None))
        return self._runs[-1]

    def _begin(self, run: _Run) -> None:
        self._runs.append(run)
        self._findings.begin()

    def _break(self, problem: str) -> None:
        self._findings.problem(problem)
        self._is_broken = True

    def parsed(self) -> Parsed:
        """Return the rows as measurements; an unfinished run that is followed by another does not count."""
        findings = self._findings
        runs = [run for run in self._runs if run.n_expected is not None or run is self._runs[-1]]
        faults = [fault for run in runs for fault in run.faults()]
        counted = [[row for row in run.rows if row.op in self._operations] for run in runs]
        if not any(counted):
            faults.append(f"the output holds no figures of {', '.join(self._operations)}")
        findings.problems(faults)
        for number, rows in enumerate(counted, 1):
            which = run_number(number, len(runs))
            for row in rows:
                figure, point = row.figure, {**row.at, **which}
                for name, value in row.statistics():
                    findings.measure_at(f"{figure}_{name}", value, point)
            for figure, op, mean in () if faults or self._is_broken else small_means(rows):
                findings.measure_at(f"{figure}_small_mean", mean, {**op, **which})
        for name in {mpi_name(run.header.mpi) for run in runs if run.header and run.header.mpi}:
            findings.record_facts(mpi=name)
        check_ranks(findings, {run.header.ranks for run in runs if run.header}, self._ranks)
        is_complete = not faults and not self._is_broken
        payload_bytes = sum(row.payload_bytes for rows in counted for row in rows)
        return findings.parsed(
            is_complete=is_complete,
            payload_bytes=payload_bytes if any(counted) else None,
            n_messages=sum(row.n_messages for rows in counted for row in rows),
        )
