"""Bytes and packets by network interface, from /proc/net/dev (proc_net(5))."""

from __future__ import annotations

from tare.model.backend import Counters

PATH = "/proc/net/dev"

_RX_BYTES, _RX_PACKETS, _TX_BYTES, _TX_PACKETS = 0, 1, 8, 9


def read_counters(text: str) -> dict[str, Counters]:
    """Return the counters of each interface in the text of /proc/net/dev."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = rest.split()
        if len(fields) > _TX_PACKETS:
            found[name.strip()] = Counters(
                int(fields[_RX_BYTES]),
                int(fields[_RX_PACKETS]),
                int(fields[_TX_BYTES]),
                int(fields[_TX_PACKETS]),
            )
    return found
