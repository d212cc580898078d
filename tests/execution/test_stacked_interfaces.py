"""Interfaces above others: macvlans, bonds, bridges and what lies below them."""

from __future__ import annotations

import pytest

from execution.transport_counters import GB, Pair, needs
from tare.core.attempt import Proof
from tare.core.site import Network


def above(pair: Pair, total: int, *, name: str, lies_on: str, share: int = 1) -> None:
    """Have an interface that lies on others, which carry all that it does, each its share."""
    for node in pair.nodes.values():
        node.interface(name, total, lies_on=lies_on)
        for lower in lies_on.split():
            node.interface(lower, total // share + 1000)


@pytest.mark.parametrize("name", ["eth0.5", "macvlan0", "vxlan0"])
def test_what_an_interface_lies_on_does_not_count_against_it(pair: Pair, name: str) -> None:
    above(pair, 0, name=name, lies_on="eth0")
    pair.begin()
    above(pair, 8 * GB, name=name, lies_on="eth0")
    assert pair.judge(Network(interface=name), needs(7 * GB)).proof is Proof.COUNTED


@pytest.mark.parametrize("name", ["eth0.5", "macvlan0"])
def test_what_lies_on_an_interface_is_not_its_own(pair: Pair, name: str) -> None:
    above(pair, 0, name=name, lies_on="eth0")
    pair.begin()
    above(pair, 8 * GB, name=name, lies_on="eth0")
    fault = str(pair.judge(Network(interface="eth0"), needs(7 * GB)).fault)
    assert fault.startswith("eth0 on n1 carried 0 B, but the figures need at least 6.519 GiB")
    assert fault.endswith(f"the data took another way; {name} carried 7.451 GiB")


def test_one_of_two_macvlans_over_one_parent_is_distinguished_from_the_other(pair: Pair) -> None:
    def carry(first: int, second: int) -> None:
        for node in pair.nodes.values():
            node.interface("net1", first, lies_on="eth0").interface("net2", second, lies_on="eth0")
            node.interface("eth0", first + second)

    carry(0, 0)
    pair.begin()
    carry(30_000, 8 * GB)
    assert "net2 carried" in str(pair.judge(Network(interface="net1"), needs(7 * GB)).fault)
    assert pair.judge(Network(interface="net2"), needs(7 * GB)).proof is Proof.COUNTED


@pytest.mark.parametrize("kind", ["bonding", "bridge"])
def test_a_bond_is_what_its_interfaces_carry(pair: Pair, kind: str) -> None:
    above(pair, 0, name="bond0", lies_on="eth0 eth1", share=2)
    pair.begin()
    above(pair, 8 * GB, name="bond0", lies_on="eth0 eth1", share=2)
    for node in pair.nodes.values():
        node.aggregate("bond0", kind)
    assert pair.judge(Network(interface="bond0"), needs(7 * GB)).proof is Proof.COUNTED
    assert pair.judge(Network(interface="eth0"), needs(3 * GB)).proof is Proof.COUNTED


def test_roce_over_a_bond_is_that_of_its_interfaces(pair: Pair) -> None:
    def carry(total: int) -> None:
        for node in pair.nodes.values():
            node.interface("bond0", 9000 if total else 0, lies_on="eth0").aggregate("bond0")
            node.interface("eth0", 9000 if total else 0)
            node.mlx5(total, "mlx5_bond_0", interface="eth0", layer="Ethernet").mlx5(total * 2, "mlx5_9")

    carry(0)
    pair.begin()
    carry(8 * GB)
    judged = pair.judge(Network(interface="bond0", provider="verbs"), needs(7 * GB), is_reported=True)
    assert "mlx5_bond_0:1 carried" in judged.evidence
