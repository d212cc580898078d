"""What a lab is made of, without building it."""

from __future__ import annotations

import msgspec
import pytest

from tare.core.errors import UsageError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.core.token_bucket import burst_bytes
from tare.lab.topology import Topology, lay_out


@pytest.fixture
def topology(spec: LabSpec) -> Topology:
    return lay_out(spec)


def test_interfaces_are_those_that_the_site_offers(spec: LabSpec, topology: Topology) -> None:
    offered = {name: network.interface for name, network in spec.site_networks().items()}

    assert {fabric.network: fabric.interface for fabric in topology.fabrics if fabric.network} == offered


def test_hosts_are_those_that_the_site_names(spec: LabSpec, topology: Topology) -> None:
    for name, network in spec.site_networks().items():
        (fabric,) = (fabric for fabric in topology.fabrics if fabric.network == name)
        assert [port.host for port in fabric.ports] == [network.host_of(node) for node in spec.node_names]


def test_every_host_has_a_management_address(topology: Topology) -> None:
    addresses = {port.host: port.address for port in topology.fabrics[0].ports}

    assert addresses == {
        "n1": "10.77.0.1",
        "n2": "10.77.0.2",
        "n1-pod": "10.77.0.101",
        "n2-pod": "10.77.0.102",
    }


def test_no_address_and_no_mac_is_given_twice() -> None:
    kinds = (LabNetworkKind.BRIDGE, LabNetworkKind.VXLAN, LabNetworkKind.MACVLAN)
    networks = {
        f"{kind}{i}": LabNetwork(kind=kind, over=None if kind is LabNetworkKind.BRIDGE else "bridge0")
        for kind in kinds
        for i in range(4)
    }
    ports = [
        port for fabric in lay_out(LabSpec(nodes=100, networks=networks)).fabrics for port in fabric.ports
    ]

    assert len({port.address for port in ports}) == len(ports)
    assert len({port.mac for port in ports}) == len(ports)


def test_a_mac_is_locally_administered_and_spells_the_address(topology: Topology) -> None:
    assert topology.fabrics[1].ports[0].address == "10.77.1.1"
    assert topology.fabrics[1].ports[0].mac == "02:00:0a:4d:01:01"


def test_an_overlay_leaves_space_for_its_headers(topology: Topology) -> None:
    mtus = {fabric.network: fabric.mtu for fabric in topology.fabrics}

    assert (mtus["host"], mtus["overlay"], mtus["macvlan"]) == (1500, 1450, 1500)


def test_an_overlay_follows_the_mtu_of_what_carries_it() -> None:
    jumbo = LabSpec(
        nodes=2,
        networks={
            "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over="host"),
            "host": LabNetwork(kind=LabNetworkKind.BRIDGE, mtu=9000),
        },
    )

    assert {f.network: f.mtu for f in lay_out(jumbo).fabrics} == {None: 1500, "host": 9000, "overlay": 8950}


def test_names_and_addresses_mean_hosts(topology: Topology) -> None:
    aliases = topology.aliases()

    assert aliases["n1"] == aliases["10.77.0.1"] == aliases["n1.host"] == aliases["10.77.1.1"] == "n1"
    assert aliases["n1-pod"] == aliases["n1.overlay"] == aliases["10.77.101.1"] == "n1-pod"


def test_a_host_name_means_its_management_address(topology: Topology) -> None:
    lines = topology.etc_hosts().splitlines()

    assert lines[0] == "127.0.0.1\tlocalhost"
    assert "10.77.0.1\tn1" in lines
    assert "10.77.201.2\tn2.macvlan" in lines


@pytest.mark.parametrize("nodes", [0, -1, 101])
def test_a_lab_of_no_or_too_many_nodes_is_refused(spec: LabSpec, nodes: int) -> None:
    with pytest.raises(UsageError, match="1 to 100"):
        lay_out(msgspec.structs.replace(spec, nodes=nodes))


@pytest.mark.parametrize("over", [None, "nowhere", "macvlan"])
def test_an_overlay_over_what_is_no_bridge_is_refused(spec: LabSpec, over: str | None) -> None:
    networks = {**spec.networks, "overlay": LabNetwork(kind=LabNetworkKind.VXLAN, over=over)}

    with pytest.raises(UsageError, match="name a bridge network"):
        lay_out(msgspec.structs.replace(spec, networks=networks))


def test_faster_links_get_deeper_buckets() -> None:
    rates = (1e8, 1e9, 2.5e9, 5e9, 1e10)

    assert [burst_bytes(rate) >> 10 for rate in rates] == [32, 256, 512, 1024, 2048]
