"""netperf: streams and transactions between two hosts (https://github.com/HewlettPackard/netperf)."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.case import Case
from tare.core.workload import Better, Fom, Parameter, ParameterKind, Parsed, Stage
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.netperf_output import parse_output


def _fom(name: str, unit: str, better: Better, summary: str, *by: str, is_primary: bool = False) -> Fom:
    return Fom(name=name, unit=unit, better=better, by=by, summary=summary, is_primary=is_primary)


_COMMON = (
    _fom("retransmits", "1", Better.LOWER, "TCP segments that the client sent again"),
    _fom("cpu_local", "%", Better.LOWER, "processor time of the client's node"),
    _fom("cpu_remote", "%", Better.LOWER, "processor time of the server's node"),
)
_STREAM = (
    _fom("throughput", "Mbit/s", Better.HIGHER, "data that arrived", is_primary=True),
    _fom("throughput_sent", "Mbit/s", Better.HIGHER, "UDP: data that was sent"),
    *_COMMON,
)
_TRANSACTIONS = (
    _fom("transactions", "1/s", Better.HIGHER, "requests answered per second", is_primary=True),
    _fom("latency", "us", Better.LOWER, "round trip, mean", is_primary=True),
    _fom("latency_percentile", "us", Better.LOWER, "round trip, by percentile", "percentile"),
    _fom("latency_min", "us", Better.LOWER, "the shortest round trip"),
    _fom("latency_max", "us", Better.LOWER, "the longest round trip"),
    _fom("latency_stddev", "us", Better.LOWER, "standard deviation of the round trip"),
    *_COMMON,
)

_TIME = Parameter(
    name="time_s", kind=ParameterKind.SECONDS, default=10.0, minimum=1, summary="how long it takes (-l)"
)
_MESSAGE = Parameter(
    name="message_bytes",
    kind=ParameterKind.BYTES,
    default=0,
    minimum=0,
    summary="size of a send (-m); 0 leaves netperf's own",
)
_REQUEST = Parameter(
    name="message_bytes",
    kind=ParameterKind.BYTES,
    default=1,
    minimum=1,
    summary="size of a request and of its answer (-r)",
)

_DESCRIPTION = """\
Starts `netserver` on the first node and `netperf -t {test}` on the second. Transactions are read as
keyval (-k), streams as netperf's table. Build netperf from https://github.com/HewlettPackard/netperf, or
take the package of Fedora or of Debian's non-free section.

A round trip is what netperf calls latency."""

_LATENCIES = (
    "MEAN_LATENCY,MIN_LATENCY,MAX_LATENCY,STDDEV_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,"
    "THROUGHPUT,THROUGHPUT_UNITS"
)
"""The fields to print. Throughput is the last one, so that a truncated output lacks it."""


class Netperf(PeerBenchmark, frozen=True, kw_only=True):
    """A workload that runs one test of netperf; `test` is its name in the option -t."""

    test: str

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked, port = case.parameters, str(case.parameters["port"])
        size = str(asked["message_bytes"])
        client = ["netperf", "-H", "{address0}", "-p", port, "-t", self.test]
        client += ["-l", f"{float(asked['time_s']):g}", "--"]
        if self.foms is _TRANSACTIONS:
            client += ["-r", f"{size},{size}", "-k", _LATENCIES]
        elif asked["message_bytes"]:
            client += ["-m", size]
        return (peer_stage(case, ["netserver", "-D", "-p", port], client, int(port)),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read tables, CSV or keyval of this test (see core.workload.Workload.parse)."""
        return parse_output(lines, self.test, self.foms)


def _workload(test: str, summary: str, foms: tuple[Fom, ...], message: Parameter) -> Netperf:
    return Netperf(
        name=f"netperf.{test.lower()}",
        summary=summary,
        description=_DESCRIPTION.format(test=test),
        parameters=(_TIME, message, port_parameter(12865)),
        foms=foms,
        test=test,
    )


WORKLOADS = (
    _workload("TCP_STREAM", "TCP data one way.", _STREAM, _MESSAGE),
    _workload("TCP_MAERTS", "TCP data the other way: from the server.", _STREAM, _MESSAGE),
    _workload("UDP_STREAM", "UDP data one way.", _STREAM, _MESSAGE),
    _workload("TCP_RR", "Requests and answers over one TCP connection.", _TRANSACTIONS, _REQUEST),
    _workload("TCP_CRR", "A TCP connection for each request and answer.", _TRANSACTIONS, _REQUEST),
    _workload("UDP_RR", "Requests and answers over UDP.", _TRANSACTIONS, _REQUEST),
)
"""What the entry point `netperf` offers."""
