"""Compare the transport reports of libraries with the network that was asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tare.core.site import Network
from tare.execution.network_interfaces import OVER_SOCKETS
from tare.execution.transport_reports.report import TransportReport

_NAMING = ("UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "FI_EFA_IFACE", "FI_VERBS_DEVICE_NAME", "PSM3_NIC")
_UCX = frozenset({"verbs", "ucx", "mlx", "openib"})
"""Providers that use InfiniBand and RoCE, through UCX or directly."""


def describe(reports: Collection[TransportReport]) -> str:
    """Return the reports as text, such as ``UCX: tcp over eth0``; empty if no transport was reported."""
    descriptions = []
    for library in dict.fromkeys(one.library for one in reports):
        mine = [one for one in reports if one.library == library]
        ways = sorted({one.transport for one in mine if one.transport and not one.is_local})
        cards = sorted(set(_interfaces(mine)))
        if ways:
            descriptions.append(
                f"{library}: {', '.join(ways)}" + (f" over {', '.join(cards)}" if cards else "")
            )
    return "; ".join(descriptions)


def contradiction(
    network: Network,
    reports: Collection[TransportReport],
    *,
    devices: Collection[str] = (),
    are_all_asked: bool = True,
) -> str | None:
    """Return why the reports contradict `network`; None if they do not, or say too little.

    Only transports between nodes are compared. The interface is compared if sockets carry the data. RDMA
    devices have names of their own, such as mlx5_0:1; they are compared with `devices` if the site names
    some. `are_all_asked` says that all ranks were asked to report. Otherwise the absence of a transport
    between nodes is no contradiction.
    """
    for library in dict.fromkeys(one.library for one in reports):
        mine = [one for one in reports if one.library == library]
        ways = {one.transport for one in mine if one.transport and not one.is_local}
        if not ways:
            if are_all_asked and any(one.is_local for one in mine):
                return f"{library} chose no way between nodes, only shared memory within them"
            continue
        wrong = sorted(way for way in ways if not _is_way(way, network.provider))
        if wrong:
            return f"{library} chose {', '.join(wrong)}, and the network asks for {network.provider}"
        if ways <= OVER_SOCKETS:
            others = sorted(set(_interfaces(mine)) - {network.interface})
            if others:
                return (
                    f"{library} chose {', '.join(others)} for {', '.join(sorted(ways))}, and the network is "
                    f"{network.interface}"
                )
        elif devices:
            others = sorted(one for one in set(_interfaces(mine)) if not _is_named(one, devices))
            if others:
                return (
                    f"{library} chose the device {', '.join(others)}, and the site names {', '.join(devices)}"
                )
    return None


def confirms(
    network: Network, reports: Collection[TransportReport], *, devices: Collection[str] = ()
) -> bool:
    """Return whether the libraries reported `network`: its transport, and over sockets its interface.

    No report may contradict it.
    """
    if contradiction(network, reports, devices=devices, are_all_asked=False) is not None:
        return False
    ways = {one.transport for one in reports if one.transport and not one.is_local}
    if not ways:
        return False
    return not ways <= OVER_SOCKETS or set(_interfaces(reports)) == {network.interface}


def named_devices(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the devices, each with or without its port, that `variables` select for UCX or libfabric.

    Empty if they select none, all, or devices to exclude (ucx_info -cf, fi_cxi(7), fi_efa(7), fi_verbs(7)).
    """
    descriptions = next((variables[name] for name in _NAMING if variables.get(name)), "")
    named = tuple(one.strip() for one in descriptions.split(",") if one.strip())
    return () if any(one == "all" or one.startswith("^") for one in named) else named


def _is_named(device: str, names: Collection[str]) -> bool:
    return device in names or device.partition(":")[0] in names


def _is_way(way: str, provider: str) -> bool:
    if provider == "ucx":
        return True
    if provider in _UCX:
        return way not in OVER_SOCKETS and way not in {"shm", "self"}
    return way in OVER_SOCKETS if provider in OVER_SOCKETS else way == provider


def _interfaces(reports: Collection[TransportReport]) -> Iterator[str]:
    """Yield the interfaces that are used; of those that libfabric was offered, only the chosen ones."""
    chosen = {one.address for one in reports if one.address and not one.is_offered}
    for one in reports:
        if one.interface and not one.is_local and (not one.is_offered or one.address in chosen):
            yield one.interface
