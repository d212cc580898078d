"""iperf3: TCP and UDP throughput between two hosts (https://github.com/esnet/iperf)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.workload import Better, Fom, Parameter, ParameterKind, Parsed, Stage
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.iperf3_output import parse_output


def _fom(name: str, unit: str, better: Better, summary: str, *, is_primary: bool = False) -> Fom:
    limit = Resource.LINK if name == "throughput" else None
    return Fom(name=name, unit=unit, better=better, summary=summary, is_primary=is_primary, limit=limit)


_FOMS = (
    _fom("throughput", "Gbit/s", Better.HIGHER, "data that arrived, all streams together", is_primary=True),
    _fom("throughput_sent", "Gbit/s", Better.HIGHER, "data that was sent"),
    _fom("retransmits", "1", Better.LOWER, "TCP segments sent again"),
    _fom("jitter", "ms", Better.LOWER, "UDP: mean change of the transit time (RFC 1889)"),
    _fom("loss", "%", Better.LOWER, "UDP: share of the datagrams that did not arrive", is_primary=True),
    _fom("lost", "1", Better.LOWER, "UDP: datagrams that did not arrive"),
    _fom("cpu_local", "%", Better.LOWER, "processor time of the client, of one core"),
    _fom("cpu_remote", "%", Better.LOWER, "processor time of the server, of one core"),
)

_PARAMETERS = (
    Parameter(
        name="protocol",
        kind=ParameterKind.TEXT,
        default="tcp",
        choices=("tcp", "udp"),
        summary="what it sends",
    ),
    Parameter(
        name="time_s", kind=ParameterKind.SECONDS, default=10.0, minimum=1, summary="how long it sends (-t)"
    ),
    Parameter(
        name="omit_s", kind=ParameterKind.SECONDS, default=0.0, minimum=0, summary="warm-up left out (-O)"
    ),
    Parameter(
        name="streams", kind=ParameterKind.WHOLE, default=1, minimum=1, summary="parallel streams (-P)"
    ),
    Parameter(
        name="message_bytes",
        kind=ParameterKind.BYTES,
        default=0,
        minimum=0,
        summary="bytes of one write (-l); 0 leaves iperf3's own: 128 KiB, or what fits the path for UDP",
    ),
    Parameter(
        name="rate_mbit_s",
        kind=ParameterKind.NUMBER,
        default=0,
        minimum=0,
        summary="limit of each stream in 10⁶ bits per second (-b); 0 is none",
    ),
    Parameter(name="reverse", kind=ParameterKind.FLAG, default=False, summary="the server sends (-R)"),
    Parameter(
        name="bidirectional", kind=ParameterKind.FLAG, default=False, summary="both send (--bidir, 3.7 on)"
    ),
    port_parameter(5201),
)

_DESCRIPTION = """\
Starts `iperf3 -s -1` on the first node and `iperf3 -c` on the second, and reads the client's JSON (-J).
`throughput` is what arrived, `throughput_sent` what the sender says; both are means over the whole test.
Debian, Fedora and EPEL have the package iperf3.

Traps: before 3.16, all streams share one thread, so that one core limits them. UDP without a limit
(rate_mbit_s: 0) loses what the receiver cannot take; look at `loss` before comparing. Versions before 3.10
do not say how much UDP data arrived: then there is only `throughput_sent`."""


class Iperf3(PeerBenchmark, frozen=True, kw_only=True):
    """The workload of iperf3; its parameters set protocol and direction."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that iperf3 would refuse."""
        yield from super().faults(case)
        if case.parameters["reverse"] and case.parameters["bidirectional"]:
            yield "reverse and bidirectional exclude each other; set reverse: false"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked, port = case.parameters, int(case.parameters["port"])
        client = ["iperf3", "-c", "{address0}", "-p", str(port), "-J", "-t", f"{float(asked['time_s']):g}"]
        client += ["-O", f"{float(asked['omit_s']):g}"] if asked["omit_s"] else []
        client += ["-P", str(asked["streams"])] if asked["streams"] != 1 else []
        if asked["protocol"] == "udp":
            client += ["-u", "-b", f"{float(asked['rate_mbit_s']):g}M" if asked["rate_mbit_s"] else "0"]
        elif asked["rate_mbit_s"]:
            client += ["-b", f"{float(asked['rate_mbit_s']):g}M"]
        client += ["-l", str(asked["message_bytes"])] if asked["message_bytes"] else []
        client += ["-R"] if asked["reverse"] else []
        client += ["--bidir"] if asked["bidirectional"] else []
        return (peer_stage(case, ["iperf3", "-s", "-1", "-p", str(port)], client, port),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read JSON or text (see core.workload.Workload.parse)."""
        return parse_output(lines, self.foms)


WORKLOADS = (
    Iperf3(
        name="iperf3",
        summary="TCP or UDP throughput between two hosts.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
    ),
)
"""What the entry point `iperf3` offers."""
