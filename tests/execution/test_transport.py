"""Counters of interfaces prove the network that carried the data, or disprove it."""

from __future__ import annotations

import pytest

from execution.transport_counters import GB, HOSTS, UNKNOWN, Pair, have, needs
from support.adapters import write
from tare.core.attempt import Proof, Traffic
from tare.core.job import Counters
from tare.core.site import Network
from tare.execution.transport import Needs, prove

FAB = Network(interface="fab0")


MIB = 1 << 20


def carried(**interfaces: int) -> Traffic:
    """Return that both hosts carried so many bytes, half of them each way."""
    return {host: {name: both_ways(count) for name, count in interfaces.items()} for host in HOSTS}


def both_ways(count: int) -> Counters:
    packets = -(-count // 2 // 1500)
    return Counters(count - count // 2, packets, count // 2, packets)


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
