"""Find what carries a network's data on a host: its interface, lower interfaces, or ports of RDMA adapters.

An interface may be stacked on lower ones: a VLAN on a bond, a bond on two cards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tare.core.job import Counters, own_counters
from tare.core.site import Network

OVER_SOCKETS = frozenset({"tcp", "sockets", "net", "udp"})
"""Providers whose data pass through the kernel, so that network interfaces count them (fi_provider(7))."""

_DRIVERS = {"efa": "efa", "cxi": "cxi", "psm2": "hfi1", "opx": "hfi1", "psm": "ib_qib"}
"""Providers that can use only one kind of adapter, each with the driver of that adapter."""

_LOOPBACK = "lo"

_Host = Mapping[str, Counters]


def is_port(name: str) -> bool:
    """Return whether `name` is that of a port, such as mlx5_0:1; names of interfaces have no colon."""
    return ":" in name


def chosen_ports(network: Network, counters: _Host, devices: Collection[str]) -> tuple[str, ...]:
    """Return the ports that must carry the data of `network`, of those whose counters are known.

    If `devices` are given, each with or without its port, these are the ports of `devices`. Otherwise they
    are the ports behind its interface, or behind the interfaces below it. If there are none, they are all
    ports that its provider can use.
    """
    ports = [name for name in counters if is_port(name)]
    if devices:
        return tuple(one for one in ports if one in devices or one.partition(":")[0] in devices)
    reached = [one for one in ports if _reaches(network.provider, counters[one].known_link.driver)]
    behind = [
        port
        for name in (network.interface, *_lower_interfaces(counters, network.interface))
        if name in counters
        for port in counters[name].known_link.ports
    ]
    return tuple(one for one in reached if one in behind) if behind else tuple(reached)


def _reaches(provider: str, driver: str) -> bool:
    if provider in _DRIVERS:
        return driver == _DRIVERS[provider]
    return driver not in {"efa", "cxi"}


def own_bytes(counters: _Host, name: str) -> int:
    """Return the bytes of `name` itself, both ways, without those of the interfaces stacked on it."""
    return own_counters(counters, name).total_bytes


def others(counters: _Host, chosen: Sequence[str]) -> dict[str, Counters]:
    """Return the counters of the other interfaces and ports, without loopback and the relatives of `chosen`.

    The relatives are the interfaces below `chosen`, and the bond or bridge to which it belongs. Of stacked
    interfaces, only the uppermost counts the data, so that no data are counted twice.
    """
    related = {_LOOPBACK, *chosen}
    for name in chosen:
        related.update(_lower_interfaces(counters, name))
    related.update(
        name
        for name, one in counters.items()
        if one.known_link.is_aggregate and not related.isdisjoint(one.known_link.lower)
    )
    return {name: own_counters(counters, name) for name in counters if name not in related}


def _lower_interfaces(counters: _Host, name: str) -> list[str]:
    """Return all interfaces below `name`, at any depth."""
    found: list[str] = []
    ahead = [name]
    while ahead:
        one = ahead.pop()
        for lower in counters[one].known_link.lower if one in counters else ():
            if lower not in found:
                found.append(lower)
                ahead.append(lower)
    return found
