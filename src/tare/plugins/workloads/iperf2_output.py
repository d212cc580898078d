"""Read the output of iperf 2.0 to 2.2: the text of client and server, and CSV (-y C).

Reporter/ReportOutputs.c defines the formats. Rows of intervals (-i) look like the row of the whole test,
which is the last one and starts at 0 again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.iperf2_rows import CSV_ROW, TEXT_ROW, IntervalRow, row_of

_FORWARD, _REVERSE = "client to server", "server to client"
_ENDS = 2
_PORT = re.compile(r" port ([0-9]{1,5})\b")
_CONNECTION = re.compile(
    r"\[ *\*?(?P<id>[0-9]{1,5})\] local \S+ port (?P<near>[0-9]{1,5}) connected with "
    r"\S+ port (?P<far>[0-9]{1,5})\b"
)
_SHORT_S = 1.05
"""A single row that is not longer than this may be the first of many intervals (-i 1)."""


@dataclasses.dataclass
class _Flow:
    """The rows of one stream or of the sum over streams; only the last row can be that of the whole test."""

    n_rows: int = 0
    last: str = ""
    """The line of the last row; it is parsed late, because most rows are intervals."""

    def take(self, row: str) -> None:
        self.n_rows += 1
        self.last = row

    def whole(self, least_s: float) -> IntervalRow | None:
        """Return the row of the whole test, or None; a single row of up to `least_s` may be an interval."""
        row = row_of(self.last)
        if row is None or row.start_s != 0:
            return None
        return row if self.n_rows > 1 or row.end_s > least_s or row.is_uneven else None


@dataclasses.dataclass
class _Run:
    """One test: its flows by stream and by side (True for the sender's count, False for the receiver's)."""

    flows: dict[tuple[bool, str], _Flow] = dataclasses.field(default_factory=dict)
    n_connections: int = 0
    is_server: bool = False
    is_csv: bool | None = None
    has_head: bool = False
    has_duplex_head: bool = False
    is_mixed: bool = False
    ports: dict[bool, str] = dataclasses.field(default_factory=dict)
    """The port that it connects to (False), and the port that it listens on (True)."""
    ways: dict[str, bool] = dataclasses.field(default_factory=dict)
    """For each stream, in the order of connections: whether the other end opened the connection."""
    is_udp: bool = False
    is_client: bool = False
    is_closed: bool = False
    failure: str = ""
    last_stamp: str = ""

    def add(self, stream: str, row: str, *, is_sent: bool) -> bool:
        """Record a row; return whether it is the first of its stream."""
        is_csv = not row.startswith("[")
        self.is_mixed |= self.is_csv is not None and self.is_csv != is_csv
        self.is_csv = is_csv
        flow = self.flows.get((is_sent, stream))
        is_first = flow is None
        if flow is None:
            flow = self.flows[is_sent, stream] = _Flow()
        flow.take(row)
        return is_first

    @property
    def is_full_duplex(self) -> bool:
        """Whether both ends send over one connection (--full-duplex), as ``[  1]`` and ``[ *1]``."""
        streams = {stream for _, stream in self.flows}
        is_starred = any(stream[0] == "*" and stream[1:].strip() in streams for stream in streams)
        return self.has_duplex_head or is_starred

    @property
    def directions(self) -> dict[str, str]:
        """The direction of each stream; the client of the test is the end that connected first.

        On one connection, a star marks the stream that the server sends.
        """
        if self.is_full_duplex:
            streams = [stream for _, stream in self.flows if stream != "SUM"]
            return {stream: _REVERSE if stream[0] == "*" else _FORWARD for stream in streams}
        first = next(iter(self.ways.values()), False)
        return {stream: _FORWARD if way == first else _REVERSE for stream, way in self.ways.items()}

    @property
    def is_bidirectional(self) -> bool:
        """Whether both ends send at once; with -d, the client also listens."""
        return self.is_full_duplex or (self.is_client and self.is_server)

    @property
    def has_rows(self) -> bool:
        return any(flow.n_rows for flow in self.flows.values())

    def totals(self, time_s: float | None) -> Iterator[tuple[bool, IntervalRow]]:
        """Yield the rows for the whole test: those of the sum, or those of the only stream.

        A test in both directions yields none, because iperf's sum does not show its direction.
        """
        if self.is_bidirectional:
            return
        for is_sent in (False, True):
            flows = {stream: flow for (sent, stream), flow in self.flows.items() if sent == is_sent}
            is_lone = len(flows) == 1 and self.n_connections < 2
            total = flows.get("SUM") or (next(iter(flows.values())) if is_lone else None)
            least_s = 0.0 if self.is_closed else _SHORT_S
            row = total.whole(least_s) if total else None
            if row is not None and row.end_s > 0.9 * (time_s or 0):
                yield is_sent, row

    def both_ways(self, time_s: float | None) -> dict[str, IntervalRow]:
        """Return the row of the whole test by direction, if both ends sent with one stream each."""
        found: dict[str, IntervalRow] = {}
        for (is_sent, stream), flow in self.flows.items():
            row = None if is_sent else flow.whole(0.0 if self.is_closed else _SHORT_S)
            if stream in self.directions and row is not None and row.end_s > 0.9 * (time_s or 0):
                found[self.directions[stream]] = row
        streams = {stream for _, stream in self.flows if stream != "SUM"}
        return found if self.is_bidirectional and len(found) == len(streams) == _ENDS else {}

    def faults(self, time_s: float | None) -> Iterator[str]:
        totals = dict(self.totals(time_s))
        rows = [*totals.values(), *self.both_ways(time_s).values()]
        yield from dict.fromkeys(row.fault for row in rows if row.fault)
        streams = {stream for _, stream in self.flows if stream != "SUM"}
        n_streams = max(len(streams), self.n_connections)
        if self.failure:
            yield self.failure
        if self.is_mixed:
            yield "lines of several runs are mixed: rows of text and of CSV"
        if self.is_bidirectional:
            if not self.both_ways(time_s):
                yield "the rows of both directions, a stream each, are not all there"
        elif not totals:
            yield from self._faults_of_totals(n_streams)
        elif self.is_udp and (self.is_client or True in totals) and False not in totals:
            n_reports = sum(not is_sent for is_sent, _ in self.flows)
            if n_reports > 1:
                yield f"the server's reports of {n_reports} streams have no sum"
            else:
                yield "the server's report of what arrived is missing"
        for is_sent, total in totals.items():
            yield from self._faults_of_sum(total, is_sent=is_sent)

    def _faults_of_totals(self, n_streams: int) -> Iterator[str]:
        """Yield why no row is that of the whole test."""
        if n_streams > 1 and self.has_rows:
            yield f"{n_streams} streams have no sum"
            return
        rows = [row_of(flow.last) for flow in self.flows.values()]
        if n_streams == 1 and len(rows) == 1 and rows[0] and self.is_client and rows[0].end_s <= _SHORT_S:
            yield (
                f"the only row ends at {rows[0].end_s:g} s and may be that of an interval; let the test take "
                "longer (-t 2, or more bytes with -n)"
            )
        else:
            yield "the row of the whole test is missing"

    def _faults_of_sum(self, total: IntervalRow, *, is_sent: bool) -> Iterator[str]:
        """Yield that a sum is of less time than its streams, as that of short tests is in iperf 2.1."""
        streams = (flow for (sent, name), flow in self.flows.items() if sent == is_sent and name != "SUM")
        ends = [row.end_s for flow in streams if (row := row_of(flow.last)) is not None and row.start_s == 0]
        if ends and total.end_s < 0.9 * max(ends):
            yield (
                f"iperf's sum is of {total.end_s:g} s, and its streams took {max(ends):g} s, so its rate is "
                "wrong; let the test take longer (-t 2, or more bytes with -n)"
            )


def _facts(run: _Run) -> dict[str, Scalar]:
    """Return the settings of a test, by the name of the workload's parameter."""
    if not run.is_client:
        return {}
    n_streams = len({stream for _, stream in run.flows if stream != "SUM"})
    facts: dict[str, Scalar] = {"protocol": "udp" if run.is_udp else "tcp"}
    facts["bidirectional"] = run.is_bidirectional
    return facts if run.is_bidirectional or not n_streams else {**facts, "streams": n_streams}


_STAMP = re.compile(r"[0-9]{14}(?:\.[0-9]+)?,[^,]+,[0-9]+,")
"""The beginning of a row of CSV: time, address and port."""
_FEWEST_COMMAS = 8
"""How many commas a row of CSV has at least."""
_FAILURE = re.compile(
    r"(?:\w+ )?(?:connect|bind|read|write) failed: |error: |.*WARNING: did not receive ack of last datagram"
)


class Iperf2Log(LogParser):
    """Collects the tests of a log, in order; `time_s` is the case's time, None without a case."""

    def __init__(self, foms: Iterable[Fom], time_s: float | None) -> None:
        super().__init__(foms)
        self._time_s = time_s
        self._runs: list[_Run] = []

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end: only a row with datagrams is known to be whole."""
        if (row := TEXT_ROW.search(line)) and row["loss"] is not None:
            self.read(line)

    def read(self, line: str) -> None:
        """Read one line."""
        if line.startswith("["):
            self._read_bracket(line)
        elif line[:1].isdigit() or line.startswith(("+", "-0", "-1")):
            if (row := CSV_ROW.match(line)) is not None:
                self._read_csv(row, line)
                if _STAMP.search(line, row.end()):
                    self._findings.problem(f"two rows of CSV stand on one line: {line[:200]}")
            elif line.count(",") >= _FEWEST_COMMAS and self._runs and self._runs[-1].is_csv:
                self._findings.problem(f"a row of CSV is broken: {line[:120]}")
        elif line.startswith(("Client connecting to", "Server listening on")):
            run = self._begin(is_banner=True)
            run.is_udp = "UDP port" in line
            run.is_client |= line.startswith("Client")
            run.is_server |= line.startswith("Server")
            if port := _PORT.search(line):
                run.ports[line.startswith("Server")] = port[1]
        elif line.startswith("listener bind failed: "):  # with -d, the test goes on in one direction
            self._findings.problem(f"iperf printed: {line[:200]}")
        elif "failed: " in line or line.startswith("error: "):
            self._read_failure(line)
        elif line.startswith("Bounce-back test") and self._runs:
            self._runs[-1].failure = "iperf's --bounceback measures round trips, not throughput"

    def _begin(self, *, is_banner: bool = False) -> _Run:
        """Return the test that begins: a new one if the last has rows, or failed and a banner follows."""
        last = self._runs[-1] if self._runs else None
        if last is None or last.has_rows or (is_banner and last.failure):
            self._add(_Run(is_udp=last.is_udp, is_client=last.is_client) if last else _Run())
        self._runs[-1].has_head = True
        return self._runs[-1]

    def _add(self, run: _Run) -> _Run:
        self._runs.append(run)
        self._findings.begin()
        return run

    def _read_failure(self, line: str) -> None:
        if _FAILURE.match(line):
            if not self._runs:
                self._add(_Run())
            if not self._runs[-1].failure:
                self._runs[-1].failure = f"iperf printed: {line.strip()[:200]}"

    def _read_bracket(self, line: str) -> None:
        if "/sec" in line:
            if not self._runs:
                self._add(_Run())
            run = self._runs[-1]
            name = line[1 : line.find("]")].strip()
            stream = "SUM" if name.startswith("SUM") else name  # SUM-2 with --sum-only, of two streams
            if run.add(stream, line, is_sent=run.is_udp and "%)" not in line):
                self._findings.keep()
        elif " connected with " in line:
            run = self._begin()
            run.n_connections += 1
            run.has_duplex_head |= " (full-duplex)" in line
            if ends := _CONNECTION.match(line):
                is_far = ends["far"] == run.ports.get(False)
                if is_far != (ends["near"] == run.ports.get(True)):
                    run.ways[ends["id"]] = not is_far
        elif line.endswith((" datagrams", " Server Report:")) and self._runs:
            self._runs[-1].is_closed = True
        elif "WARNING: did not receive ack" in line:
            self._read_failure(line)

    def _read_csv(self, match: re.Match[str], line: str) -> None:
        stamp, near, far, number, end, total = match.group("time", "near", "far", "id", "end", "total")
        is_sent = total is not None and total[0] == "-"
        stream = "SUM" if number == "-1" else f"{near} - {far}" if near < far else f"{far} - {near}"
        run = self._runs[-1] if self._runs else None
        flow = run.flows.get((is_sent, stream)) if run else None
        # Streams of one test run at the same time. A stream whose middle is after the last row is a new test.
        if run is None or (
            flow is None and stream != "SUM" and _seconds(stamp) - float(end) / 2 >= _seconds(run.last_stamp)
        ):
            run = self._add(_Run(is_udp=total is not None))
        if stamp > run.last_stamp:
            run.last_stamp = stamp
        if flow is not None:
            flow.take(line)
        elif run.add(stream, line, is_sent=is_sent):
            self._findings.keep()

    def parsed(self) -> Parsed:
        """Return the figures of all tests, with coordinates that distinguish them if there are several."""
        findings = self._findings
        runs = [(run, list(run.faults(self._time_s))) for run in self._runs]
        if any(not faults for _, faults in runs):  # ignore a test that failed to start and was repeated
            runs = [(run, faults) for run, faults in runs if run.has_rows]
        if not runs:
            findings.problem("the output holds no result of iperf 2")
        if not all(run.has_head or run.is_csv for run, _ in runs) and any(run.has_head for run, _ in runs):
            findings.mixed("rows before the head of their test")
        payload_bytes = 0
        points = coordinates([_facts(run) for run, _ in runs])
        for number, ((run, faults), at) in enumerate(zip(runs, points, strict=True), start=1):
            findings.record_facts(**_facts(run))
            for direction, row in run.both_ways(self._time_s).items():
                if row.gbit_per_s is not None:
                    findings.measure("throughput", row.gbit_per_s, **{"direction": direction, **at})
                payload_bytes += row.least_bytes
            for is_sent, row in run.totals(self._time_s):
                throughput = "throughput_sent" if is_sent else "throughput"
                figures = ((throughput, row.gbit_per_s), ("jitter", row.jitter_ms), ("lost", row.lost))
                for fom, value in (*figures, ("loss", row.loss)):
                    if value is not None:
                        findings.measure(fom, value, **at)
                payload_bytes += 0 if is_sent else row.least_bytes
            for fault in faults:
                findings.problem(f"run {number}: {fault}" if len(runs) > 1 else fault)
        is_complete = bool(runs) and not any(faults for _, faults in runs)
        is_counted = len(runs) < 2 or not any(run.is_csv for run, _ in runs)  # CSV does not mark tests
        return findings.parsed(
            is_complete=is_complete,
            payload_bytes=payload_bytes if is_complete else None,
            is_end_known=is_counted,
        )


def _seconds(stamp: str) -> float:
    """Return a time such as 20171119160019 as seconds since the epoch, in UTC; 0 if it is not a time."""
    try:
        return datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
