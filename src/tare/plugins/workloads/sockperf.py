"""sockperf: latency and message rate over sockets (https://github.com/Mellanox/sockperf).

Each line begins with ``sockperf: ``. A summary of latencies has a mean, dropped messages, and percentiles::

    sockperf: ====> avg-latency=2.671 (std-dev=21.890)
    sockperf: # dropped messages = 3; # duplicated messages = 0; # out-of-order messages = 0
    sockperf: ---> <MAX> observation = 2444.562
    sockperf: ---> percentile 99.999 =  544.562
"""

from __future__ import annotations

import abc
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parameter, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults

_HEADER_BYTES = 14
"""The smallest message: only a header (MsgHeader in message.h)."""


_LATENCY = (
    declare.lower("latency", "us", "half of a round trip, mean", is_primary=True),
    declare.lower("latency_percentile", "us", "half of a round trip, by percentile", "percentile"),
    declare.lower("latency_min", "us", "the shortest"),
    declare.lower("latency_max", "us", "the longest"),
    declare.lower("latency_stddev", "us", "standard deviation"),
    declare.lower("round_trip", "us", "a whole round trip, mean (--full-rtt)"),
    declare.lower("round_trip_percentile", "us", "a whole round trip, by percentile", "percentile"),
    declare.lower("round_trip_min", "us", "the shortest"),
    declare.lower("round_trip_max", "us", "the longest"),
    declare.lower("round_trip_stddev", "us", "standard deviation"),
    declare.lower("dropped", "1", "messages that were never answered"),
)
_THROUGHPUT = (
    declare.higher("message_rate", "msg/s", "messages sent per second", is_primary=True),
    declare.higher(
        "bandwidth",
        "MiB/s",
        "2²⁰ bytes of messages sent per second, which sockperf calls MBps",
        is_primary=True,
    ),
)

_PARAMETERS = (
    declare.text("protocol", "udp", "what it sends", choices=("udp", "tcp")),
    declare.size("message_bytes", _HEADER_BYTES, "size of a message (-m)", minimum=_HEADER_BYTES),
    declare.seconds("time_s", 10.0, "how long it sends (-t)", minimum=1),
    port_parameter(11111),
)
_RATE = declare.whole(
    "messages_per_s", 10_000, "messages per second (--mps); every hundredth is answered", minimum=100
)

_DESCRIPTION = """\
Starts `sockperf server` on the first node and `sockperf {mode}` on the second. Debian and Ubuntu have the
package sockperf. Unless the output says "avg-rtt", a latency is half of a round trip."""


class Sockperf(PeerBenchmark, frozen=True, kw_only=True):
    """A workload that runs sockperf's client in one mode."""

    mode: str

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that sockperf would refuse or silently change."""
        yield from super().faults(case)
        yield from whole_seconds_faults(case, "sockperf", "time_s")

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked = case.parameters
        tcp = ["--tcp"] if asked["protocol"] == "tcp" else []
        client = ["sockperf", self.mode, "-i", "numeric:{address0}", "-p", str(asked["port"]), *tcp]
        client += ["-m", str(asked["message_bytes"]), "-t", f"{float(asked['time_s']):.15g}"]
        client += ["--mps", str(asked["messages_per_s"])] if "messages_per_s" in asked else []
        server, protocol = ["sockperf", "server", "-p", str(asked["port"]), *tcp], str(asked["protocol"])
        return (peer_stage(case, server, client, int(asked["port"]), protocol),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the summaries of this mode (see core.workload.Workload.parse)."""
        log = _ThroughputLog if self.mode == "throughput" else _LatencyLog
        return log(self.foms).parse(lines)


class _Log(LogParser):
    """Collects the summaries of a log, one run after another: figures by name and percentile."""

    banner = Banner("== version #", r"sockperf: == version #(\S+) ==")
    last: re.Pattern[str]
    """A pattern for the last line of a summary."""

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._runs: list[list[tuple[str, float, dict[str, float]]]] = []
        self._facts: list[dict[str, Scalar]] = []
        self._options: dict[str, Scalar] = {}
        self._is_open = False
        self.n_messages = 0
        self._errors: dict[str, None] = {}
        self._is_timer_over = False
        """Whether the timer has ended the test that is being read."""

    def read(self, line: str) -> None:
        if "sockperf: " in line:
            self._read_own(line)
        elif "--" in line:
            self._read_options(line)
        elif "] IP = " in line and (end := _END.match(line)):
            self._options = {**self._options, "protocol": end[1].lower()}

    def _read_own(self, line: str) -> None:
        if _TIMER in line:
            self._is_timer_over = True
        elif _BEGIN in line:
            self._is_timer_over = False
        elif _SIGNAL in line and self._is_timer_over:
            return
        elif any(word in line for word in _FAILURES):
            self._errors.setdefault(line[line.index("sockperf: ") :].strip()[:200])
            self._findings.keep()
        else:
            for fom, value, at in self.figures(line):
                if not self._is_open:
                    self._runs.append([])
                    self._facts.append(self._options)
                self._is_open = True
                self._runs[-1].append((fom, value, at))
                self._findings.keep()
            if self._is_open and self.last.search(line):
                self._is_open = False

    def _read_options(self, line: str) -> None:
        """Read the options of the next run from the head of a full log (--full-log)."""
        if line.startswith("test was performed using the following parameters: "):
            options = [(_OPTIONS.get(name), value) for name, value in _OPTION.findall(line)]
            self._options = {name: int(value) for name, value in options if name is not None}

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end, if it is the last line of a summary, which is whole."""
        if self.last.search(line):
            self._read_own(line)

    def gaps(self, number: int, figures: Sequence[tuple[str, float, Mapping[str, float]]]) -> Iterator[str]:
        """Yield what a summary lacks; a subclass checks for the lines that every summary has."""
        return iter(())

    @abc.abstractmethod
    def figures(self, line: str) -> Iterator[tuple[str, float, dict[str, float]]]:
        """Yield the figures in a line."""

    def parsed(self) -> Parsed:
        """Return the figures of all runs, with coordinates that distinguish the runs."""
        findings = self._findings
        faults = list(self._errors)
        if self._is_open:
            faults.append("the summary breaks off")
        elif not self._runs and not faults:
            faults.append("the output holds no such summary of sockperf")
        faults += [fault for number, run in enumerate(self._runs) for fault in self.gaps(number, run)]
        for run in self._runs:
            counts = Counter((fom, tuple(at.items())) for fom, _, at in run)
            doubled = dict.fromkeys(fom for (fom, _), count in counts.items() if count > 1)
            faults += [f"the summary has {fom} twice" for fom in doubled]
        for run, facts, which in zip(self._runs, self._facts, coordinates(self._facts), strict=True):
            findings.record_facts(**facts)
            for fom, value, at in run:
                findings.measure(fom, value, **{**at, **which})
        findings.problems(faults)
        payload_bytes = self.n_messages * _HEADER_BYTES
        return findings.parsed(is_complete=not faults, payload_bytes=payload_bytes or None)


_FAILURES = (
    "ERROR", "No messages were received", "No valid observations",
    "Test end (interrupted by user)", "Test end (interrupted by signal",
)  # fmt: skip
_BEGIN = "sockperf: Starting test"
_TIMER = "Test end (interrupted by timer)"
"""The timer ends every test of a given time; it is no failure."""
_SIGNAL = "Test end (interrupted by signal 2)"
"""After the timer, under-load ends its receiver by SIGINT, which the handler reports (client.cpp)."""
_OPTION = re.compile(r"--([a-z-]{1,30})=([0-9]{1,12})(?=\s|$)")
_END = re.compile(r"\[ *[0-9]+\] IP = .*# (TCP|UDP)\b")
"""The other end, as the client prints it before a run."""
_OPTIONS = {"msg-size": "message_bytes", "mps": "messages_per_s", "time": "time_s"}
"""The workload's parameter for each of sockperf's options."""
_VALID = re.compile(r"\[Valid Duration\] .*SentMessages=([0-9]{1,15})")
_MEAN = re.compile(
    r"====> avg-(?P<kind>latency|lat|rtt)= *(?P<mean>[0-9]{1,12}\.[0-9]{1,3})"
    r" \(std-dev= *(?P<deviation>[0-9]{1,12}\.[0-9]+)"
)
_PERCENTILES = (25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999)
_DROPPED = re.compile(r"# dropped messages = ([0-9]{1,15});")
_TOTAL = re.compile(r"Total ([0-9]{1,15}) observations\b")
_OBSERVATION = re.compile(
    r"---> (?:<(?P<end>MAX|MIN)> observation|percentile +(?P<percentile>[0-9]{1,2}\.[0-9]+))"
    r" = *(?P<value>[0-9]{1,12}\.[0-9]{3})$"
)


class _LatencyLog(_Log):
    last = re.compile(r"---> <MIN> observation = *[0-9]{1,12}\.[0-9]{3}$")

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._kind = "latency"
        self._highest = float("inf")
        self._lacking: dict[int, frozenset[float]] = {}
        """For the number of each run, the percentiles that are not printed of so few observations."""

    def gaps(self, number: int, figures: Sequence[tuple[str, float, Mapping[str, float]]]) -> Iterator[str]:
        """Yield the percentiles or the maximum that a summary lacks (client.cpp)."""
        names = {fom for fom, _, _ in figures}
        found = {at["percentile"] for _, _, at in figures if "percentile" in at}
        if len(found) < sum("percentile" in at for _, _, at in figures):
            self._findings.mixed("a percentile is there twice")
        found |= self._lacking.get(number, frozenset())
        lost = [f"{one:g} %" for one in _PERCENTILES if one not in found]
        lost += [] if f"{self._kind}_max" in names else ["maximum"]
        lost += [] if "dropped" in names else ["dropped messages"]
        if lost:
            yield f"the summary lacks rows: {', '.join(lost)}"

    def figures(self, line: str) -> Iterator[tuple[str, float, dict[str, float]]]:
        """Yield mean and deviation, the number of dropped messages, or one percentile or extreme value."""
        if (mean := _MEAN.search(line)) is not None:
            if self._is_open:
                self._findings.mixed("a summary begins before the last one ends")
            self._highest = float("inf")
            self._kind = "round_trip" if mean["kind"] == "rtt" else "latency"
            yield self._kind, float(mean["mean"]), {}
            yield f"{self._kind}_stddev", float(mean["deviation"]), {}
        elif (valid := _VALID.search(line)) is not None:
            self.n_messages += int(valid[1])
        elif not self._is_open:
            return
        elif (dropped := _DROPPED.search(line)) is not None:
            yield "dropped", float(dropped[1]), {}
        elif (total := _TOTAL.search(line)) is not None:  # client.cpp rounds the rank of an observation
            self._lacking[len(self._runs) - 1] = frozenset(
                one for one in _PERCENTILES if one / 100 * int(total[1]) < 0.5
            )
        elif (row := _OBSERVATION.search(line)) is not None:
            if float(row["value"]) > self._highest:  # printed from longest to shortest
                self._findings.mixed("percentiles do not fall")
            self._highest = float(row["value"])
            if row["end"]:
                yield f"{self._kind}_{row['end'].lower()}", float(row["value"]), {}
            else:
                yield (
                    f"{self._kind}_percentile",
                    float(row["value"]),
                    {"percentile": float(row["percentile"])},
                )


_MESSAGES = re.compile(r"Summary: Message Rate is ([0-9]{1,15}) \[msg/sec\]")
_BANDWIDTH = re.compile(r"Summary: BandWidth is ([0-9]{1,12}\.[0-9]{3}) ([MG])Bps \([0-9.]+ [MG]bps\)")
_MEBIBYTES = {"M": 1, "G": 1000}
"""Factors to MiB: in sockperf, a GB (--giga-size) is 1000 MB, and a MB is 2²⁰ bytes (client.cpp)."""


class _ThroughputLog(_Log):
    last = _BANDWIDTH

    def gaps(self, number: int, figures: Sequence[tuple[str, float, Mapping[str, float]]]) -> Iterator[str]:
        """Yield that a summary lacks its message rate, which stands above the bandwidth (client.cpp)."""
        if "message_rate" not in {fom for fom, _, _ in figures}:
            yield "the summary lacks rows: message rate"

    def figures(self, line: str) -> Iterator[tuple[str, float, dict[str, float]]]:
        if (messages := _MESSAGES.search(line)) is not None:
            yield "message_rate", float(messages[1]), {}
        elif (bandwidth := _BANDWIDTH.search(line)) is not None:
            yield "bandwidth", float(bandwidth[1]) * _MEBIBYTES[bandwidth[2]], {}


def _workload(name: str, mode: str, summary: str, foms: tuple[Fom, ...], *more: Parameter) -> Sockperf:
    return Sockperf(
        name=f"sockperf.{name}",
        summary=summary,
        description=_DESCRIPTION.format(mode=mode),
        parameters=(*_PARAMETERS, *more),
        foms=foms,
        mode=mode,
    )


WORKLOADS = (
    _workload("ping_pong", "ping-pong", "One message to and fro over a socket.", _LATENCY),
    _workload(
        "under_load", "under-load", "Latency while messages are sent at a fixed rate.", _LATENCY, _RATE
    ),
    _workload("throughput", "throughput", "Messages one way, as many as can be sent.", _THROUGHPUT),
)
