"""What carries a network's data on a host: interfaces that lie on others, and ports of RDMA adapters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tare.core.job import Counters, own_counters
from tare.core.site import Network

OVER_SOCKETS = frozenset({"tcp", "sockets", "net", "udp"})
"""Providers whose data go through the kernel, so that network interfaces count them (fi_provider(7))."""

_DRIVERS = {"efa": "efa", "cxi": "cxi", "psm2": "hfi1", "opx": "hfi1", "psm": "ib_qib"}
"""Drivers of adapters that only these providers reach, and the providers that reach no others."""

_LOOPBACK = "lo"

_Host = Mapping[str, Counters]


def is_port(name: str) -> bool:
    """Return whether `name` is that of a port, as mlx5_0:1; no interface has a colon in its own."""
    return ":" in name


def chosen_ports(network: Network, counters: _Host, devices: Collection[str]) -> tuple[str, ...]:
    """Return the ports whose counters are known that must carry the data of `network`.

    Those of `devices`, each with or without its port, where there are some. Else those of its interface, or
    of what that lies on. Else all that its provider reaches.
    """
    ports = [name for name in counters if is_port(name)]
    if devices:
        return tuple(one for one in ports if one in devices or one.partition(":")[0] in devices)
    reached = [one for one in ports if _reaches(network.provider, counters[one].known_link.driver)]
    behind = [
        port
        for name in (network.interface, *_beneath(counters, network.interface))
        if name in counters
        for port in counters[name].known_link.ports
    ]
    return tuple(one for one in reached if one in behind) if behind else tuple(reached)


def _reaches(provider: str, driver: str) -> bool:
    if provider in _DRIVERS:
        return driver == _DRIVERS[provider]
    return driver not in {"efa", "cxi"}


def own_bytes(counters: _Host, name: str) -> int:
    """Return what crossed `name` itself, both ways, without what it carried for interfaces that lie on it."""
    return own_counters(counters, name).total_bytes


def others(counters: _Host, chosen: Sequence[str]) -> dict[str, Counters]:
    """Return what the other interfaces and ports carried, without loopback and the kin of `chosen`.

    Those are what it lies on, and the bond or bridge that it belongs to. Of interfaces that lie on others
    only the uppermost counts, so that no data count twice.
    """
    kin = {_LOOPBACK, *chosen}
    for name in chosen:
        kin.update(_beneath(counters, name))
    kin.update(
        name
        for name, one in counters.items()
        if one.known_link.is_aggregate and not kin.isdisjoint(one.known_link.lower)
    )
    return {name: own_counters(counters, name) for name in counters if name not in kin}


def _beneath(counters: _Host, name: str) -> list[str]:
    """Return all that `name` lies on, at any depth."""
    found: list[str] = []
    ahead = [name]
    while ahead:
        one = ahead.pop()
        for lower in counters[one].known_link.lower if one in counters else ():
            if lower not in found:
                found.append(lower)
                ahead.append(lower)
    return found
