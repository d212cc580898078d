"""The network counters of this machine are read without a shell, and are those that the script tells."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from support.adapters import Node, write
from tare.app import executors
from tare.core.job import Backend
from tare.plugins.collectors.interfaces import read_own_records, read_traffic


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "it's $(id)").interface("eth0", 40_000).interface("eth1", 70_000)


def test_interfaces_are_read_as_the_script_reads_them(node: Node) -> None:
    records = read_own_records(node.root)
    assert records is not None
    assert read_traffic(records) == node.read()


def test_stacked_interfaces_are_read_as_the_script_reads_them(node: Node) -> None:
    node.interface("bond0", 110_000, lies_on="eth1 eth0").interface("br0", 5_000, lies_on="bond0")
    node.aggregate("bond0").aggregate("br0", "bridge")
    write(node.sys / "net/bonding_masters", "bond0")
    records = read_own_records(node.root)
    assert records is not None
    assert read_traffic(records) == node.read()
    assert read_traffic(records)["bond0"].known_link.lower == ("eth0", "eth1")


def test_an_interface_that_appears_between_two_readings_is_looked_at(node: Node) -> None:
    read_own_records(node.root)
    node.interface("br0", 5_000, lies_on="eth1").aggregate("br0", "bridge")
    records = read_own_records(node.root)
    assert records is not None
    assert read_traffic(records)["br0"].known_link.lower == ("eth1",)


def test_an_interface_that_is_stacked_later_is_looked_at_within_a_second(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.interface("bond0", 5_000)
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    read_own_records(node.root)
    write(node.sys / "net/bond0/lower_eth1", "")
    monkeypatch.setattr(time, "monotonic", lambda: 8.0)
    records = read_own_records(node.root)
    assert records is not None
    assert "net/bond0/lower_eth1" in "".join(records.values())


def test_a_machine_with_rdma_adapters_is_left_to_the_script(node: Node) -> None:
    assert read_own_records(node.mlx5(1_000_000, interface="eth0").root) is None


def test_a_machine_with_slingshot_adapters_is_left_to_the_script(node: Node) -> None:
    assert read_own_records(node.cxi(1_000_000).root) is None


class _Asked:
    """A backend that records what its hosts are asked."""

    def __init__(self) -> None:
        self.hosts: list[str | None] = []

    def ask(self, hosts: Sequence[str | None], script: str) -> Mapping[str | None, str]:
        self.hosts += hosts
        return dict.fromkeys(hosts, "\x1e/proc/net/dev\x1e\n\neth9: 1 1 0 0 0 0 0 0 2 2 0 0 0 0 0 0\n")


@pytest.mark.skipif(read_own_records() is None, reason="this machine has RDMA adapters")
def test_only_other_hosts_are_asked_by_a_script() -> None:
    backend = _Asked()
    found = executors._counters(cast(Backend, backend))([None, "n1"])
    assert backend.hosts == ["n1"]
    assert found["n1"]["eth9"].total_bytes == 3
    assert "lo" in found["localhost"]
