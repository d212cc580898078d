"""Network interfaces and RDMA devices (Documentation/ABI/testing/sysfs-class-net, …-infiniband).

Interfaces of other containers are left out: they come and go, and are no property of the node.
"""

from __future__ import annotations

import itertools
import re

from tare.plugins.collectors.source import Facts, Records, Source, listed, one_line

_NET, _RDMA = "/sys/class/net", "/sys/class/infiniband"
_OTHERS = re.compile(r"lo$|veth|cali|lxc|docker|virbr|br-[0-9a-f]|cni|flannel\.|tunl|ip6tnl|sit\d|gre|erspan")
_RDMA_FACTS = {"fw_ver": "firmware", "board_id": "board", "hca_type": "type"}
_DRIVER_FACTS = {
    "driver": "driver",
    "version": "driver_version",
    "firmware-version": "firmware",
    "bus-info": "bus",
}
_PORT_FACTS = ("rate", "link_layer", "state")


def _read(records: Records) -> Facts:
    facts: Facts = {}
    for name in ("mtu", "speed", "tx_queue_len"):
        for nic, value in listed(records, _NET, f"/{name}").items():
            if not _OTHERS.match(nic) and value != "-1":  # -1: it has no speed of its own
                facts[f"nic.{nic}.{name}"] = value
    for record, text in records.items():
        kind, _, nic = record.partition(" ")
        if kind == "driver" and not _OTHERS.match(nic):
            facts |= {f"nic.{nic}.{name}": value for name, value in _driver(text).items()}
    devices = {path.split("/")[4] for path in records if path.startswith(f"{_RDMA}/")}
    for device, name in itertools.product(sorted(devices), _RDMA_FACTS):
        facts[f"rdma.{device}.{_RDMA_FACTS[name]}"] = one_line(records.get(f"{_RDMA}/{device}/{name}", ""))
    return facts | _ports(records)


def _driver(text: str) -> Facts:
    """Parse ``driver: mlx5_core`` and, if ethtool(8) was available, the driver's version and firmware."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return {
        fact: one_line(fields[name]) for name, fact in _DRIVER_FACTS.items() if fields.get(name, "").strip()
    }


def _ports(records: Records) -> Facts:
    facts = {}
    for path, text in records.items():
        match path.removeprefix(f"{_RDMA}/").split("/"):
            case [device, "ports", port, name] if name in _PORT_FACTS:
                facts[f"rdma.{device}.port{port}.{name}"] = one_line(text)
    return facts


SOURCE = Source(
    "nics",
    f"""
files {_NET}/*/mtu {_NET}/*/speed {_NET}/*/tx_queue_len
PATH=$PATH:/usr/sbin:/sbin  # where ethtool is, and often no user's path
for nic in {_NET}/*; do
  name=${{nic##*/}}
  record "driver $name"
  if [ -e "$nic/device/driver" ]; then
    driver=$(readlink "$nic/device/driver")
    echo "driver: ${{driver##*/}}"
    command -v ethtool >/dev/null && ethtool -i "$name" | grep -v ^driver
  fi
done
files {_RDMA}/*/fw_ver {_RDMA}/*/board_id {_RDMA}/*/hca_type
files {_RDMA}/*/ports/*/rate {_RDMA}/*/ports/*/link_layer {_RDMA}/*/ports/*/state
""",
    _read,
    order=40,
)
