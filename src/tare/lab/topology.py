"""Compute the hosts, fabrics, ports and host names of a lab from its specification. Pure.

Addresses are in 10.77.0.0/16, with one /24 for each fabric: management 10.77.0, fabK 10.77.(K+1), ethK
10.77.(K+101), netK 10.77.(K+200). They are the same in every lab, because labs have separate network
namespaces. The last byte is the number of the node; on the management network, pods follow from 101.

Storage path K has the network stoK, 10.77.(K+240), with nodes, pods from 101, and the file server at 254.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec

MANAGEMENT = "mgmt0"
"""The interface for start-up traffic, on every host."""

MAX_NODES = 100
"""The largest number of nodes; pods' management addresses follow after it."""

ETHERNET_MTU = 1500
VXLAN_HEADER_BYTES = 50
"""Outer Ethernet, IPv4, UDP and VXLAN headers (RFC 7348, section 5)."""

FILE_SERVER = "storage"
"""The host that serves the files of all storage paths, if the lab has any."""
MAX_STORAGE_PATHS = 15
_FIRST_STORAGE_SUBNET = 240
_FILE_SERVER_NUMBER = 254

_FIRST_SUBNET = {LabNetworkKind.BRIDGE: 1, LabNetworkKind.VXLAN: 101, LabNetworkKind.MACVLAN: 200}


class Port(msgspec.Struct, frozen=True):
    """One host's interface on one fabric, with its IPv4 address."""

    host: str
    interface: str
    address: str

    @property
    def mac(self) -> str:
        """Return the hardware address: locally administered, ending in the IPv4 address."""
        return ":".join(["02", "00", *(f"{int(byte):02x}" for byte in self.address.split("."))])


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """A network and its ports. `over` is the fabric that carries a VXLAN or macvlan.

    `network` is its name in the lab's specification, None for the management network and for those to
    storage. `storage` is the storage path to which it leads. Only the server's link has the rate of such a
    network, so all its clients share the rate. All links of other networks have the network's rate.
    """

    network: str | None
    kind: LabNetworkKind
    interface: str
    mtu: int
    ports: tuple[Port, ...]
    over: Fabric | None = None
    rate_bits_per_s: float | None = None
    delay_s: float | None = None
    storage: str | None = None

    @property
    def label(self) -> str:
        """Return the name by which users know it."""
        return self.network or (f"storage {self.storage}" if self.storage else "management")

    def rate_of(self, port: Port) -> float | None:
        """Return the rate of the link of `port`, in each direction; None where it is not limited."""
        has_rate = self.storage is None or port.host == FILE_SERVER
        return self.rate_bits_per_s if has_rate else None


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts of a lab (nodes, then pods, then servers), and its fabrics, management first."""

    nodes: tuple[str, ...]
    pods: tuple[str, ...]
    fabrics: tuple[Fabric, ...]
    servers: tuple[str, ...] = ()

    @property
    def clients(self) -> tuple[str, ...]:
        """Return nodes and pods: the hosts where ranks may start."""
        return self.nodes + self.pods

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return nodes, pods and servers."""
        return self.clients + self.servers

    def ports_of(self, host: str) -> Iterator[tuple[Fabric, Port]]:
        """Yield the ports of `host`, management first."""
        for fabric in self.fabrics:
            for port in fabric.ports:
                if port.host == host:
                    yield fabric, port

    def aliases(self) -> dict[str, str]:
        """Return every name and address of a host, with the host that it means."""
        found = {host: host for host in self.hosts}
        for fabric in self.fabrics:
            for port in fabric.ports:
                found[port.address] = port.host
                if fabric.network is not None:
                    found[_data_name(port, fabric.network)] = port.host
        return found

    def etc_hosts(self) -> str:
        """Return the text of hosts(5): a host name is on management, ``n1.overlay`` is on a data network."""
        lines = ["127.0.0.1\tlocalhost"]
        for fabric in (one for one in self.fabrics if one.storage is None):
            for port in fabric.ports:
                name = port.host if fabric.network is None else _data_name(port, fabric.network)
                lines.append(f"{port.address}\t{name}")
        return "\n".join(lines) + "\n"


def lay_out(spec: LabSpec) -> Topology:
    """Return the topology for `spec`.

    Raises UsageError for a specification that cannot be built.
    """
    if not 1 <= spec.nodes <= MAX_NODES:
        raise UsageError(f"a lab of {count(spec.nodes, 'node')} cannot be built; ask for 1 to {MAX_NODES}")
    interfaces = {name: network.interface for name, network in spec.site_networks().items()}
    management = _bridge(None, MANAGEMENT, subnet=0, hosts=spec.node_names, network=None)
    pods = tuple(
        Port(pod, MANAGEMENT, f"10.77.0.{MAX_NODES + number}")
        for number, pod in enumerate(spec.pod_names, start=1)
    )
    fabrics = {"": msgspec.structs.replace(management, ports=management.ports + pods)}
    # Bridges first: the other networks are built over them, in any order of the specification.
    for name, network in spec.networks.items():
        if network.kind is LabNetworkKind.BRIDGE:
            subnet = _subnet(network.kind, interfaces[name])
            fabrics[name] = _bridge(name, interfaces[name], subnet, spec.node_names, network)
    for name, network in spec.networks.items():
        if network.kind is not LabNetworkKind.BRIDGE:
            over = fabrics.get(network.over or "management is not for data")
            if over is None or over.kind is not LabNetworkKind.BRIDGE:
                raise UsageError(
                    f"lab network {name!r} lies over {network.over!r}; name a bridge network of the lab"
                )
            fabrics[name] = _attached(name, interfaces[name], spec.pod_names, network, over)
    return Topology(
        nodes=spec.node_names,
        pods=spec.pod_names,
        fabrics=(*fabrics.values(), *_storage_fabrics(spec)),
        servers=(FILE_SERVER,) if spec.storage else (),
    )


def _storage_fabrics(spec: LabSpec) -> Iterator[Fabric]:
    """Yield the network of each storage path; raise UsageError if there are too many."""
    if len(spec.storage) > MAX_STORAGE_PATHS:
        raise UsageError(f"a lab has at most {MAX_STORAGE_PATHS} storage paths, not {len(spec.storage)}")
    paths = zip(spec.storage_interfaces, spec.storage.items(), strict=True)
    for number, (interface, (name, path)) in enumerate(paths):
        subnet = f"10.77.{_FIRST_STORAGE_SUBNET + number}"
        hosts = dict(enumerate(spec.node_names, start=1))
        hosts |= dict(enumerate(spec.pod_names, start=MAX_NODES + 1))
        hosts |= {_FILE_SERVER_NUMBER: FILE_SERVER}
        yield Fabric(
            network=None,
            kind=LabNetworkKind.BRIDGE,
            interface=interface,
            mtu=ETHERNET_MTU,
            ports=tuple(Port(host, interface, f"{subnet}.{last}") for last, host in hosts.items()),
            rate_bits_per_s=path.rate_bits_per_s,
            storage=name,
        )


def _bridge(
    name: str | None, interface: str, subnet: int, hosts: tuple[str, ...], network: LabNetwork | None
) -> Fabric:
    return Fabric(
        network=name,
        kind=LabNetworkKind.BRIDGE,
        interface=interface,
        mtu=(network.mtu if network else None) or ETHERNET_MTU,
        ports=_ports(hosts, interface, subnet),
        rate_bits_per_s=network.rate_bits_per_s if network else None,
        delay_s=network.delay_s if network else None,
    )


def _attached(name: str, interface: str, pods: tuple[str, ...], network: LabNetwork, over: Fabric) -> Fabric:
    header_bytes = VXLAN_HEADER_BYTES if network.kind is LabNetworkKind.VXLAN else 0
    return Fabric(
        network=name,
        kind=network.kind,
        interface=interface,
        mtu=network.mtu or over.mtu - header_bytes,
        ports=_ports(pods, interface, _subnet(network.kind, interface)),
        over=over,
    )


def _ports(hosts: tuple[str, ...], interface: str, subnet: int) -> tuple[Port, ...]:
    return tuple(
        Port(host, interface, f"10.77.{subnet}.{number}") for number, host in enumerate(hosts, start=1)
    )


def _subnet(kind: LabNetworkKind, interface: str) -> int:
    return _FIRST_SUBNET[kind] + int(interface[len("fab") :])


def _data_name(port: Port, network: str) -> str:
    return f"{port.host.removesuffix('-pod')}.{network}"
