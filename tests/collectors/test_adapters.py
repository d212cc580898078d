"""What nodes with RDMA adapters tell of the data that crossed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.adapters import Node, write
from tare.core.job import Counters

GB = 1_000_000_000


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path).interface("ib0", 11_980).interface("eth0", 40_000)


def test_a_node_without_adapters_reports_its_interfaces(node: Node) -> None:
    assert {name: one.total_bytes for name, one in node.read().items()} == {
        "lo": 0,
        "ib0": 11_980,
        "eth0": 40_000,
    }


def test_data_of_infiniband_are_counted_in_words_of_four_bytes(node: Node) -> None:
    found = node.mlx5(8 * GB).read()
    assert found["mlx5_0:1"].total_bytes == 8 * GB
    assert found["mlx5_0:1"].known_link.driver == "mlx5_core"
    assert found["ib0"].known_link.ports == ("mlx5_0:1",)
    assert found["ib0"].known_link.lower == ("mlx5_0:1",), "IPoIB goes through the port's counters, too"


def test_a_port_of_roce_does_not_count_the_frames_of_its_interface(node: Node) -> None:
    found = node.mlx5(8 * GB, interface="eth0", layer="Ethernet").read()
    assert found["eth0"].known_link.ports == ("mlx5_0:1",)
    assert found["eth0"].known_link.lower == ()


def test_each_port_of_a_device_has_its_interface(node: Node) -> None:
    node.mlx5(GB, "mlx4_0", interface="ib0", port=1).mlx5(3 * GB, "mlx4_0", interface="ib1", port=2)
    found = node.interface("ib1", 100).read()
    assert (found["ib0"].known_link.ports, found["ib1"].known_link.ports) == (("mlx4_0:1",), ("mlx4_0:2",))
    assert found["mlx4_0:2"].total_bytes == 3 * GB


def test_wide_counters_of_an_older_driver_hold(node: Node) -> None:
    wide: dict[str, int] = {f"counters_ext/port_{way}_data_64": GB // 4 for way in ("xmit", "rcv")}
    ends: dict[str, int] = {f"counters/port_{way}_data": 2**32 - 1 for way in ("xmit", "rcv")}
    files: dict[str, int] = wide | ends
    found = node.port("mlx4_0", driver="mlx4_core", layer="InfiniBand", interface="ib0", files=files).read()
    assert found["mlx4_0:1"].tx_bytes >= GB
    assert found["mlx4_0:1"].is_least is not True


def test_a_counter_at_its_end_reports_only_the_least(node: Node) -> None:
    ends: dict[str, int] = {f"counters/port_{way}_data": 2**32 - 1 for way in ("xmit", "rcv")}
    found = node.port("qib0", driver="ib_qib", layer="InfiniBand", files=ends).read()
    assert found["qib0:1"].is_least is True
    assert found["qib0:1"].since(Counters(1000, 1, 1000, 1)).is_least is True


def test_a_counter_that_was_set_back_reports_what_it_counted_since() -> None:
    crossed = Counters(500, 5, 700, 7).since(Counters(9000, 90, 600, 6))
    assert (crossed.rx_bytes, crossed.tx_bytes, crossed.is_least) == (500, 100, True)


@pytest.mark.parametrize("is_rdma", [False, True])
def test_an_efa_reports_messages_and_rdma(node: Node, is_rdma: bool) -> None:
    found = node.efa(8 * GB, is_rdma=is_rdma).read()
    assert found["rdmap0s31:1"].total_bytes == 8 * GB
    assert found["rdmap0s31:1"].known_link.driver == "efa"


def test_omni_path_counts_as_infiniband_does(node: Node) -> None:
    found = node.hfi1(8 * GB).read()
    assert (found["hfi1_0:1"].total_bytes, found["hfi1_0:1"].known_link.driver) == (8 * GB, "hfi1")


def test_a_slingshot_adapter_reports_octets_with_their_time(node: Node) -> None:
    found = node.interface("hsn0", 500).cxi(8 * GB).read()
    assert found["cxi0:1"].total_bytes == 8 * GB
    assert found["hsn0"].known_link.ports == ("cxi0:1",)


def test_irdma_counts_octets_of_both_versions_of_ip(node: Node) -> None:
    octets: dict[str, int] = {
        f"hw_counters/ip{version}{way}Octets": 100 for version in (4, 6) for way in ("In", "Out")
    }
    found = node.port("irdma0", driver="ice", layer="Ethernet", interface="eth0", files=octets).read()
    assert (found["irdma0:1"].rx_bytes, found["irdma0:1"].tx_bytes) == (200, 200)


def test_a_port_whose_counters_need_rights_is_left_out(node: Node) -> None:
    found = node.port("mlx5_0", driver="mlx5_core", layer="InfiniBand", interface="ib0").read()
    assert "mlx5_0:1" not in found
    assert found["ib0"].known_link.ports == ("mlx5_0:1",)


def test_an_interface_without_a_device_is_found_by_the_gids_of_a_port(node: Node) -> None:
    """A VLAN and a macvlan over RoCE have GIDs of their own (gid_attrs/ndevs)."""
    node.mlx5(GB, interface="eth0", layer="Ethernet").interface("eth0.5", 300, lies_on="eth0")
    write(node.sys / "infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3", "eth0.5")
    link = node.read()["eth0.5"].known_link
    assert (link.lower, link.ports) == (("eth0",), ("mlx5_0:1",))


def test_a_bond_is_an_aggregate_of_its_interfaces(node: Node) -> None:
    found = node.interface("bond0", 100, lies_on="eth0 eth1").aggregate("bond0").read()
    assert found["bond0"].known_link.is_aggregate
    assert found["bond0"].known_link.lower == ("eth0", "eth1")
