"""Settings that iperf3 in text and sockperf print; without them, TCP and UDP look like repeats."""

from __future__ import annotations

import pytest

from support.outputs import parse

HEAD = """\
Connecting to host 10.0.0.2, port 5201
{connections}
[ ID] Interval           Transfer     Bitrate
- - - - - - - - - - - - - - - - - - - - - - - - -
"""
TCP = """\
[{id:>3}]   0.00-10.00  sec  1.10 GBytes   943 Mbits/sec    0             sender
[{id:>3}]   0.00-10.04  sec  1.10 GBytes   939 Mbits/sec                  receiver
"""
UDP = """\
[{id:>3}]   0.00-10.00  sec  1.25 GBytes  1.07 Gbits/sec  0.000 ms  0/163840 (0%)  sender
[{id:>3}]   0.00-10.04  sec  1.25 GBytes  1.07 Gbits/sec  0.004 ms  12/163840 (0.0073%)  receiver
"""
ON_A_MAC = TCP.replace("    0             sender", "                  sender")


def iperf3(rows: str, ids: tuple[str, ...]) -> str:
    streams = [one for one in ids if one != "SUM"]
    connections = "\n".join(
        f"[{one:>3}] local 10.0.0.1 port 1 connected to 10.0.0.2 port 5201" for one in streams
    )
    body = "".join(rows.format(id=one) for one in ids)
    return HEAD.format(connections=connections) + body + "\niperf Done.\n"


@pytest.mark.parametrize(
    ("rows", "ids", "protocol", "streams"),
    [
        (TCP, ("5",), ("tcp",), (1,)),
        (UDP, ("5",), ("udp",), (1,)),
        (TCP, ("5", "7", "SUM"), ("tcp",), (2,)),
        (UDP, ("5", "7", "SUM"), ("udp",), (2,)),
        (ON_A_MAC, ("5",), None, (1,)),
    ],
)
def test_iperf3_shows_protocol_and_streams_in_text(
    rows: str, ids: tuple[str, ...], protocol: tuple[str, ...] | None, streams: tuple[int, ...]
) -> None:
    """Only Linux counts the retransmissions of TCP; without them, it may be SCTP."""
    parsed = parse("iperf3", iperf3(rows, ids))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert parsed.printed.get("protocol") == protocol
    assert parsed.printed["streams"] == streams


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_sockperf_names_the_protocol_of_the_other_end(protocol: str) -> None:
    text = f"""\
sockperf: == version #3.10-no.git ==
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 10.0.0.2        PORT = 11111 # {protocol}
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Summary: Message Rate is 1234567 [msg/sec]
sockperf: Summary: BandWidth is 16.483 MBps (131.864 Mbps)
"""
    parsed = parse("sockperf.throughput", text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert parsed.printed["protocol"] == (protocol.lower(),)
