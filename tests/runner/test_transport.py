"""The byte counters prove the network, or disprove the run."""

from __future__ import annotations

from tare.model.backend import Counters
from tare.model.site import Network
from tare.runner.transport import prove

HOSTS = ("n1", "n2")


def carried(**interfaces: int) -> dict[str, dict[str, Counters]]:
    counters = {name: Counters(rx_bytes=count, tx_bytes=0) for name, count in interfaces.items()}
    return dict.fromkeys(HOSTS, counters)


FAB = Network(interface="fab0")


def test_the_chosen_interface_with_the_payload_is_proof() -> None:
    proof = prove(FAB, HOSTS, carried(fab0=5000, lo=9_000_000), payload_bytes=4000)
    assert proof.fault is None
    assert "fab0 carried" in proof.evidence


def test_shared_memory_is_caught() -> None:
    proof = prove(FAB, HOSTS, carried(fab0=500, mgmt0=20_000), payload_bytes=4_000_000, management=["mgmt0"])
    assert proof.fault is not None
    assert "the data took another way" in proof.fault


def test_the_wrong_interface_is_caught_and_named() -> None:
    proof = prove(FAB, HOSTS, carried(fab0=0, fab1=5_000_000), payload_bytes=None)
    assert proof.fault is not None
    assert "fab1 carried 4.768 MiB" in proof.fault


def test_start_up_traffic_does_not_count_against_the_data_network() -> None:
    traffic = carried(fab0=1000, mgmt0=50_000, lo=70_000)
    assert prove(FAB, HOSTS, traffic, payload_bytes=None, management=["mgmt0"]).fault is None
    assert prove(FAB, HOSTS, traffic, payload_bytes=None).fault is not None


def test_one_silent_host_disproves_the_run() -> None:
    traffic = carried(fab0=5000) | {"n2": {"fab0": Counters()}}
    assert "n2" in str(prove(FAB, HOSTS, traffic, payload_bytes=4000).fault)


def test_an_interface_that_is_not_there_is_named() -> None:
    assert "has no interface fab0" in str(prove(FAB, HOSTS, carried(eth9=1), payload_bytes=1).fault)
