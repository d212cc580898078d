"""iperf 2: TCP and UDP throughput between two hosts (https://sourceforge.net/projects/iperf2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.program import NONE, split_words
from tare.core.units import write_number
from tare.core.workload import Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.peers import PeerBenchmark, peer_stage, port_parameter
from tare.plugins.workloads.iperf2_output import Iperf2Log

_FOMS = (
    declare.higher(
        "throughput",
        "Gbit/s",
        "data moved, all streams together; by direction where both ends send",
        "direction",
        is_primary=True,
    ),
    declare.higher("throughput_sent", "Gbit/s", "UDP: data that was sent"),
    declare.lower("jitter", "ms", "UDP: mean change of the transit time (RFC 1889)"),
    declare.lower("loss", "%", "UDP: share of the datagrams that did not arrive", is_primary=True),
    declare.lower("lost", "1", "UDP: datagrams that did not arrive"),
)

_PARAMETERS = (
    declare.text("protocol", "tcp", "what it sends", choices=("tcp", "udp")),
    declare.seconds("time_s", 10.0, "how long it sends (-t)", minimum=2),
    declare.whole("streams", 1, "parallel streams (-P)", minimum=1),
    declare.size("message_bytes", 0, "bytes of one write (-l); 0 leaves iperf's own", minimum=0),
    declare.number(
        "rate_mbit_s", 1000, "UDP: what each stream sends, in 10⁶ bits per second (-b)", minimum=1
    ),
    declare.flag(
        "bidirectional",
        False,
        "both send at once (-d), TCP with one stream each; `direction` distinguishes the figures",
    ),
    port_parameter(5001),
)

_END = re.compile("-[nt]|--num$|--time$")
"""The options that end a test: after an amount of data, or another time."""

_DESCRIPTION = """\
Starts `iperf -s` on the first node and `iperf -c` on the second, and reads the client's report. Each stream
has a thread of its own, so that several cores share the work. Debian and Fedora have the package iperf.

Traps: `iperf` is version 2, and does not speak with iperf3. For TCP, `throughput` is what the client handed
over to its own system; for UDP it is what arrived. UDP reports of several streams are not added up, so UDP
takes one stream."""


class Iperf2(PeerBenchmark, frozen=True, kw_only=True):
    """The workload of iperf 2; `time_s` is the time that the case asks for, or None without a case."""

    time_s: float | None = None

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for settings for which iperf 2 prints no sum."""
        yield from super().faults(case)
        if case.parameters["protocol"] == "udp" and case.parameters["streams"] != 1:
            yield "iperf 2 does not add up the UDP reports of several streams; set streams: 1, or use iperf3"

        if case.parameters["bidirectional"] and (
            case.parameters["protocol"] == "udp" or case.parameters["streams"] != 1
        ):
            yield "iperf 2 does not sum directions; with bidirectional, set protocol: tcp and streams: 1"

    def expecting(self, case: Case) -> Self:
        """Return a copy with the time that `case` asks for, unless its `args` end the test otherwise."""
        words = split_words(str(case.parameters.get("args", NONE)))
        is_other = any(_END.match(word) for word in words)
        return msgspec.structs.replace(self, time_s=None if is_other else float(case.parameters["time_s"]))

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stage that starts server and client."""
        asked, port = case.parameters, int(case.parameters["port"])
        is_udp = asked["protocol"] == "udp"
        udp = ["-u"] if is_udp else []
        rate = f"{write_number(float(asked['rate_mbit_s']))}M"
        client = ["iperf", *udp, "-c", "{address0}", "-p", str(port), "-t", f"{float(asked['time_s']):.15g}"]
        client += ["-P", str(asked["streams"])] if asked["streams"] != 1 else []
        client += ["-d", "-L", str(port + 1)] if asked["bidirectional"] else []
        client += ["-b", rate] if is_udp else []
        client += ["-l", str(asked["message_bytes"])] if asked["message_bytes"] else []
        server = ["iperf", *udp, "-s", "-p", str(port)]
        return (peer_stage(case, server, client, port, protocol="udp" if is_udp else "tcp"),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read text or CSV (see core.workload.Workload.parse)."""
        return Iperf2Log(self.foms, self.time_s).parse(lines)


WORKLOADS = (
    Iperf2(
        name="iperf2",
        summary="TCP or UDP throughput between two hosts, each stream on a thread of its own.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
    ),
)
