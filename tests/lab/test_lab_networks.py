"""Traffic between the hosts of a real lab takes the network that it is told to take."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.calls import Hosts
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, start

pytestmark = pytest.mark.lab

SENT_BYTES = 4_000_000


@pytest.fixture
def three_nodes(run_folder: Path) -> Iterator[Hosts]:
    slow = LabNetwork(kind=LabNetworkKind.BRIDGE, rate_bits_per_s=100e6)
    with start(LabSpec(nodes=3, networks={"slow": slow}), owned=True) as lab:
        yield Hosts(lab)


@pytest.mark.parametrize("network", ["host", "overlay", "macvlan", "slow"])
def test_bytes_cross_the_interface_of_their_network_and_no_other(
    lab: Lab, hosts: Hosts, network: str
) -> None:
    offered = lab.spec.site_networks()[network]
    sender, receiver = offered.host_of("n1"), offered.host_of("n2")
    before = hosts.sent_bytes(sender)

    hosts.exchange(sender, receiver, f"n2.{network}", SENT_BYTES)

    moved = {name: count - before[name] for name, count in hosts.sent_bytes(sender).items()}
    assert moved.pop(offered.interface) >= SENT_BYTES
    assert max(moved.values()) < SENT_BYTES / 100, moved


@pytest.mark.parametrize("network", ["overlay", "macvlan"])
def test_a_pods_bytes_cross_the_interface_of_its_node(hosts: Hosts, network: str) -> None:
    before = hosts.sent_bytes("n1")["fab0"]

    hosts.exchange("n1-pod", "n2-pod", f"n2.{network}", SENT_BYTES)

    assert hosts.sent_bytes("n1")["fab0"] - before >= SENT_BYTES


def test_a_rate_slows_a_link_down(hosts: Hosts) -> None:
    unshaped_s = hosts.exchange("n1", "n2", "n2.host", SENT_BYTES)

    assert hosts.exchange("n1", "n2", "n2.slow", SENT_BYTES) > 3 * unshaped_s


@pytest.mark.parametrize(
    "pairs",
    [(("n1", "n3"), ("n2", "n3")), (("n3", "n1"), ("n3", "n2"))],
    ids=["into one node", "out of one node"],
)
def test_streams_share_the_rate_of_the_link_that_they_share(
    three_nodes: Hosts, pairs: tuple[tuple[str, str], ...]
) -> None:
    def send(pair: tuple[str, str]) -> float:
        sender, receiver = pair
        return three_nodes.exchange(sender, receiver, f"{receiver}.slow", 2 * SENT_BYTES)

    alone_s = send(pairs[0])
    with ThreadPoolExecutor() as pool:
        together_s = max(pool.map(send, pairs))

    assert together_s > 1.4 * alone_s


def test_hosts_know_their_name_and_each_others(lab: Lab, hosts: Hosts) -> None:
    for host in lab.topology.hosts:
        done = hosts.call(host, "hostname; getent hosts n2; getent hosts n1.overlay; getent hosts localhost")
        assert done.stdout.split() == [
            host,
            *("10.77.0.2", "n2"),
            *("10.77.101.1", "n1.overlay"),
            *("127.0.0.1", "localhost"),
        ]


def test_hosts_see_their_interfaces_in_sysfs(lab: Lab, hosts: Hosts) -> None:
    for host in lab.topology.pods:
        expected = {"lo", *(port.interface for _, port in lab.topology.ports_of(host))}
        assert set(hosts.call(host, "ls /sys/class/net").stdout.split()) == expected


def test_hosts_see_the_control_groups_of_the_machine(hosts: Hosts) -> None:
    here = "ls /sys/fs/cgroup"

    assert hosts.call("n1", here).stdout == hosts.call("n2-pod", here).stdout != ""


def test_shared_memory_is_private_to_a_host(hosts: Hosts) -> None:
    hosts.call("n1", "touch /dev/shm/mine")

    assert hosts.call("n1", "test -e /dev/shm/mine").returncode == 0
    assert hosts.call("n2", "test -e /dev/shm/mine").returncode == 1


def test_interfaces_have_no_ipv6(hosts: Hosts) -> None:
    for host in ("n1", "n1-pod"):
        assert hosts.call(host, "test -e /proc/net/if_inet6 && cat /proc/net/if_inet6").stdout == ""


def test_the_machine_has_no_interface_of_the_lab(lab: Lab, hosts: Hosts) -> None:
    inside = set(hosts.sent_bytes("n1")) - {"lo"}

    assert not {name for _, name in socket.if_nameindex()} & inside
