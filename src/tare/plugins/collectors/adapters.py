"""Read bytes and packets by port of an RDMA adapter, and the links of network interfaces, from /sys/class.

InfiniBand, Omni-Path and RoCE (sysfs-class-infiniband), EFA, iWARP and others (hw_counters), Slingshot (cxi).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from tare.core.job import Counters, Link
from tare.core.units import whole_number

_WORD = 4  # port_xmit_data and port_rcv_data count words of 32 bits, for any lanes (IBTA 16.1.3.5)
_END = 2**32 - 1  # a counter of 32 bits stops here (ditto)
_CXI_PORT = "1"
_INFINIBAND = "InfiniBand"
_SENT_AND_RECEIVED = (
    (("tx_bytes",), ("rx_bytes",)),  # of EFA, bnxt_re, mana
    (("send_bytes", "rdma_write_bytes", "rdma_read_resp_bytes"), ("recv_bytes", "rdma_read_bytes")),  # of EFA
    (("ip4OutOctets", "ip6OutOctets"), ("ip4InOctets", "ip6InOctets")),  # of irdma
    (("hw_tx_bytes_cnt",), ("hw_rx_bytes_cnt",)),  # of erdma
)
"""Names in hw_counters whose sum is what a port sent and what it received, by kind of driver."""


class Adapters(msgspec.Struct, frozen=True):
    """The counters of ports by DEVICE:PORT, and the links of interfaces by name."""

    ports: dict[str, Counters]
    links: dict[str, Link]


class _Tree:
    """The lines of the record, sorted into values of ports and of interfaces."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.values: dict[str, dict[str, str]] = defaultdict(dict)  # by DEVICE:PORT and path below the port
        self.lower: dict[str, list[str]] = defaultdict(list)
        self.devices: dict[str, list[str]] = defaultdict(list)
        self.aggregates: set[str] = set()
        self.of_interfaces: dict[str, dict[str, str]] = defaultdict(dict)
        self.parents: set[str] = set()  # of RDMA devices in software
        self.of_devices: dict[str, dict[str, str]] = defaultdict(dict)
        for line in lines:
            path, _, value = line.strip().partition(" ")
            self._take(path.split("/"), value.strip())

    def _take(self, parts: list[str], value: str) -> None:
        match parts:
            case ["net", name, file] if file.startswith("lower_"):
                self.lower[name].append(file.removeprefix("lower_"))
            case ["net", name, "bonding" | "bridge"]:
                self.aggregates.add(name)
            case ["net", name, "device", "infiniband", device]:
                self.devices[name].append(device)
            case ["net", name, *rest]:
                self.of_interfaces[name]["/".join(rest)] = value
            case ["infiniband", device, "ports", port, *rest]:
                self.values[f"{device}:{port}"]["/".join(rest)] = value
            case ["infiniband", _, "parent"]:
                self.parents.add(value)
            case ["infiniband", device, *rest]:
                self.of_devices[device]["/".join(rest)] = value
            case ["cxi", device, "device", "net", name]:
                self.devices[name].append(device)
            case ["cxi", device, *rest]:
                self.values[f"{device}:{_CXI_PORT}"]["/".join(rest)] = value
                self.of_devices[device]["device/uevent"] = "DRIVER=cxi"

    def ports_of(self, interface: str) -> list[str]:
        """Return the ports that an interface belongs to, found by its device and by the GIDs of ports.

        A port's number is one more than that of its interface on the device (sysfs-class-net, dev_port).
        """
        found = []
        for device in self.devices[interface]:
            there = [name for name in self.values if name.rpartition(":")[0] == device]
            number = self.of_interfaces[interface].get("dev_port", "0")
            mine = f"{device}:{(whole_number(number) or 0) + 1}"
            found += [mine] if mine in there else there
        for name, values in self.values.items():
            if interface in (value for path, value in values.items() if path.startswith("gid_attrs/ndevs/")):
                found.append(name)
        return list(dict.fromkeys(found))


def read_adapters(text: str) -> Adapters:
    """Return the counters and links in the record of /sys/class (see traffic.sh).

    Ports without counters are left out.
    """
    tree = _Tree(text.splitlines())
    ports = {}
    for name, values in sorted(tree.values.items()):
        counted = _count(values) or _count_for_ethtool(tree, name)
        if counted is not None:
            device = tree.of_devices[name.rpartition(":")[0]]
            driver = device.get("device/uevent", "").partition("DRIVER=")[2]
            ports[name] = msgspec.structs.replace(counted, link=Link(driver=driver))
    interfaces = {*tree.lower, *tree.devices, *tree.aggregates, *_named_by_gids(tree), *tree.parents}
    return Adapters(ports, {name: _link(tree, name) for name in sorted(interfaces)})


def _named_by_gids(tree: _Tree) -> set[str]:
    return {
        value
        for values in tree.values.values()
        for path, value in values.items()
        if path.startswith("gid_attrs/ndevs/")
    }


def _link(tree: _Tree, interface: str) -> Link:
    ports = tree.ports_of(interface)
    lower = list(tree.lower[interface])
    if interface in tree.devices:  # it has a device of its own, which may also count the interface's traffic
        lower += [one for one in ports if _counts_frames(tree, one)]
    return Link(
        lower=tuple(lower),
        ports=tuple(ports),
        is_aggregate=interface in tree.aggregates,
        carries_rdma=interface in tree.parents,
    )


def _counts_frames(tree: _Tree, port: str) -> bool:
    """Return whether a port counts its network interface's traffic. A RoCE port counts only RDMA traffic."""
    driver = tree.of_devices[port.rpartition(":")[0]].get("device/uevent", "")
    return tree.values[port].get("link_layer") == _INFINIBAND or driver == "DRIVER=cxi"


def _count(values: dict[str, str]) -> Counters | None:
    """Return a port's counts. If several counters count the same traffic, the largest one is used."""
    counted = {path: whole_number(value) for path, value in values.items()}
    numbers = {path: value for path, value in counted.items() if value is not None}
    found = [_classic(numbers, "counters/", ""), _classic(numbers, "counters_ext/", "_64")]
    for sent, received in _SENT_AND_RECEIVED:
        found.append(_hardware(numbers, sent, received))
    found.append(_slingshot(values))
    known = [one for one in found if one is not None]
    if not known:
        return None
    return Counters(
        max(one.rx_bytes for one in known),
        max(one.rx_packets for one in known),
        max(one.tx_bytes for one in known),
        max(one.tx_packets for one in known),
        is_least=all(one.is_least is True for one in known) or msgspec.UNSET,
    )


def _classic(numbers: dict[str, int], folder: str, suffix: str) -> Counters | None:
    data = [numbers.get(f"{folder}port_{way}_data{suffix}") for way in ("rcv", "xmit")]
    if None in data:
        return None
    received, sent = (one or 0 for one in data)
    is_full = not suffix and _END in data
    packets = [numbers.get(f"{folder}port_{way}_packets{suffix}", 0) for way in ("rcv", "xmit")]
    return Counters(received * _WORD, packets[0], sent * _WORD, packets[1], is_least=is_full or msgspec.UNSET)


def _hardware(numbers: dict[str, int], sent: tuple[str, ...], received: tuple[str, ...]) -> Counters | None:
    names = [f"hw_counters/{one}" for one in (sent[0], received[0])]
    if any(one not in numbers for one in names):
        return None
    return Counters(
        sum(numbers.get(f"hw_counters/{one}", 0) for one in received),
        numbers.get("hw_counters/rx_pkts", 0),
        sum(numbers.get(f"hw_counters/{one}", 0) for one in sent),
        numbers.get("hw_counters/tx_pkts", 0),
    )


def _slingshot(values: dict[str, str]) -> Counters | None:
    """Return the octets that a Slingshot adapter sent and received. Each is written as ``VALUE@TIME``."""
    folder = "device/telemetry/hni_sts_"
    octets = [values.get(f"{folder}{way}_ok_octets", "").partition("@")[0] for way in ("rx", "tx")]
    received, sent = (whole_number(one) for one in octets)
    return None if received is None or sent is None else Counters(received, 0, sent, 0)


def _count_for_ethtool(tree: _Tree, port: str) -> Counters | None:
    """Return the RDMA traffic that the driver of the port's interface counts (ethtool -S, mlx5)."""
    device = port.rpartition(":")[0]
    for interface, devices in tree.devices.items():
        statistics = tree.of_interfaces[interface]
        received, n_received, sent, n_sent = (
            whole_number(statistics.get(f"ethtool/{way}_vport_rdma_unicast_{what}", ""))
            for way in ("rx", "tx")
            for what in ("bytes", "packets")
        )
        if device in devices and received is not None and sent is not None:
            return Counters(received, n_received or 0, sent, n_sent or 0)
    return None
