"""Find the networks between nodes: interfaces of one name and one subnet on all nodes that were asked."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

import msgspec

from tare.discovery.facts import Interface, NodeFacts

_INFINIBAND = "InfiniBand"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")


class NetworkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A network between nodes.

    `address` is the name of a node on it, made of ``{node}``; empty if it is the node's own, None if no node
    has a name for it. `ports` are the RDMA ports under its interface. `is_control` says that nodes are
    reached by it: batch systems and ssh use it.
    """

    interface: str
    subnet: str
    address: str | None
    rate_mbit_per_s: int | None = None
    ports: tuple[str, ...] = ()
    link_layer: str = ""
    is_control: bool = False

    @property
    def name(self) -> str:
        """Return a name for it: the part of its address that is not the node, else its interface."""
        part = (self.address or "").partition("{node}")[2].strip(".-_")
        return _safe(part.partition(".")[0]) or _safe(self.interface) or "network"

    @property
    def provider(self) -> str:
        """Return the provider, as libfabric calls it: that of InfiniBand and Omni-Path, else tcp."""
        if self.ports and self.ports[0].startswith("hfi1"):
            return "psm2"
        return "verbs" if self.link_layer == _INFINIBAND and self.ports else "tcp"


def find_networks(nodes: Sequence[NodeFacts]) -> tuple[NetworkFacts, ...]:
    """Return the networks that all `nodes` have in common, the fastest first, control networks last."""
    if not nodes:
        return ()
    first, others = nodes[0], nodes[1:]
    found = []
    for one in first.interfaces:
        counterparts = [_counterpart(one, other.interfaces) for other in others]
        same = [other for other in counterparts if other is not None]
        if len(same) == len(others) and (subnet := _subnet(one)):
            found.append(_network(subnet, [one, *same], nodes))
    return tuple(sorted(found, key=_order))


def _order(one: NetworkFacts) -> tuple[bool, bool, int]:
    return one.is_control, one.provider == "tcp", -(one.rate_mbit_per_s or 0)


def _counterpart(one: Interface, others: Iterable[Interface]) -> Interface | None:
    """Return the interface of another node with the same name, in the same subnet, with another address."""
    for other in others:
        is_same = other.name == one.name and _subnet(other) == _subnet(one)
        if is_same and not {*one.addresses} & {*other.addresses}:
            return other
    return None


def _subnet(one: Interface) -> str:
    """Return the subnet of its first address of IPv4, else of IPv6; empty without any."""
    for version in (4, 6):
        for text in one.addresses:
            try:
                address = ipaddress.ip_interface(text)
            except ValueError:
                continue
            if address.version == version:
                return str(address.network)
    return ""


def _network(subnet: str, interfaces: Sequence[Interface], nodes: Sequence[NodeFacts]) -> NetworkFacts:
    first = interfaces[0]
    rates = {one.rate_mbit_per_s for one in interfaces}
    address = _address(interfaces, nodes)
    is_ported = all(one.ports == first.ports for one in interfaces)
    return NetworkFacts(
        interface=first.name,
        subnet=subnet,
        address=address,
        rate_mbit_per_s=rates.pop() if len(rates) == 1 else None,
        ports=first.ports if is_ported else (),
        link_layer=first.link_layer,
        is_control=_is_control(interfaces, address, nodes),
    )


def _is_control(interfaces: Sequence[Interface], address: str | None, nodes: Sequence[NodeFacts]) -> bool:
    """Return whether nodes are reached by these interfaces, by what Slurm and ssh say, else by their names.

    Where no name tells, they are probably reached by the interface of their default route.
    """
    if all(any(_is_reached(node, one) for one in node.interfaces) for node in nodes):
        return all(map(_is_reached, nodes, interfaces))
    name = interfaces[0].name
    return address == "" or (address is None and all(one.default_interface == name for one in nodes))


def _is_reached(node: NodeFacts, one: Interface) -> bool:
    return any(text.partition("/")[0] in node.reached_at for text in one.addresses)


def _address(interfaces: Sequence[Interface], nodes: Sequence[NodeFacts]) -> str | None:
    """Return how all nodes are called on the network, made of {node}; None where they have no such name."""
    patterns = [
        {pattern for name in one.names if (pattern := _pattern(name, node.node))}
        for one, node in zip(interfaces, nodes, strict=True)
    ]
    common = set.intersection(*patterns)
    if "{node}" in common:
        return ""
    return min(common, key=lambda one: (len(one), one), default=None)


def _pattern(name: str, node: str) -> str:
    """Return `name` with the node in it replaced; empty if the node is not in it."""
    short = node.partition(".")[0]
    if name in (node, short):
        return "{node}"
    before, found, after = name.partition(short)
    if not found or after[:1].isalnum() or before[-1:].isalnum():
        return ""
    return f"{before}{{node}}{after}" if node == short else ""


def _safe(text: str) -> str:
    """Return `text` as a name of a site file, without signs that are not safe there."""
    return _UNSAFE.sub("-", text).strip("-._+")[:40]
