"""A network with a delay: each frame comes that much later, and none is lost or mixed up."""

from __future__ import annotations

import errno
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.calls import Hosts, running_lab
from tare.core.errors import LabError
from tare.core.site import LabNetwork, LabNetworkKind, LabSpec
from tare.lab import Lab, links, start
from tare.lab.topology import lay_out

pytestmark = [pytest.mark.lab, pytest.mark.alone]  # it measures delays

for_those_who_may = pytest.mark.skipif(
    not os.access("/dev/net/tun", os.R_OK | os.W_OK), reason="as root: modprobe tun; chmod 666 /dev/net/tun"
)

ECHO = """
import socket, sys, time
server, address, client = sys.argv[1:]
if client == "no":
    listening = socket.create_server((address, 0))
    print(listening.getsockname()[1], flush=True)
    connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := connection.recv(1):
        connection.sendall(data)
else:
    connection = socket.create_connection((address, int(client)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(200):
        started = time.perf_counter()
        connection.sendall(b"x")
        connection.recv(1)
        print(time.perf_counter() - started)
"""
SHORT_S, LONG_S = 1e-6, 2e-3


def network(delay_s: float | None) -> LabNetwork:
    return LabNetwork(kind=LabNetworkKind.BRIDGE, delay_s=delay_s)


@pytest.fixture(scope="module")
def delayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    networks = {
        "short": network(SHORT_S),
        "long": network(LONG_S),
        "over": LabNetwork(kind=LabNetworkKind.VXLAN, over="long"),
        "beside": LabNetwork(kind=LabNetworkKind.MACVLAN, over="long"),
    }
    with running_lab(LabSpec(nodes=3, networks=networks), tmp_path_factory.mktemp("run")) as lab:
        yield lab


def round_trip_s(lab: Lab, name: str) -> float:
    """Return the median time of a byte to another node and back."""
    hosts, offered = Hosts(lab), lab.spec.site_networks()[name]
    near, far = offered.host_of("n1"), offered.host_of("n2")
    with hosts.start(far, sys.executable, "-c", f"'{ECHO}'", "x", f"n2.{name}", "no") as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        done = hosts.call(near, sys.executable, "-c", f"'{ECHO}'", "x", f"n2.{name}", port)
    assert done.returncode == 0, done.stderr
    return statistics.median(float(line) for line in done.stdout.split())


@for_those_who_may
@pytest.mark.parametrize("name", ["long", "over", "beside"])
def test_a_round_trip_takes_two_delays_more(delayed: Lab, name: str) -> None:
    assert round_trip_s(delayed, name) > 2 * LONG_S


@for_those_who_may
def test_two_networks_differ_by_their_delays(delayed: Lab) -> None:
    added_s = (round_trip_s(delayed, "long") - round_trip_s(delayed, "short")) / 2
    assert added_s == pytest.approx(LONG_S - SHORT_S, rel=0.25)


@for_those_who_may
def test_all_bytes_of_a_stream_arrive(delayed: Lab) -> None:
    assert Hosts(delayed).exchange("n3", "n1", "n1.long", 20_000_000) > LONG_S


@for_those_who_may
def test_frames_go_to_their_destination_alone(delayed: Lab) -> None:
    hosts, interface = Hosts(delayed), delayed.spec.site_networks()["short"].interface
    before = hosts.received_bytes("n3")[interface]
    hosts.exchange("n1", "n2", "n2.short", 4_000_000)
    assert hosts.received_bytes("n3")[interface] - before < 40_000, "what is for all, such as ARP"


@for_those_who_may
def test_a_lab_whose_switch_is_killed_ends(run_folder: Path) -> None:
    with start(LabSpec(nodes=2, networks={"far": network(1e-3)}), owned=True) as lab:
        (pid,) = lab.record.switches.values()
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + 20
        while lab.is_running() and time.monotonic() < until:
            time.sleep(0.05)
        assert not lab.is_running(), "a network that carries nothing would let runs hang"


def test_a_user_who_may_not_open_the_device_is_told_the_cure() -> None:
    topology = lay_out(LabSpec(nodes=1, networks={"far": network(1e-3)}))
    fabric = next(one for one in topology.fabrics if one.network)
    with (
        pytest.raises(
            LabError, match=r"network 'far' cannot have a delay: .* Permission denied; .*chmod 666"
        ),
        links.tap_explained(fabric),
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/dev/net/tun")
