"""Read what iperf3 prints: JSON (-J, --json-stream) and text, client's and server's, of versions 3.0 to 3.19.

The JSON is that of iperf_api.c (iperf_print_results and JSON_write), the text that of iperf_locale.c.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tare.model.values import Scalar
from tare.model.workload import Fom, Parsed
from tare.workloads.common.benchmark import Banner, Findings, coordinates
from tare.workloads.common.data_rates import RESULT, gbit_per_s, least_bytes

_BANNER = Banner("iperf 3", r'\biperf (3[0-9.]*\+?)(?=["\s])')
_MOST_CHARACTERS = 64 << 20
"""A document longer than this is not iperf3's: a day of one-second intervals takes half of it."""

_INTERVALS = re.compile(r'(\s*"intervals":\s*)\[\{?')
"""The head of the member that holds most of a document, and nothing that is read."""

_FORWARD, _REVERSE = "client to server", "server to client"
_DIRECTIONS = {"TX-C": _FORWARD, "RX-S": _FORWARD, "RX-C": _REVERSE, "TX-S": _REVERSE}


class _Figure(NamedTuple):
    fom: str
    value: float
    direction: str | None = None


@dataclasses.dataclass
class Run:
    """One test: its figures, and what keeps it from being whole."""

    figures: list[_Figure] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    payload_bytes: int = 0
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    """What it says of itself, by the name of the parameter."""


def parse_output(lines: Iterable[str], foms: Iterable[Fom]) -> Parsed:
    """Return the figures of every test, numbered by `run` where there are several."""
    findings = Findings(foms)
    reader = _Reader(findings)
    for line in findings.lines(lines, on_torn=reader.read_torn, banner=_BANNER):
        reader.read(line)
    runs = reader.end()
    if not runs:
        findings.problem("the output holds no result of iperf3")
    places = coordinates([run.facts for run in runs])
    for number, (run, at) in enumerate(zip(runs, places, strict=True), start=1):
        findings.say(**run.facts)
        for figure in run.figures:
            way = {"direction": figure.direction} if figure.direction else {}
            findings.measure(figure.fom, figure.value, **way, **at)
        for problem in run.problems:
            findings.problem(f"run {number}: {problem}" if len(runs) > 1 else problem)
    if reader.is_mixed:
        findings.mixed("rows without the head or the other rows of their test")
    is_complete = bool(runs) and not any(run.problems for run in runs)
    payload_bytes = sum(run.payload_bytes for run in runs)
    return findings.parsed(is_complete=is_complete, payload_bytes=payload_bytes if is_complete else None)


class _Reader:
    """Tells documents from text, and keeps the tests of both in order."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._runs: list[Run] = []
        self._version = ""
        self._text: _TextRun | None = None
        self._texts: list[_TextRun] = []
        self._document: list[str] | None = None
        self._n_characters = 0
        self._close = "}"
        self._member = ""
        self._is_in_intervals = False

    def read(self, line: str) -> None:
        """Take in one line."""
        if self._document is not None:
            self._read_document(self._document, line)
        elif line[:1] == "[" and self._text is not None and not self._text.wants(line):
            return  # an interval, as most lines of a long log
        elif "{" in line and (start := line.lstrip()).startswith("{"):
            self._begin_document(line, start)
        else:
            self._read_text(line)

    def read_torn(self, line: str) -> None:
        """Take in the last line when it has no line end: only what cannot be the beginning of more."""
        if line == self._close or line.strip() == "iperf Done." or (line.startswith("{") and _decode(line)):
            self.read(line)

    @property
    def is_mixed(self) -> bool:
        """Whether some tests of the text have a head and others none, or other rows than others without."""
        heads = {one.has_head for one in self._texts}
        return len(heads) > 1 or (heads == {False} and len({one.ends for one in self._texts}) > 1)

    def end(self) -> list[Run]:
        """Return all tests."""
        if self._document is not None:
            self._document = None
            self._add(Run(problems=["iperf3's JSON breaks off"]))
        self._end_text()
        return self._runs

    def _add(self, run: Run) -> None:
        if self._version:
            run.facts["program_version"] = self._version
        self._runs.append(run)
        self._findings.begin()
        self._findings.keep(len(run.figures))

    def _begin_document(self, line: str, start: str) -> None:
        if start == "{":
            self._end_text()
            self._document, self._n_characters, self._is_in_intervals = [line], 0, False
            self._close = line[: len(line) - 1] + "}"
        elif start.startswith('{"') and '"interval"' not in start[:24]:
            document = _decode(start)
            if document is not None:
                self._end_text()
                self._take(document)

    def _read_document(self, lines: list[str], line: str) -> None:
        if line == lines[0]:
            self._add(Run(problems=["iperf3's JSON breaks off"]))
            self._begin_document(line, "{")
            return
        if self._is_in_intervals:
            if not line.startswith((self._member, self._close)):
                return  # as most lines of a long document
            self._is_in_intervals = False
            if line != self._close:
                lines.append(",")
        elif len(lines) == 1:
            self._member = line[: len(line) - len(line.lstrip())] + '"'
        elif (head := _INTERVALS.fullmatch(line)) and line.startswith(self._member):
            self._is_in_intervals = True
            line = f"{head[1]}[]"
        self._n_characters += len(line)
        if self._n_characters < _MOST_CHARACTERS:
            lines.append(line)
        if line == self._close:
            document = _decode("\n".join(lines)) or _decode("\n".join(filter(_is_json, lines)))
            self._document = None
            if document is None:
                self._add(Run(problems=["iperf3's JSON cannot be read"]))
            else:
                self._take(document)

    def _take(self, document: Mapping[str, object]) -> None:
        """Keep what a document, or one event of a stream of them, says."""
        event, data = document.get("event"), document.get("data")
        if event in {None, "start"}:
            start = _Object(data if event else document.get("start"))
            self._version = start.text("version").removeprefix("iperf ")
        if event == "end" and isinstance(data, dict):
            document = {"end": data}
        elif event == "error":
            document = {"error": data}
        elif event is not None:
            return
        if "end" in document or "error" in document:
            self._add(_run_of(document))

    def _read_text(self, line: str) -> None:
        if line.startswith(("Connecting to host", "Accepted connection from")):
            self._end_text()
            self._text = _TextRun(is_client=line.startswith("C"))
        elif "/sec" in line:
            if self._text is not None and not self._text.wants(line):
                return
            row = _ROW.search(line)
            if row is None:
                return
            if self._text is None or self._text.has(row):
                self._end_text()
                self._text = _TextRun()
            self._text.read_row(row)
        elif line.startswith("iperf 3"):
            self._end_text()
            self._version = line.split()[1]
        elif self._text is not None:
            self._text.read(line)
            if self._text.is_done:
                self._end_text()
        elif line.startswith("iperf3: error"):
            self._add(Run(problems=[line]))

    def _end_text(self) -> None:
        if self._text is not None and self._text.is_test:
            self._texts.append(self._text)
            self._add(self._text.run())
        self._text = None


def _decode(text: str) -> dict[str, object] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _is_json(line: str) -> bool:
    """Return whether a line may be of a document, not of something that wrote in between."""
    return re.match(r'\s*(?:"[^"]*":|[\]\[{}])', line) is not None


# The document


def _run_of(document: Mapping[str, object]) -> Run:
    run = Run(facts=_facts(_Object(document.get("start")).child("test_start")))
    if "error" in document:
        run.problems.append(f"iperf3 failed: {document['error']}")
    end = _Object(document.get("end"))
    for suffix, direction in (("", None), ("_bidir_reverse", _REVERSE)):
        if direction is None and "sum_sent_bidir_reverse" in end.names:
            direction = _FORWARD
        sent, received = end.child(f"sum_sent{suffix}"), end.child(f"sum_received{suffix}")
        both = end.child(f"sum{suffix}")  # UDP; alone before 3.10
        _add(run, "throughput", received.number("bits_per_second"), direction, unit=1e9)
        rate = (sent if sent.names else both).number("bits_per_second")
        if rate or received.number("bits_per_second") is None:  # a receiver's own record of sending nothing
            _add(run, "throughput_sent", rate, direction, unit=1e9)
        _add(run, "retransmits", sent.number("retransmits"), direction)
        counts = received if received.number("lost_percent") is not None else both
        _add(run, "jitter", counts.number("jitter_ms"), direction)
        _add(run, "lost", counts.number("lost_packets"), direction)
        _add(run, "loss", counts.number("lost_percent"), direction)
        arrived = 1 - (counts.number("lost_percent") or 0) / 100
        moved = received.number("bytes") or (sent if sent.names else both).number("bytes") or 0
        run.payload_bytes += max(int(moved * min(arrived, 1)), 0)
    cpu = end.child("cpu_utilization_percent")
    _add(run, "cpu_local", cpu.number("host_total") or None)
    _add(run, "cpu_remote", cpu.number("remote_total") or None)
    if not any(figure.fom.startswith("throughput") for figure in run.figures) and not run.problems:
        run.problems.append("iperf3's JSON has no sum of the whole test")
    return run


_FACTS = {"num_streams": "streams", "blksize": "message_bytes", "duration": "time_s", "omit": "omit_s"}
_FLAGS = {"reverse": "reverse", "bidir": "bidirectional"}


def _facts(test: _Object) -> dict[str, Scalar]:
    """Return what a document says of its test, by the name of the parameter."""
    facts: dict[str, Scalar] = {}
    for key, name in _FACTS.items():
        if (value := test.number(key)) is not None and value > 0:
            facts[name] = int(value) if value.is_integer() else value
    facts |= {name: bool(value) for key, name in _FLAGS.items() if (value := test.number(key)) is not None}
    if (protocol := test.text("protocol")) in {"TCP", "UDP", "SCTP"}:
        facts["protocol"] = protocol.lower()
    return facts


def _add(run: Run, fom: str, value: float | None, direction: str | None = None, *, unit: float = 1) -> None:
    if value is not None:
        run.figures.append(_Figure(fom, value / unit, direction))


class _Object:
    """A JSON object whose members may be missing or of another kind."""

    def __init__(self, value: object) -> None:
        self._members: Mapping[str, object] = value if isinstance(value, dict) else {}

    @property
    def names(self) -> frozenset[str]:
        """Return the names of its members."""
        return frozenset(self._members)

    def child(self, name: str) -> _Object:
        """Return a member that is an object, or an empty one."""
        return _Object(self._members.get(name))

    def text(self, name: str) -> str:
        """Return a member that is a text, or an empty one."""
        value = self._members.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """Return a member that is a number."""
        value = self._members.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# The text

_ROW = re.compile(
    r"\[ *(?P<id>[0-9]{1,5}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])?\s+"
    r"(?P<start>[0-9]{1,9}\.[0-9]{2})-(?P<end>[0-9]{1,9}\.[0-9]{2})\s+sec\s+" + RESULT + r"(?P<rest>.*)"
)
_DATAGRAMS = re.compile(
    r"(?P<jitter>[0-9]{1,9}\.[0-9]{3}) ms\s+(?P<lost>[0-9]{1,15})/(?P<total>[0-9]{1,15})"
    r" \((?P<percent>[0-9]{1,9}(?:\.[0-9]{1,9})?(?:e[+-]?[0-9]{1,3})?)%\)"
)
_CPU = re.compile(
    r"CPU Utilization: local/\w+ ([0-9]{1,9}(?:\.[0-9]{1,9})?)% .*remote/\w+ ([0-9]{1,9}(?:\.[0-9]{1,9})?)%"
)
_STREAM = re.compile(r"\[ *[0-9]+\] local ")


class _TextRun:
    """One test as text: the rows of its summary, by stream, end and direction."""

    def __init__(self, *, is_client: bool | None = None) -> None:
        self._is_client = is_client
        self._in_summary = False
        self.is_done = False
        self._streams: set[str] = set()
        self._n_connections = 0
        self._rows: dict[tuple[str, str, str | None], re.Match[str]] = {}
        self._cpu: re.Match[str] | None = None
        self._failure = ""
        self._is_reverse = False

    @property
    def has_head(self) -> bool:
        """Whether it began with the line that names its other end."""
        return self._is_client is not None

    @property
    def ends(self) -> frozenset[str]:
        """The ends of which its summary has rows."""
        return frozenset(end for _, end, _ in self._rows)

    @property
    def is_test(self) -> bool:
        """Whether it is more than a stray line."""
        return self._is_client is not None or bool(self._streams) or bool(self._rows)

    def wants(self, line: str) -> bool:
        """Return whether a line that begins with a bracket is more than the row of an interval."""
        is_interval = "/sec" in line and not line.endswith(("sender", "receiver"))
        return not is_interval or (self._in_summary and " 0.00-" in line)

    def has(self, row: re.Match[str]) -> bool:
        """Return whether it already has this row of a summary, so that another test's summary begins."""
        return self._end_of(row) is not None and self._key(row) in self._rows

    def read_row(self, row: re.Match[str]) -> None:
        """Take in a row; those of intervals only tell that there is such a stream."""
        if row["id"] != "SUM":
            self._streams.add(row["id"])
        if self._end_of(row) is not None:
            stream, end, way = key = self._key(row)
            if end == "sender" and (stream, "receiver", way) in self._rows:
                self._failure = self._failure or "the receiver's row stands before the sender's"
            self._rows[key] = row

    def read(self, line: str) -> None:
        """Take in any other line."""
        if line.startswith("- - - - -"):
            self._in_summary = True
        elif line.startswith("iperf Done."):
            self.is_done = True
        elif _STREAM.match(line):  # verbose logs number these otherwise than the rows
            self._n_connections += 1
        elif line.startswith("Reverse mode, remote host "):
            self._is_reverse = True
        elif line.startswith("CPU Utilization:"):
            if not self._in_summary:
                self._failure = self._failure or "the use of processors stands before the summary"
            self._cpu = _CPU.match(line)
        elif line.startswith(("iperf3: error", "iperf3: interrupt")):
            self._failure = line

    def _end_of(self, row: re.Match[str]) -> str | None:
        """Return which end a row of the summary speaks of: before 3.2, UDP has one row for both."""
        for end in ("sender", "receiver"):
            if row["rest"].endswith(end):
                return end
        return (
            "both"
            if self._in_summary and float(row["start"]) == 0 and _DATAGRAMS.search(row["rest"])
            else None
        )

    def _key(self, row: re.Match[str]) -> tuple[str, str, str | None]:
        return (row["id"], self._end_of(row) or "", _DIRECTIONS.get(row["role"] or ""))

    def run(self) -> Run:
        """Return the figures of the test, and what keeps it from being whole."""
        run = Run(problems=list(self._faults()))
        if self._is_client:
            run.facts["reverse"] = self._is_reverse
        if any(way is not None for _, _, way in self._rows):
            run.facts["bidirectional"] = True
        for end, direction, row in self._totals():
            datagrams = _DATAGRAMS.search(row["rest"])
            run.figures.append(
                _Figure("throughput" if end == "receiver" else "throughput_sent", gbit_per_s(row), direction)
            )
            if (
                datagrams is None
                and end == "sender"
                and (sent := re.match(r"\s+([0-9]{1,12})\s", row["rest"]))
            ):
                run.figures.append(_Figure("retransmits", float(sent[1]), direction))
            if datagrams is not None and end != "sender":
                run.figures.append(_Figure("jitter", float(datagrams["jitter"]), direction))
                run.figures.append(_Figure("lost", float(datagrams["lost"]), direction))
                run.figures.append(_Figure("loss", float(datagrams["percent"]), direction))
            if end == "receiver":
                run.payload_bytes += least_bytes(row)
        if self._cpu is not None:
            run.figures.append(_Figure("cpu_local", float(self._cpu[1])))
            run.figures.append(_Figure("cpu_remote", float(self._cpu[2])))
        return run

    def _totals(self) -> Iterator[tuple[str, str | None, re.Match[str]]]:
        """Yield the rows that stand for the whole test: the sums, or those of the only stream."""
        n_rows = Counter((end, way) for _, end, way in self._rows)
        for (stream, end, way), row in self._rows.items():
            if stream == "SUM" or n_rows[end, way] == 1:
                yield end, way, row

    def _faults(self) -> Iterator[str]:
        if self._failure:
            yield self._failure
        totals = {(end, way) for end, way, _ in self._totals()}
        ends = {end for end, _ in totals}
        n_ways = len({way for _, way in totals}) or 1
        n_streams = max(len(self._streams), self._n_connections)
        if "both" in self.ends and len(self.ends) > 1:
            yield "the row of an interval stands in the summary"
        if not self._rows:
            yield "the test has no summary"
        elif not totals or (n_streams > n_ways and not any(key[0] == "SUM" for key in self._rows)):
            yield f"the summary of {n_streams} streams has no sum"
        elif self._is_client and not self.is_done:
            yield "the client's closing line 'iperf Done.' is missing"
        elif self._is_client and len(ends) == 1 and ends < {"sender", "receiver"}:
            yield f"the {'receiver' if 'sender' in ends else 'sender'}'s row is missing"
        elif self._is_client is None and not self.is_done and ends == {"sender"}:
            yield "the receiver's row is missing"
