"""Counters of RDMA adapters of every kind prove the network, or disprove it."""

from __future__ import annotations

import pytest

from execution.transport_counters import GB, UNKNOWN, Pair, have, needs
from support.adapters import write
from tare.core.attempt import Proof
from tare.core.site import Network

KINDS = ("mlx5", "roce", "hfi1", "efa", "efa-rdma", "cxi")


NETWORKS = {
    "mlx5": Network(interface="ib0", provider="verbs"),
    "roce": Network(interface="eth0", provider="verbs"),
    "hfi1": Network(interface="ib0", provider="psm2"),
    "efa": Network(interface="eth0", provider="efa"),
    "efa-rdma": Network(interface="eth0", provider="efa"),
    "cxi": Network(interface="hsn0", provider="cxi"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapter_that_carried_the_payload_is_counted(pair: Pair, kind: str) -> None:
    have(pair, kind, 0, over_interface=0)
    pair.begin()
    have(pair, kind, 8 * GB)
    judged = pair.judge(NETWORKS[kind], needs(7 * GB))
    assert (judged.proof, judged.fault) == (Proof.COUNTED, None)
    assert "carried 7.451 GiB or more on each of 2 hosts" in judged.evidence
    assert pair.judge(NETWORKS[kind]).proof is Proof.COUNTED


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapter_that_stood_still_while_tcp_carried_the_payload_is_caught(pair: Pair, kind: str) -> None:
    """IPoIB and Slingshot's interface go through the counters of the port: they are taken off."""
    have(pair, kind, 0, over_interface=0)
    pair.begin()
    have(pair, kind, 0, over_interface=8 * GB)
    judged = pair.judge(NETWORKS[kind], needs(7 * GB))
    assert "carried 7.451 GiB" in str(judged.fault)
    assert "the data took another way" in str(judged.fault)


@pytest.mark.parametrize("kind", KINDS)
def test_a_little_on_the_interface_is_no_proof(pair: Pair, kind: str) -> None:
    have(pair, kind, 0, over_interface=0)
    pair.begin()
    have(pair, kind, 0)
    for known in (UNKNOWN, needs(7 * GB)):
        assert pair.judge(NETWORKS[kind], known).proof is Proof.NOT_PROVEN
        assert pair.judge(NETWORKS[kind], known, is_reported=True).proof is Proof.REPORTED


def test_without_counters_the_mpi_decides(pair: Pair) -> None:
    for node in pair.nodes.values():
        node.interface("ib0", 0).port("mlx5_0", driver="mlx5_core", interface="ib0")
    pair.begin()
    for node in pair.nodes.values():
        node.interface("ib0", 12_000)
    judged = pair.judge(NETWORKS["mlx5"], needs(7 * GB), is_reported=True)
    assert (judged.proof, judged.evidence) == (
        Proof.REPORTED,
        "n1 reports no counters of an adapter for verbs",
    )
    assert pair.judge(NETWORKS["mlx5"], needs(7 * GB)).proof is Proof.NOT_PROVEN


def test_a_counter_that_came_to_its_end_is_no_fault(pair: Pair) -> None:
    for node in pair.nodes.values():
        node.interface("ib0", 0).mlx5(4 * GB)
    pair.begin()
    for node in pair.nodes.values():
        node.mlx5(8 * (2**32 - 1))
    assert pair.judge(NETWORKS["mlx5"], needs(99 * GB)).fault is None
    assert pair.judge(NETWORKS["mlx5"], needs(7 * GB)).proof is Proof.COUNTED


def test_counters_that_were_set_back_are_no_fault(pair: Pair) -> None:
    have(pair, "mlx5", 8 * GB, over_interface=0)
    pair.begin()
    have(pair, "mlx5", 1 * GB, over_interface=0)
    judged = pair.judge(NETWORKS["mlx5"], needs(7 * GB))
    assert (judged.fault, judged.proof) == (None, Proof.NOT_PROVEN)


def rails(pair: Pair, first: int, second: int) -> None:
    for node in pair.nodes.values():
        node.interface("ib0", 0).mlx5(first).mlx5(second, "mlx5_1", interface="ib1")


def test_two_rails_count_together_where_the_site_names_both(pair: Pair) -> None:
    rails(pair, 0, 0)
    pair.begin()
    rails(pair, 4 * GB, 4 * GB)
    network = NETWORKS["mlx5"]
    judged = pair.judge(network, needs(7 * GB), devices=("mlx5_0:1", "mlx5_1"))
    assert (judged.proof, judged.fault) == (Proof.COUNTED, None)
    assert "mlx5_0:1 and mlx5_1:1 carried" in judged.evidence
    assert "mlx5_1:1 carried 3.725 GiB" in str(pair.judge(network, needs(7 * GB)).fault)
    assert pair.judge(network, needs(7 * GB), is_reported=True).proof is Proof.REPORTED


def test_the_wrong_device_is_caught(pair: Pair) -> None:
    rails(pair, 0, 0)
    pair.begin()
    rails(pair, 100_000, 8 * GB)
    judged = pair.judge(NETWORKS["mlx5"], needs(7 * GB), devices=("mlx5_0:1",))
    assert "mlx5_1:1 carried 7.451 GiB" in str(judged.fault)


def test_rdma_in_place_of_tcp_is_caught(pair: Pair) -> None:
    have(pair, "roce", 0, over_interface=0)
    pair.begin()
    have(pair, "roce", 8 * GB)
    judged = pair.judge(Network(interface="eth0"), needs(7 * GB))
    assert "mlx5_0:1 carried 7.451 GiB" in str(judged.fault)


def test_a_provider_that_leaves_the_way_to_ucx_takes_either(pair: Pair) -> None:
    network = Network(interface="ib0", provider="ucx")
    have(pair, "mlx5", 0, over_interface=0)
    pair.begin()
    have(pair, "mlx5", 8 * GB)
    assert pair.judge(network, needs(7 * GB)).proof is Proof.COUNTED
    for node in pair.nodes.values():
        node.interface("ib0", 8 * GB).interface("eth0", 0).interface("hsn0", 0).mlx5(8 * GB)
    judged = pair.judge(network, needs(7 * GB))
    assert (judged.proof, judged.evidence[:12]) == (Proof.COUNTED, "ib0 carried ")


def test_a_virtual_function_counts_for_itself(pair: Pair) -> None:
    def carry(total: int) -> None:
        for node in pair.nodes.values():
            node.interface("net1", 10_000 if total else 0)
            node.mlx5(total, "mlx5_7", interface="net1", layer="Ethernet").mlx5(
                total, "mlx5_0", interface="eth9"
            )

    carry(0)
    pair.begin()
    carry(8 * GB)
    judged = pair.judge(Network(interface="net1", provider="verbs"), needs(7 * GB))
    assert (judged.proof, judged.evidence[:17]) == (Proof.COUNTED, "mlx5_7:1 carried ")


def test_software_rdma_has_only_the_report_of_its_mpi(pair: Pair) -> None:
    for node in pair.nodes.values():
        node.interface("eth0", 0).interface("eth1", 0).port("rxe0", driver="", layer="Ethernet")
        write(node.sys / "infiniband/rxe0/parent", "eth0")
    pair.begin()
    for node in pair.nodes.values():
        node.interface("eth0", 8 * GB)
    network = Network(interface="eth0", provider="verbs")
    judged = pair.judge(network, needs(7 * GB), is_reported=True)
    assert (judged.proof, judged.fault) == (Proof.REPORTED, None)
    judged = pair.judge(network, needs(7 * GB))
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None), "it goes through the kernel, as TCP does"
    assert judged.evidence.endswith(
        "; what eth0 carried cannot be distinguished: RDMA in software, TCP or others"
    )
    for node in pair.nodes.values():
        node.interface("eth1", 9 * GB).interface("eth0", 0)
    assert "the data took another way; eth1 carried" in str(pair.judge(network, needs(7 * GB)).fault)


def test_a_port_that_could_be_read_only_once_did_not_stand_still(pair: Pair) -> None:
    """What it counted is not known, which is not the same as nothing."""
    have(pair, "roce", 0, over_interface=0)
    pair.begin()
    have(pair, "roce", 8 * GB, over_interface=12_000)
    for node in pair.nodes.values():
        for file in node.sys.glob("infiniband/*/ports/1/counters/*"):
            write(file, "")
    judged = pair.judge(NETWORKS["roce"], needs(7 * GB))
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)
    assert judged.evidence == "what mlx5_0:1 on n1 counted could not be read"
    assert pair.judge(NETWORKS["roce"], needs(7 * GB), is_reported=True).proof is Proof.REPORTED


def test_a_port_that_could_be_read_only_once_does_not_prove_another_way(pair: Pair) -> None:
    have(pair, "roce", 0, over_interface=0)
    pair.begin()
    have(pair, "roce", 8 * GB, over_interface=8 * GB)
    for file in pair.nodes["n1"].sys.glob("infiniband/*/ports/1/counters/*"):
        write(file, "")
    fault = str(pair.judge(NETWORKS["roce"], needs(7 * GB)).fault)
    assert fault == (
        "what mlx5_0:1 on n1 counted could not be read, and ib0 carried 7.451 GiB: "
        "which of them carried the data is not known"
    )
