"""Read the output of iperf3 3.0 to 3.19: JSON (-J, --json-stream) and text, of client and server.

iperf_api.c (iperf_print_results and JSON_write) defines the JSON, iperf_locale.c the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import Banner, coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.iperf3_run import Iperf3Run, JsonObject, run_of
from tare.plugins.workloads.iperf3_text import ROW, TextRun

_MOST_CHARACTERS = 64 << 20
"""The limit for one document; a day of one-second intervals takes half of it."""

_INTERVALS = re.compile(r'(\s*"intervals":\s*)\[\{?')
"""The head of the member `intervals`, which is most of a document, and which the parser does not need."""


_OF_CLIENT = re.compile(r"iperf Done\.|Connecting to host|iperf3: error|\[ *(?:[0-9]+|SUM)\]\[[TR]X-C\]")
"""A line of a client after the output of its server; with --bidir, more rows follow it."""


_BLANK_OR_TIME = re.compile(r"\s*(?:.{0,40}[0-9]{2}:[0-9]{2}:[0-9]{2}.{0,20})?")
"""What may stand before a row: logs of rows alone often have the time there."""
_TITLED = re.compile(r"(\S.{0,200}?:  )(?=Connecting to host |Accepted connection from |iperf 3)")


class Iperf3Log(LogParser):
    """Separates documents from text, and collects the tests of both in order."""

    banner = Banner("iperf 3", r'\biperf (3[0-9.]*\+?)(?=["\s])')

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[Iperf3Run] = []
        self._version = ""
        self._text: TextRun | None = None
        self._texts: list[TextRun] = []
        self._is_of_server = False
        self._title = ""
        """What the option --title puts before each line."""
        self._has_labels = False
        """Whether something else stood before a row."""
        self._streamed: object = None
        self._document: list[str] | None = None
        self._n_characters = 0
        self._close = "}"
        self._member = ""
        self._is_in_intervals = False

    def read(self, line: str) -> None:
        """Read one line."""
        if self._title:
            line = line.removeprefix(self._title)
        elif ":  " in line and (head := _TITLED.match(line)):
            self._title = head[1]
            line = line[head.end() :]
        if self._is_of_server and not _OF_CLIENT.match(line):
            return
        self._is_of_server = False
        if self._document is not None:
            self._read_document(self._document, line)
        elif line[:1] == "[" and self._text is not None and not self._text.wants(line):
            return  # an interval, like most lines of a long log
        elif "{" in line and (start := line.lstrip()).startswith("{"):
            self._begin_document(line, start)
        else:
            self._read_text(line)

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end, if it cannot be the beginning of a longer line."""
        if line == self._close or line.strip() == "iperf Done." or (line.startswith("{") and _decode(line)):
            self.read(line)

    @property
    def _is_mixed(self) -> bool:
        """Whether only some tests of the text have a head, or tests without a head have different rows."""
        heads = {one.has_head for one in self._texts}
        return len(heads) > 1 or (heads == {False} and len({one.ends for one in self._texts}) > 1)

    def parsed(self) -> Parsed:
        """Return the figures of all tests, with coordinates that distinguish them if there are several."""
        if self._document is not None:
            self._document = None
            self._add(Iperf3Run(problems=["iperf3's JSON breaks off"]))
        self._end_text()
        findings, runs = self._findings, self._runs
        if not runs:
            findings.problem("the output holds no result of iperf3")
        points = coordinates([run.facts for run in runs])
        for number, (run, at) in enumerate(zip(runs, points, strict=True), start=1):
            findings.record_facts(**run.facts)
            for figure in run.figures:
                way = {"direction": figure.direction} if figure.direction else {}
                findings.measure(figure.fom, figure.value, **way, **at)
            for fom, why in run.left_out.items():
                findings.leave_out(fom, why, at)
            for problem in run.problems:
                findings.problem(f"run {number}: {problem}" if len(runs) > 1 else problem)
        if self._has_labels:
            findings.problem("text stands before rows of iperf3, and hides what its tests were; remove it")
        if self._is_mixed:
            findings.mixed("rows without the head or the other rows of their test")
        is_complete = bool(runs) and not any(run.problems for run in runs)
        payload_bytes = sum(run.payload_bytes for run in runs)
        return findings.parsed(is_complete=is_complete, payload_bytes=payload_bytes if is_complete else None)

    def _add(self, run: Iperf3Run) -> None:
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
            self._add(Iperf3Run(problems=["iperf3's JSON breaks off"]))
            self._begin_document(line, "{")
            return
        if self._is_in_intervals:
            if not line.startswith((self._member, self._close)):
                return  # like most lines of a long document
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
                self._add(Iperf3Run(problems=["iperf3's JSON cannot be read"]))
            else:
                self._take(document)

    def _take(self, document: Mapping[str, object]) -> None:
        """Record the test in a document, or in one event of a stream (--json-stream)."""
        event, data = document.get("event"), document.get("data")
        if event in {None, "start"}:
            start = JsonObject(data if event else document.get("start"))
            self._version = start.text("version").removeprefix("iperf ")
        if event is None and self._streamed is not None and document.get("end") == self._streamed:
            self._streamed = None  # --json-stream-full-output repeats the test as one document
            return
        if event == "end" and isinstance(data, dict):
            self._streamed = data
            document = {"end": data}
        elif event == "error":
            document = {"error": data}
        elif event is not None:
            return
        if "end" in document or "error" in document:
            self._add(run_of(document))

    def _read_text(self, line: str) -> None:
        if line.startswith(("Connecting to host", "Accepted connection from")):
            self._end_text()
            self._text = TextRun(is_client=line.startswith("C"))
        elif "/sec" in line:
            if self._text is not None and not self._text.wants(line):
                return
            row = ROW.search(line)
            if row is None:
                if line.endswith(("sender", "receiver")):
                    self._read_broken_row(line)
                return
            self._has_labels |= row.start() > 0 and not _BLANK_OR_TIME.fullmatch(line, 0, row.start())
            if self._text is None or self._text.has(row):
                self._end_text()
                self._text = TextRun()
            self._text.read_row(row)
        elif line.startswith("iperf 3"):
            self._end_text()
            self._version = line.split()[1]
        elif self._text is not None and line in {"Server output:", "Server JSON output:"}:
            self._is_of_server = True  # the same test again, as the server saw it (--get-server-output)
        elif self._text is not None:
            self._text.read(line)
            if self._text.is_done:
                self._end_text()
        elif line.startswith(("iperf3: error", "iperf3: parameter error")):
            self._add(Iperf3Run(problems=[line]))

    def _read_broken_row(self, line: str) -> None:
        """Read the rest of a row of a summary; without a test, the log begins in the middle of it."""
        if self._text is not None:
            self._text.read_broken_row(line)
        else:
            self._findings.problem(f"a row of a test's summary is broken: {line.strip()[:120]}")

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
    """Return whether a line may be part of a document, and not output of another program in between."""
    return re.match(r'\s*(?:"[^"]*":|[\]\[{}])', line) is not None
