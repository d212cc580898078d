"""Read one test from iperf3's text (iperf_locale.c)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tare.plugins.workloads.common.data_rates import (
    RESULT,
    contradiction,
    gbit_per_s,
    least_bytes,
    loss_percent,
    rounded_away,
)
from tare.plugins.workloads.iperf3_run import FORWARD, REVERSE, Figure, Iperf3Run

_DIRECTIONS = {"TX-C": FORWARD, "RX-S": FORWARD, "RX-C": REVERSE, "TX-S": REVERSE}

ROW = re.compile(
    r"\[ *(?P<id>[0-9]{1,5}|SUM)\](?:\[(?P<role>[TR]X-[CS])\])?\s+"
    r"(?P<start>[0-9]{1,9}\.[0-9]{2})-(?P<end>[0-9]{1,9}\.[0-9]{2})\s+sec\s+" + RESULT + r"(?P<rest>.*)"
)

_DATAGRAMS = re.compile(
    r"(?P<jitter>[0-9]{1,9}\.[0-9]{3}) ms\s+(?P<lost>[0-9]{1,15})/(?P<total>[0-9]{1,15})"
    r" \((?P<percent>[0-9]{1,9}(?:\.[0-9]{1,9})?(?:e[+-]?[0-9]{1,3})?)%\)"
)

_OF_DATAGRAMS = re.compile(r"\bms\s.*/")
"""What rows of UDP have, also broken ones."""

_REST = re.compile(rf"\s*(?:[0-9]{{1,12}}\s+|{_DATAGRAMS.pattern}\s*)?(?:sender|receiver)?\s*")
"""What follows the rate in a row of the summary: retransmits or datagrams, and the end."""

_RETRANSMITS = re.compile(r"\s+([0-9]{1,12})\s")

_CPU = re.compile(
    r"CPU Utilization: local/\w+ ([0-9]{1,9}(?:\.[0-9]{1,9})?)% .*remote/\w+ ([0-9]{1,9}(?:\.[0-9]{1,9})?)%"
)

_STREAM = re.compile(r"\[ *[0-9]+\] local ")


_Total = tuple[str, str | None, re.Match[str]]
"""A row for the whole test, after its end and its direction."""


class TextRun:
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
        """Whether it began with the line that names the other end."""
        return self._is_client is not None

    @property
    def ends(self) -> frozenset[str]:
        """The ends (sender, receiver, both) for which its summary has rows."""
        return frozenset(end for _, end, _ in self._rows)

    @property
    def is_test(self) -> bool:
        """Whether it is more than a stray line."""
        return self._is_client is not None or bool(self._streams) or bool(self._rows)

    def wants(self, line: str) -> bool:
        """Return whether a line that begins with a bracket is needed; rows of intervals are not."""
        is_interval = "/sec" in line and not line.endswith(("sender", "receiver"))
        return not is_interval or (self._in_summary and " 0.00-" in line)

    def has(self, row: re.Match[str]) -> bool:
        """Return whether it already has this row of a summary, so that the row begins another test's."""
        return self._end_of(row) is not None and self._key(row) in self._rows

    def read_row(self, row: re.Match[str]) -> None:
        """Read a row; a row of an interval only shows that its stream exists."""
        if row["id"] != "SUM":
            self._streams.add(row["id"])
        if self._end_of(row) is not None:
            stream, end, way = key = self._key(row)
            if not _REST.fullmatch(row["rest"]):
                self._failure = self._failure or f"a row of the summary is broken: {row.string.strip()[:120]}"
            if end == "sender" and (stream, "receiver", way) in self._rows:
                self._failure = self._failure or "the receiver's row stands before the sender's"
            self._rows[key] = row

    def read_broken_row(self, line: str) -> None:
        """Read a row that cannot be read as a whole; only those of the summary count."""
        if self._in_summary:
            self._failure = self._failure or f"a row of the summary is broken: {line.strip()[:120]}"

    def read(self, line: str) -> None:
        """Read a line that is not a row."""
        if line.startswith("- - - - -"):
            self._in_summary = True
        elif line.startswith("iperf Done."):
            self.is_done = True
        elif _STREAM.match(line):  # in verbose logs, these numbers differ from those of the rows
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
        """Return the end that a row of the summary is about; before 3.2, UDP has one row for both ends."""
        for end in ("sender", "receiver"):
            if row["rest"].endswith(end):
                return end
        return (
            "both"
            if self._in_summary and float(row["start"]) == 0 and _OF_DATAGRAMS.search(row["rest"])
            else None
        )

    def _key(self, row: re.Match[str]) -> tuple[str, str, str | None]:
        return (row["id"], self._end_of(row) or "", _DIRECTIONS.get(row["role"] or ""))

    def run(self) -> Iperf3Run:
        """Return the figures of the test, and the reasons why it is not complete."""
        totals = list(self._totals())
        run = Iperf3Run(problems=list(self._faults(totals)))
        if self._is_client:
            run.facts["reverse"] = self._is_reverse
        if any(way is not None for _, _, way in self._rows):
            run.facts["bidirectional"] = True
        elif self._streams and self._n_connections in {0, len(self._streams)}:
            run.facts["streams"] = len(self._streams)
        if any(_DATAGRAMS.search(row["rest"]) for row in self._rows.values()):
            run.facts["protocol"] = "udp"
        elif any(_RETRANSMITS.match(row["rest"]) for row in self._rows.values()):
            run.facts["protocol"] = "tcp"
        for end, direction, row in totals:
            datagrams = _DATAGRAMS.search(row["rest"])
            if (rate := gbit_per_s(row)) is not None:
                fom = "throughput" if end == "receiver" else "throughput_sent"
                run.figures.append(Figure(fom, rate, direction))
            if datagrams is None and end == "sender" and (sent := _RETRANSMITS.match(row["rest"])):
                run.figures.append(Figure("retransmits", float(sent[1]), direction))
            if datagrams is not None and end != "sender":
                run.figures.append(Figure("jitter", float(datagrams["jitter"]), direction))
                run.figures.append(Figure("lost", float(datagrams["lost"]), direction))
                loss = loss_percent(datagrams["lost"], datagrams["total"], datagrams["percent"])
                run.figures.append(Figure("loss", loss, direction))
            if end == "receiver":
                run.payload_bytes += least_bytes(row)
        if self._cpu is not None:
            run.figures.append(Figure("cpu_local", float(self._cpu[1])))
            run.figures.append(Figure("cpu_remote", float(self._cpu[2])))
        return run

    def _totals(self) -> Iterator[_Total]:
        """Yield the rows for the whole test: the sums, or the rows of the only stream."""
        n_rows = Counter((end, way) for _, end, way in self._rows)
        for (stream, end, way), row in self._rows.items():
            if stream == "SUM" or n_rows[end, way] == 1:
                yield end, way, row

    def _faults(self, totals: Sequence[_Total]) -> Iterator[str]:
        if self._failure:
            yield self._failure
        yield from {rounded_away(row) for _, _, row in totals if gbit_per_s(row) is None}
        yield from dict.fromkeys(filter(None, (contradiction(row) for _, _, row in totals)))
        ends = {end for end, _, _ in totals}
        ways = {way for _, way, _ in totals}
        lost = {(end, way) for end in ("sender", "receiver") for way in ways}
        lost -= {(end, way) for end, way, _ in totals}
        n_ways = len(ways) or 1
        n_streams = max(len(self._streams), self._n_connections)
        if "both" in self.ends and len(self.ends) > 1:
            yield "the row of an interval stands in the summary"
        if not self._rows:
            yield "the test has no summary"
        elif not totals or (n_streams > n_ways and not any(key[0] == "SUM" for key in self._rows)):
            yield f"the summary of {n_streams} streams has no sum"
        elif self._is_client and not self.is_done:
            yield "the client's closing line 'iperf Done.' is missing"
        elif self._is_client and "both" not in ends and lost:
            yield f"the {min(lost)[0]}'s row is missing"
        elif self._is_client is None and not self.is_done and ends == {"sender"}:
            yield "the receiver's row is missing"
