"""The byte counters prove the network, disprove the run, or leave it unproven; each says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.adapters import Node, write
from tare.core.attempt import Proof, Traffic
from tare.core.job import Counters
from tare.core.site import Network
from tare.execution.attempt_runner import difference
from tare.execution.transport import Needs, TransportVerdict, prove

HOSTS = ("n1", "n2")
FAB = Network(interface="fab0")
MIB = 1 << 20
GB = 1_000_000_000
UNKNOWN = Needs()


def carried(**interfaces: int) -> Traffic:
    """Return that both hosts carried so many bytes, half of them each way."""
    return {host: {name: both_ways(count) for name, count in interfaces.items()} for host in HOSTS}


def both_ways(count: int) -> Counters:
    packets = -(-count // 2 // 1500)
    return Counters(count - count // 2, packets, count // 2, packets)


def needs(payload_bytes: int, n_messages: int = 0) -> Needs:
    return Needs(payload_bytes=payload_bytes, n_messages=n_messages)


def test_the_chosen_interface_with_the_payload_is_counted() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=5 * MIB, lo=9_000_000), needs(4 * MIB))
    assert (judged.proof, judged.fault) == (Proof.COUNTED, None)
    assert judged.evidence == "fab0 carried 5 MiB or more on each of 2 hosts; 4 MiB were needed"


def test_datagrams_that_go_one_way_are_no_fault() -> None:
    """A server of UDP, as iperf's, gets them all and sends nothing but a word at the end."""
    one_way = {
        "n1": {"fab0": Counters(132_000, 90, 1313, 4)},
        "n2": {"fab0": Counters(1313, 4, 132_000, 90)},
    }
    datagrams = Needs(payload_bytes=125_000, is_answered=False)
    assert prove(FAB, HOSTS, one_way, datagrams).fault is None
    elsewhere = one_way | {"n1": {"fab0": Counters(0, 0, 170, 1)}}
    assert "the data took another way" in str(prove(FAB, HOSTS, elsewhere, datagrams).fault)
    large = {
        "n1": {"fab0": Counters(99 * MIB, 70_000, 1313, 4)},
        "n2": {"fab0": Counters(1313, 4, 99 * MIB, 70_000)},
    }
    assert prove(FAB, HOSTS, large, needs(98 * MIB)).fault
    assert prove(FAB, HOSTS, large, Needs(payload_bytes=98 * MIB, is_answered=False)).fault is None


def test_shared_memory_is_caught() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=500, mgmt0=20_000), needs(4_000_000), management=["mgmt0"])
    assert "the data took another way" in str(judged.fault)


def test_the_wrong_interface_is_caught_and_named() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=0, fab1=5_000_000), UNKNOWN)
    assert "fab1 carried 4.768 MiB" in str(judged.fault)


def test_one_silent_host_disproves_the_run() -> None:
    traffic = carried(fab0=5000) | {"n2": {"fab0": Counters()}}
    assert "n2" in str(prove(FAB, HOSTS, traffic, needs(4000)).fault)


def test_an_interface_that_is_not_there_is_named() -> None:
    assert "has no interface fab0" in str(prove(FAB, HOSTS, carried(eth9=1), needs(1)).fault)


def test_start_up_traffic_alone_is_no_proof() -> None:
    """22 KiB on the interface where 8 KiB were needed may be the start of the ranks."""
    judged = prove(FAB, HOSTS, carried(fab0=22_810, mgmt0=9_000), needs(8191), management=["mgmt0"])
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)
    assert judged.evidence.endswith("; the start of the ranks alone may take as much")


def test_with_an_unknown_payload_neither() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=50_000), UNKNOWN)
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)
    assert prove(FAB, HOSTS, carried(fab0=5 * MIB), UNKNOWN).proof is Proof.COUNTED


def test_what_a_start_takes_grows_with_its_ranks() -> None:
    many = Needs(n_ranks=1024, n_nodes=16)
    assert prove(FAB, HOSTS, carried(fab0=20 * MIB), many).proof is Proof.NOT_PROVEN


@pytest.mark.parametrize(
    ("n_ranks", "n_nodes", "took"),
    [(2, 2, 2 * 60 * 1024), (4, 4, 2 * 142_388), (8, 2, 195_821), (16, 4, 588_927)],
)
def test_what_real_starts_took_is_no_proof(n_ranks: int, n_nodes: int, took: int) -> None:
    """The most of MPICH, Intel MPI and Open MPI in the lab on one interface, with attestation, both ways.

    Those of 8 and 16 ranks are of MPI_Init, a barrier and MPI_Finalize, which took the most with MPICH.
    """
    known = Needs(n_ranks=n_ranks, n_nodes=n_nodes)
    assert prove(FAB, HOSTS, carried(fab0=took), known).proof is Proof.NOT_PROVEN


def test_the_mpis_own_word_stands_where_counters_are_silent() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=50_000), UNKNOWN, is_reported=True)
    assert (judged.proof, judged.fault) == (Proof.REPORTED, None)


def test_messages_that_no_packet_shares_bring_their_headers() -> None:
    """1,000 times 8 bytes to and fro are 16 kB of payload, and 80 kB more of headers."""
    traffic = carried(fab0=30_000, fab1=20_000)
    assert "but the figures need" not in str(prove(FAB, HOSTS, traffic, needs(16_000)).fault)
    assert "need at least 93.75 KiB" in str(prove(FAB, HOSTS, traffic, needs(16_000, 2000)).fault)


def test_management_that_carried_more_than_a_start_disproves_it() -> None:
    traffic = carried(fab0=30_000, mgmt0=9 * MIB)
    for known in (UNKNOWN, needs(20_000)):
        judged = prove(FAB, HOSTS, traffic, known, management=["mgmt0"])
        assert "mgmt0 carried 9 MiB" in str(judged.fault)


def test_management_may_carry_what_a_start_takes() -> None:
    traffic = carried(fab0=30_000, mgmt0=50_000)
    judged = prove(FAB, HOSTS, traffic, needs(20_000), management=["mgmt0"])
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)


def test_another_interface_that_carried_more_disproves_it_though_the_payload_is_there() -> None:
    traffic = carried(fab0=5 * MIB, fab1=6 * MIB)
    assert "fab1 carried 6 MiB" in str(prove(FAB, HOSTS, traffic, needs(4 * MIB)).fault)
    judged = prove(FAB, HOSTS, traffic, needs(4 * MIB), is_reported=True)
    assert (judged.proof, judged.fault) == (Proof.REPORTED, None)


def test_an_interface_that_may_carry_the_start_gets_its_cure() -> None:
    judged = prove(FAB, HOSTS, carried(fab0=5_000, eth0=60_000), needs(4_000))
    assert "the data may have taken another way; eth0 carried 58.59 KiB; where the MPI can" in str(
        judged.fault
    )
    assert str(judged.fault).endswith("; if eth0 carries start-up traffic, name it in management")


def test_little_on_two_interfaces_is_no_number_unless_one_of_them_is_management() -> None:
    """Start-up traffic on the one that was claimed, and a few messages on another, look like this."""
    traffic = carried(fab0=21_786, eth0=14_120)
    for known in (UNKNOWN, needs(20), needs(8_000)):
        fault = str(prove(FAB, HOSTS, traffic, known).fault)
        assert fault.startswith(
            "fab0 on n1 carried 21.28 KiB, no more than a start of the ranks may take, and eth0 carried "
            "13.79 KiB: which of them carried the data is not known; ask for larger or more messages; where"
        )
        assert prove(FAB, HOSTS, traffic, known, is_reported=True).proof is Proof.REPORTED
        assert prove(FAB, HOSTS, traffic, known, management=["eth0"]).proof is Proof.NOT_PROVEN
    assert prove(FAB, HOSTS, traffic, needs(15_000)).proof is Proof.NOT_PROVEN, "eth0 carried less"


def test_what_nothing_answers_is_no_rival() -> None:
    """Broadcasts of others come in on each interface of a network."""
    quiet = {"fab0": both_ways(21_786), "eth0": Counters(9_000, 90, 170, 2)}
    assert prove(FAB, HOSTS, dict.fromkeys(HOSTS, quiet), needs(20)).proof is Proof.NOT_PROVEN


def test_data_that_came_back_another_way_are_caught() -> None:
    one_way = {"fab0": Counters(60, 1, 9 * MIB, 6000), "fab1": Counters(MIB // 10, 3000, 0, 0)}
    judged = prove(FAB, HOSTS, dict.fromkeys(HOSTS, one_way), needs(8 * MIB))
    assert "next to nothing went in through fab0 on n1" in str(judged.fault)


def test_a_counter_that_was_set_back_disproves_nothing() -> None:
    was_set_back = {"fab0": Counters(1000, 2, 1000, 2, is_least=True)}
    judged = prove(FAB, HOSTS, dict.fromkeys(HOSTS, was_set_back), needs(8 * MIB))
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)


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


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


KINDS = ("mlx5", "roce", "hfi1", "efa", "efa-rdma", "cxi")
NETWORKS = {
    "mlx5": Network(interface="ib0", provider="verbs"),
    "roce": Network(interface="eth0", provider="verbs"),
    "hfi1": Network(interface="ib0", provider="psm2"),
    "efa": Network(interface="eth0", provider="efa"),
    "efa-rdma": Network(interface="eth0", provider="efa"),
    "cxi": Network(interface="hsn0", provider="cxi"),
}


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


def test_a_host_that_reports_nothing_lacks_no_interface() -> None:
    judged = prove(FAB, HOSTS, {}, needs(GB), is_reported=True)
    assert (judged.proof, judged.evidence) == (Proof.REPORTED, "n1 reported no counters of its interfaces")


@pytest.mark.parametrize("is_before", [True, False])
def test_a_host_whose_interfaces_could_be_read_only_once_lacks_none(pair: Pair, is_before: bool) -> None:
    have(pair, "roce", 0, over_interface=0)
    if is_before:
        pair.begin()
    have(pair, "roce", 0, over_interface=8 * GB)
    if not is_before:
        pair.before = {host: {} for host in HOSTS}
    for node in pair.nodes.values() if is_before else ():
        write(node.root / "proc/net/dev", "")
    judged = pair.judge(Network(interface="eth0"), needs(7 * GB))
    assert (judged.proof, judged.fault) == (Proof.NOT_PROVEN, None)
    assert judged.evidence == "what eth0 on n1 counted could not be read"
