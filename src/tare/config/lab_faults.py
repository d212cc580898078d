"""The faults of a lab's networks: what each kind of network may have."""

from __future__ import annotations

from tare.config.document import Node, find
from tare.config.faults import Faults, nearest, shown
from tare.config.faults import Path as KeyPath
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec

_MAX_DELAY_S = 1.0
"""The largest delay of a network of the lab; with more, the switch would hold too many frames."""


def check_lab(lab: LabSpec, node: Node, path: KeyPath, faults: Faults) -> None:
    """Add the faults of the networks of `lab`, which stands at `path` of a file, as `node`."""
    bridges = [name for name, one in lab.networks.items() if one.kind is LabNetworkKind.BRIDGE]
    for name, network in lab.networks.items():
        here: KeyPath = ("networks", name)
        message = _lab_fault(network, bridges)
        if message:
            faults.add(find(node, here), (*path, *here), message)


def _lab_fault(network: LabNetwork, bridges: list[str]) -> str | None:
    if network.kind is LabNetworkKind.BRIDGE:
        return _bridge_fault(network)
    if network.rate_bits_per_s is not None:
        return "only a bridge has a rate; shape the network that carries this one"
    if network.delay_s is not None:
        return "only a bridge has a delay; delay the network that carries this one"
    if network.over is None:
        return f"'over' is missing: the bridge that carries it; {nearest('', bridges)}"
    if network.over not in bridges:
        return f"{shown(network.over)} is not a bridge of this lab; {nearest(network.over, bridges)}"
    return None


def _bridge_fault(network: LabNetwork) -> str | None:
    if network.over is not None:
        return "a bridge lies over nothing; remove 'over'"
    if network.delay_s is None:
        return None
    if network.rate_bits_per_s is not None:
        return "a network has a rate or a delay, not both; use two networks"
    if network.delay_s > _MAX_DELAY_S:
        return f"a delay of {network.delay_s:g} s is too long; use {_MAX_DELAY_S:g} s at most"
    return None
