"""iperf3: TCP and UDP throughput between two hosts (https://github.com/esnet/iperf)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.units import write_number
from tare.core.workload import Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.common.whole_seconds import whole_seconds_faults
from tare.plugins.workloads.iperf3_output import Iperf3Log

_FOMS = (
    declare.higher(
        "throughput",
        "Gbit/s",
        "data that arrived, all streams together",
        is_primary=True,
        limit=Resource.LINK,
    ),
    declare.higher("throughput_sent", "Gbit/s", "data that was sent"),
    declare.lower("retransmits", "1", "TCP segments sent again"),
    declare.lower("jitter", "ms", "UDP: mean change of the transit time (RFC 1889)"),
    declare.lower("loss", "%", "UDP: share of the datagrams that did not arrive", is_primary=True),
    declare.lower("lost", "1", "UDP: datagrams that did not arrive"),
    declare.lower("cpu_local", "%", "processor time of the client, of one core"),
    declare.lower("cpu_remote", "%", "processor time of the server, of one core"),
)

_PARAMETERS = (
    declare.text("protocol", "tcp", "what it sends", choices=("tcp", "udp")),
    declare.seconds("time_s", 10.0, "how long it sends (-t)", minimum=1),
    declare.seconds("omit_s", 0.0, "warm-up left out (-O)", minimum=0),
    declare.whole("streams", 1, "parallel streams (-P)", minimum=1),
    declare.size(
        "message_bytes",
        0,
        "bytes of one write (-l); 0 leaves iperf3's own: 128 KiB, or what fits the path for UDP",
        minimum=0,
    ),
    declare.number(
        "rate_mbit_s", 0, "limit of each stream in 10⁶ bits per second (-b); 0 is none", minimum=0
    ),
    declare.flag("reverse", False, "the server sends (-R)"),
    declare.flag("bidirectional", False, "both send (--bidir, 3.7 on)"),
    port_parameter(5201),
)

_DESCRIPTION = """\
Starts `iperf3 -s -1` on the first node and `iperf3 -c` on the second, and reads the client's JSON (-J).
`throughput` is what arrived, `throughput_sent` what the sender reports; both are means over the whole test.
Debian, Fedora and EPEL have the package iperf3.

Traps: before 3.16, all streams share one thread, so that one core limits them. UDP without a limit
(rate_mbit_s: 0) loses what the receiver cannot take; look at `loss` before comparing. Versions before 3.10
do not print how much UDP data arrived: then there is only `throughput_sent`."""


class Iperf3(PeerBenchmark, frozen=True, kw_only=True):
    """The workload of iperf3; its parameters set protocol and direction."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that iperf3 would refuse or silently change."""
        yield from super().faults(case)
        yield from whole_seconds_faults(case, "iperf3", "time_s", "omit_s")
        if case.parameters["reverse"] and case.parameters["bidirectional"]:
            yield "reverse and bidirectional exclude each other; set reverse: false"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked, port = case.parameters, int(case.parameters["port"])
        rate = f"{write_number(float(asked['rate_mbit_s']))}M"
        client = ["iperf3", "-c", "{address0}", "-p", str(port), "-J", "-t", f"{float(asked['time_s']):.15g}"]
        client += ["-O", f"{float(asked['omit_s']):.15g}"] if asked["omit_s"] else []
        client += ["-P", str(asked["streams"])] if asked["streams"] != 1 else []
        if asked["protocol"] == "udp":
            client += ["-u", "-b", rate if asked["rate_mbit_s"] else "0"]
        elif asked["rate_mbit_s"]:
            client += ["-b", rate]
        client += ["-l", str(asked["message_bytes"])] if asked["message_bytes"] else []
        client += ["-R"] if asked["reverse"] else []
        client += ["--bidir"] if asked["bidirectional"] else []
        return (peer_stage(case, ["iperf3", "-s", "-1", "-p", str(port)], client, port),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read JSON or text (see core.workload.Workload.parse)."""
        return Iperf3Log(self.foms).parse(lines)


WORKLOADS = (
    Iperf3(
        name="iperf3",
        summary="TCP or UDP throughput between two hosts.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
    ),
)
