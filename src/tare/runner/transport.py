"""Prove that the network which a case asked for really carried its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tare.model.attempt import Traffic
from tare.model.backend import Counters
from tare.model.site import Network
from tare.units import format_bytes


class Proof(NamedTuple):
    """What the byte counters say: the evidence, and the fault where they disprove the run."""

    evidence: str
    fault: str | None = None


def prove(
    network: Network,
    hosts: Sequence[str],
    traffic: Traffic,
    *,
    payload_bytes: int | None,
    management: Sequence[str] = (),
) -> Proof:
    """Judge one attempt by what crossed the interfaces of each of its `hosts`.

    With `payload_bytes`, the least that each node must have moved for the figures to be true, the
    chosen interface must have carried that much. Without, it must have carried more than any other
    interface but loopback and `management`.
    """
    carried = {}
    for host in hosts:
        interfaces = traffic.get(host, {})
        if network.interface not in interfaces:
            return Proof(
                "", f"host {host} has no interface {network.interface}; mend the site file's network"
            )
        carried[host] = interfaces[network.interface].total_bytes
        fault = _shortfall(host, network.interface, interfaces, payload_bytes, management)
        if fault:
            return Proof("", fault)
    host, least = min(carried.items(), key=lambda item: item[1])
    evidence = f"{network.interface} carried {format_bytes(least)} or more on each of {len(hosts)} hosts"
    if payload_bytes is not None:
        evidence += f"; {format_bytes(payload_bytes)} were needed"
    return Proof(evidence)


def _shortfall(
    host: str,
    chosen: str,
    interfaces: dict[str, Counters],
    payload_bytes: int | None,
    management: Sequence[str],
) -> str | None:
    carried = interfaces[chosen].total_bytes
    others = {
        name: counters.total_bytes
        for name, counters in interfaces.items()
        if name not in {chosen, "lo", *management}
    }
    busiest = max(others, key=others.__getitem__, default=None)
    instead = f"; {busiest} carried {format_bytes(others[busiest])}" if busiest and others[busiest] else ""
    if payload_bytes is not None and carried < payload_bytes:
        return (
            f"{chosen} on {host} carried {format_bytes(carried)}, but the figures need at least "
            f"{format_bytes(payload_bytes)}: the data took another way{instead}"
        )
    if payload_bytes is None and (carried == 0 or (busiest is not None and others[busiest] > carried)):
        return f"{chosen} on {host} carried only {format_bytes(carried)}: the data took another way{instead}"
    return None
