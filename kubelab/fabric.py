"""Build the networks of real nodes: a switch for management and pods, a faster one, and links to nodes.

All of it is in the network namespace of the lab, which has no connection to the outside.
"""

from __future__ import annotations

import subprocess

from kubelab.processes import KubelabError

HOST = "10.77.0.1"
"""The address of the control plane and the DNS."""
UPLINK, FAST = "eth0", "hsn0"
"""A node's interfaces: that of the management and pod network, and that of the fast network."""
_SWITCHES = {UPLINK: ("mgmt", 1500), FAST: ("hsn", 9000)}
_BURST = "16kb"  # small, compared with the messages that are measured


def address(number: int) -> str:
    """Return the management address of node `number`."""
    return f"10.77.0.{11 + number}"


def fast_address(number: int) -> str:
    """Return the address of node `number` on the fast network."""
    return f"10.78.0.{11 + number}"


def pod_subnet(number: int) -> str:
    """Return the subnet of the pods of node `number`."""
    return f"10.88.{number}.0/24"


def lay_switches() -> None:
    """Create the switches, and give this host the control plane's address on the first."""
    _ip("link", "set", "lo", "up")
    for name, mtu in _SWITCHES.values():
        _ip("link", "add", name, "mtu", str(mtu), "type", "bridge")
        _ip("link", "set", name, "up")
    _ip("address", "add", f"{HOST}/24", "dev", _SWITCHES[UPLINK][0])


def plug_in(number: int, pid: int, n_nodes: int, rate: str) -> None:
    """Connect the network namespace of process `pid` to the switches, as node `number`.

    Pods of other nodes are behind their uplinks, which send at most at `rate`, such as ``200mbit``.
    """
    for cable, (switch, mtu) in _SWITCHES.items():
        end = f"{switch}-{number}"
        _ip(
            "link", "add", end, "mtu", str(mtu), "type", "veth",
            "peer", "name", cable, "mtu", str(mtu), "netns", str(pid),
        )  # fmt: skip
        _ip("link", "set", end, "master", switch, "up")
    _ip("route", "add", pod_subnet(number), "via", address(number))
    inside = ("nsenter", "-t", str(pid), "--net")
    _ip("link", "set", "lo", "up", inside=inside)
    for cable, own in ((UPLINK, address(number)), (FAST, fast_address(number))):
        _ip("address", "add", f"{own}/24", "dev", cable, inside=inside)
        _ip("link", "set", cable, "up", inside=inside)
    _ip("route", "add", "default", "via", HOST, inside=inside)
    for other in range(n_nodes):
        if other != number:
            _ip("route", "add", pod_subnet(other), "via", address(other), inside=inside)
    _run(*inside, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    # tc-tbf(8): packets that would wait longer than `latency` are dropped.
    shape = ("tc", "qdisc", "add", "dev", UPLINK, "root", "tbf", "rate", rate)
    _run(*inside, *shape, "burst", _BURST, "latency", "50ms")


def _ip(*words: str, inside: tuple[str, ...] = ()) -> None:
    _run(*inside, "ip", *words)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KubelabError(f"{' '.join(command)}: {done.stderr.strip()}")
