"""Counters of hosts, and what a run needs of them."""

from __future__ import annotations

from pathlib import Path

from support.adapters import Node
from tare.core.attempt import Traffic
from tare.core.site import Network
from tare.execution.attempt_runner import difference
from tare.execution.transport import Needs, TransportVerdict, prove

HOSTS = ("n1", "n2")


GB = 1_000_000_000


UNKNOWN = Needs()


def needs(payload_bytes: int, n_messages: int = 0) -> Needs:
    return Needs(payload_bytes=payload_bytes, n_messages=n_messages)


class Pair:
    """Two nodes of one kind, read before and after a run."""

    def __init__(self, tmp_path: Path) -> None:
        self.nodes = {host: Node(tmp_path / host) for host in HOSTS}
        self.before: Traffic = {}

    def begin(self) -> None:
        self.before = {host: node.read() for host, node in self.nodes.items()}

    def judge(
        self,
        network: Network,
        known: Needs = UNKNOWN,
        *,
        devices: tuple[str, ...] = (),
        is_reported: bool = False,
    ) -> TransportVerdict:
        after = {host: node.read() for host, node in self.nodes.items()}
        traffic = difference(self.before, after)
        return prove(network, HOSTS, traffic, known, devices=devices, is_reported=is_reported)


def have(pair: Pair, kind: str, total: int, *, over_interface: int = 12_000) -> None:
    """Have adapters of a kind that carried `total` in all, past interfaces that carried little."""
    for node in pair.nodes.values():
        for name in ("ib0", "eth0", "hsn0"):
            node.interface(name, over_interface)
        match kind:
            case "mlx5":
                node.mlx5(total + over_interface)
            case "roce":
                node.mlx5(total, interface="eth0", layer="Ethernet")
            case "hfi1":
                node.hfi1(total + over_interface)
            case "efa" | "efa-rdma":
                node.efa(total, is_rdma=kind == "efa-rdma")
            case "cxi":
                node.cxi(total + over_interface)
