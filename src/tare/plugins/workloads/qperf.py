"""qperf: bandwidth and latency over sockets and RDMA (https://github.com/linux-rdma/qperf).

The output has the name of each test and its values, one per line: ``tcp_bw:`` and ``    bw  =  2.5 GB/sec``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import coordinates
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults

_FOMS = (
    declare.higher("bandwidth", "GB/s", "10⁹ bytes per second that arrived", "test", is_primary=True),
    declare.lower("latency", "us", "half of a round trip", "test", is_primary=True),
    declare.higher(
        "bandwidth_sent", "GB/s", "10⁹ bytes per second that were sent, where some are lost", "test"
    ),
    declare.higher("message_rate", "msg/s", "messages per second", "test"),
)

_FIGURES = {
    "bw": "bandwidth",
    "recv_bw": "bandwidth",
    "send_bw": "bandwidth_sent",
    "latency": "latency",
    "msg_rate": "message_rate",
}
"""The figure of merit for each value that qperf prints; other values describe processor use and the test."""

_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1.0}

_PARAMETERS = (
    declare.text("tests", "tcp_bw tcp_lat", "its tests, with blanks between"),
    declare.seconds("time_s", 2.0, "how long each takes (-t)", minimum=1),
    declare.size(
        "message_bytes",
        0,
        "size of a message (-m); 0 leaves qperf's own: 64 KiB for bandwidth, 1 byte for latency",
        minimum=0,
    ),
    port_parameter(19765),
)

_DESCRIPTION = """\
Starts `qperf` on the first node and `qperf ADDRESS TEST …` on the second. Tests over sockets are tcp_bw,
tcp_lat, udp_bw, udp_lat, sctp_… and rds_…; tests over RDMA rc_bw, rc_bi_bw, rc_lat, rc_rdma_read_bw,
rc_rdma_write_lat, uc_…, ud_… and so on (qperf --help tests). Debian and Fedora have the package qperf.

`bytes` is a coordinate wherever qperf prints the size of its messages (-v; loops, -oo msg_size:1:64K:*2, do).

Traps: three digits are all that qperf prints. `bandwidth` of a test that loses data, as udp_bw, is what
arrived; `bandwidth_sent` may be far more."""

_TEST = re.compile(r"(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc|ver_rc)_[a-z_]+")
_KNOWN = re.compile(
    r"(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc)_(?:bi_)?(?:bw|lat)|(?:rc|uc)_rdma_(?:read|write)_(?:poll_)?(?:bw|lat)"
    r"|rc_(?:compare_swap|fetch_add)_mr|ver_rc_(?:compare_swap|fetch_add)"
)
"""The tests of qperf 0.4.11 (qperf.c, Tests); any other name is garbled."""
_HEAD = re.compile(r"(" + _TEST.pattern + r"):")
_VALUE = re.compile(
    r"\s+(?P<name>\w+)\s+=\s+(?P<number>(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,6})(?:\.[0-9]{1,9})?)"
    r" (?P<unit>[A-Za-z/]+)"
    r"(?: \((?P<exact>[0-9][0-9,]{0,20})\))?"
)
_SIZES = {"bytes": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""qperf uses units of 1000, except for multiples of 1024, which it prints twice: ``64 KiB (65,536)``."""
_FACTS = {"msg_size": "bytes", "sock_buf_size": "socket_bytes", "mtu_size": "mtu"}
"""The settings that qperf prints with -v or -vu; they are coordinates that distinguish its results."""
_RATE = re.compile(r"(?P<prefix>[KMGT]?)(?P<what>B|b|bytes|bits|)/sec")


_BROKEN = re.compile(rf"(?<!\w)(?:{'|'.join(_FIGURES)})\s+=\s|{_TEST.pattern}:")
"""A value of a figure of merit or the head of a test, in a line that is not one value: lines became one."""


class Qperf(PeerBenchmark, frozen=True, kw_only=True):
    """The workload of qperf; `tests` are those that the case asks for, empty without a case."""

    tests: tuple[str, ...] = ()
    message_bytes: int = 0

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that qperf would refuse or silently change."""
        yield from super().faults(case)
        yield from whole_seconds_faults(case, "qperf", "time_s")
        if not _tests(case):
            yield "tests is empty; set tests: tcp_bw tcp_lat"
        for test in _tests(case):
            if not _TEST.fullmatch(test):
                yield f"{test!r} is no test of qperf; write one such as tcp_bw, tcp_lat or rc_bw"

    def expecting(self, case: Case) -> Self:
        """Return a copy with the tests and the message size that `case` asks for."""
        size = int(case.parameters["message_bytes"])
        return msgspec.structs.replace(self, tests=_tests(case), message_bytes=size)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        port = str(case.parameters["port"])
        client = ["qperf", "-lp", port, "-t", f"{float(case.parameters['time_s']):.15g}"]
        client += ["-m", str(case.parameters["message_bytes"])] if case.parameters["message_bytes"] else []
        return (peer_stage(case, ["qperf", "-lp", port], [*client, "{address0}", *_tests(case)], int(port)),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the values of each test (see core.workload.Workload.parse)."""
        return _Log(_FOMS, self.tests, self.message_bytes).parse(lines)


def _tests(case: Case) -> tuple[str, ...]:
    return tuple(str(case.parameters["tests"]).split())


@dataclasses.dataclass
class _Result:
    test: str
    figures: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    complaint: str = ""


class _Log(LogParser):
    """Collects the tests of a log, in order; `asked` and `message_bytes` are those of the case, if any."""

    def __init__(self, foms: Iterable[Fom], asked: tuple[str, ...], message_bytes: int) -> None:
        super().__init__(foms)
        self._asked = asked
        self._message_bytes = message_bytes
        self._results: list[_Result] = []
        self._is_cut = False

    def read(self, line: str) -> None:
        """Read the head of a test, one of its values, or an error message."""
        if line.endswith(":") and (head := _HEAD.fullmatch(line.lstrip())) is not None:
            if not _KNOWN.fullmatch(head[1]):
                self._findings.problem(f"{head[1]} is no test of qperf")
            self._results.append(_Result(head[1]))
            self._findings.begin()
            return
        if " = " in line:
            value = _VALUE.fullmatch(line)
            if value is not None and self._results:
                self._read_value(self._results[-1], value)
            elif value is not None and value["name"] in _FIGURES:
                self._findings.mixed("a value stands before the head of its test")
            elif value is None and _BROKEN.search(line):
                self._findings.problem(f"a value of qperf is broken: {' '.join(line.split())[:120]}")
            return
        if line and "fail" in line and self._results and not self._results[-1].figures:
            self._results[-1].complaint = self._results[-1].complaint or line.strip()[:200]

    def read_torn(self, line: str) -> None:
        """Read a last line without a line end, if it is a value whose unit is whole."""
        if line.endswith(("/sec", " us", " ns", " ms")):
            self.read(line)
        elif line:
            self._is_cut = True

    def _read_value(self, result: _Result, value: re.Match[str]) -> None:
        self._findings.keep()
        fom = _FIGURES.get(value["name"])
        number = float(value["number"].replace(",", ""))
        n_before = len(result.figures)
        if value["name"] in _FACTS and value["unit"] in _SIZES:
            exact = value["exact"] and int(value["exact"].replace(",", ""))
            result.facts[_FACTS[value["name"]]] = exact or round(number * _SIZES[value["unit"]])
        if fom == "latency" and value["unit"] in _SECONDS:
            result.figures.append((fom, round(number * _SECONDS[value["unit"]] * 1e6, 9)))
        elif fom is not None and (rate := _RATE.fullmatch(value["unit"])) is not None:
            per_second = number * _PREFIXES[rate["prefix"]]
            if fom == "message_rate" and not rate["what"]:
                result.figures.append((fom, per_second))
            elif fom != "message_rate" and rate["what"]:
                n_bytes = per_second / 8 if rate["what"] in {"b", "bits"} else per_second
                result.figures.append((fom, n_bytes / 1e9))
        if fom is not None and len(result.figures) == n_before:
            self._findings.problem(f"{value['name']} of qperf is in {value['unit'][:40]}, which is not known")

    def parsed(self) -> Parsed:
        """Return the figures of all tests, numbered by `run` if nothing else distinguishes two tests."""
        findings, asked, message_bytes = self._findings, self._asked, self._message_bytes
        names = {result.test for result in self._results}
        faults = [f"{one.test}: {one.complaint or 'no result'}" for one in self._results if not one.figures]
        faults += [f"{test} was asked for and is missing" for test in asked if test not in names]
        faults += [] if self._results else ["the output holds no test of qperf"]
        faults += ["the output breaks off in the middle of a line"] if self._is_cut else []
        findings.problems(faults)
        for result in self._results:
            figures = [fom for fom, _ in result.figures]
            if len(set(figures)) < len(figures):
                findings.mixed(f"{result.test} has two values of one kind")
            if result.test.endswith("_bw") and "latency" in figures:
                findings.mixed(f"{result.test} has a latency")
            if result.test.endswith("_lat") and "bandwidth" in figures:
                findings.mixed(f"{result.test} has a bandwidth")
        if asked and not faults and [one.test for one in self._results] != list(asked):
            findings.mixed(f"the tests are not those that were asked for, {' '.join(asked)}, in their order")
        found = {result.facts["bytes"] for result in self._results if "bytes" in result.facts}
        for other in sorted(found - {message_bytes}, key=str) if message_bytes else ():
            findings.problem(f"qperf printed messages of {other} bytes, and {message_bytes} were asked for")
        points = coordinates([{"test": result.test, **result.facts} for result in self._results])
        for result, point in zip(self._results, points, strict=True):
            size = {"bytes": result.facts["bytes"]} if "bytes" in result.facts else {}
            for fom, value in result.figures:
                findings.measure(fom, value, **{"test": result.test, **size, **point})
        return findings.parsed(is_complete=not faults, is_end_known=bool(asked))


WORKLOADS = (
    Qperf(
        name="qperf",
        summary="Bandwidth and latency over TCP, UDP and RDMA.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
    ),
)
