"""netperf: streams and transactions between two hosts (https://github.com/HewlettPackard/netperf)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.workload import Fom, Parameter, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults
from tare.plugins.workloads.netperf_output import NetperfLog

_COMMON = (
    declare.lower("retransmits", "1", "TCP segments that the client sent again"),
    declare.lower("cpu_local", "%", "processor time of the client's node"),
    declare.lower("cpu_remote", "%", "processor time of the server's node"),
)
_STREAM = (
    declare.higher("throughput", "Mbit/s", "data that arrived", is_primary=True),
    declare.higher("throughput_sent", "Mbit/s", "UDP: data that was sent"),
    *_COMMON,
)
_TRANSACTIONS = (
    declare.higher("transactions", "1/s", "requests answered per second", is_primary=True),
    declare.lower("latency", "us", "round trip, mean", is_primary=True),
    declare.lower("latency_percentile", "us", "round trip, by percentile", "percentile"),
    declare.lower("latency_min", "us", "the shortest round trip"),
    declare.lower("latency_max", "us", "the longest round trip"),
    declare.lower("latency_stddev", "us", "standard deviation of the round trip"),
    *_COMMON,
)

_TIME = declare.seconds("time_s", 10.0, "how long it takes (-l)", minimum=1)
_MESSAGE = declare.size("message_bytes", 0, "size of a send (-m); 0 leaves netperf's own", minimum=0)
_REQUEST = declare.size("message_bytes", 1, "size of a request and of its answer (-r)", minimum=1)

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

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that netperf would refuse or silently change."""
        yield from super().faults(case)
        yield from whole_seconds_faults(case, "netperf", "time_s")

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked, port = case.parameters, str(case.parameters["port"])
        size = str(asked["message_bytes"])
        client = ["netperf", "-H", "{address0}", "-p", port, "-t", self.test]
        client += ["-l", f"{float(asked['time_s']):.15g}", "--"]
        if self.foms is _TRANSACTIONS:
            client += ["-r", f"{size},{size}", "-k", _LATENCIES]
        elif asked["message_bytes"]:
            client += ["-m", size]
        return (peer_stage(case, ["netserver", "-D", "-p", port], client, int(port)),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read tables, CSV or keyval of this test (see core.workload.Workload.parse)."""
        return NetperfLog(self.foms, self.test).parse(lines)


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
