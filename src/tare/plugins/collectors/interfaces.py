"""Read bytes and packets by network interface (/proc/net/dev, proc_net(5)) and by RDMA adapter port."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.job import Counters
from tare.core.units import whole_number
from tare.plugins.collectors.adapters import read_adapters
from tare.probes.traffic import ADAPTERS, INTERFACES

_RX_BYTES, _RX_PACKETS, _TX_BYTES, _TX_PACKETS = 0, 1, 8, 9
_N_FIELDS = 16  # in a line without one, received counts would be read as sent counts


def read_counters(text: str) -> dict[str, Counters]:
    """Return the counters of each interface in the text of /proc/net/dev. Damaged lines are skipped."""
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
    """Return the counters of each interface, and of each DEVICE:PORT, from the records of traffic.sh."""
    found = read_counters(records.get(INTERFACES, ""))
    adapters = read_adapters(records.get(ADAPTERS, ""))
    for name, link in adapters.links.items():
        if name in found:
            found[name] = msgspec.structs.replace(found[name], link=link)
    return found | adapters.ports
