"""Bytes and packets by network interface (/proc/net/dev, proc_net(5)) and by port of an RDMA adapter."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.job import Counters
from tare.core.units import whole_number
from tare.plugins.collectors.adapters import read_adapters
from tare.probes.traffic import ADAPTERS, INTERFACES

_RX_BYTES, _RX_PACKETS, _TX_BYTES, _TX_PACKETS = 0, 1, 8, 9
_N_FIELDS = 16  # a line that lost one would tell what was received for what was sent


def read_counters(text: str) -> dict[str, Counters]:
    """Return the counters of each interface in the text of /proc/net/dev; a damaged line tells of none."""
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        fields = [whole_number(one) for one in rest.split()]
        if len(fields) == _N_FIELDS and None not in fields:
            counts = [one or 0 for one in fields]
            found[name.strip()] = Counters(
                counts[_RX_BYTES], counts[_RX_PACKETS], counts[_TX_BYTES], counts[_TX_PACKETS]
            )
    return found


def read_traffic(records: Mapping[str, str]) -> dict[str, Counters]:
    """Return the counters of each interface, and of each DEVICE:PORT, in the records of traffic.sh."""
    found = read_counters(records.get(INTERFACES, ""))
    adapters = read_adapters(records.get(ADAPTERS, ""))
    for name, link in adapters.links.items():
        if name in found:
            found[name] = msgspec.structs.replace(found[name], link=link)
    return found | adapters.ports
