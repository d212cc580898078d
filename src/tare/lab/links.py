"""Build the links of a topology with rtnetlink(7): bridges, veth pairs, taps, VXLAN, macvlan, rates."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tare.core.errors import LabError
from tare.core.site import LabNetworkKind
from tare.core.token_bucket import burst_bytes
from tare.lab.delay import TAP_DEVICE, Switch, open_tap
from tare.lab.namespaces import in_network_of
from tare.lab.topology import Fabric, Port, Topology

_LOOPBACK = 1
_VXLAN_PORT = 4789
_FIRST_VNI = 100
_ANY_MAC = "00:00:00:00:00:00"
_MAX_RATE_BITS_PER_S = 8 * (2**32 - 1)
"""The largest rate of tc-tbf(8), which has 32 bits: 34.4 Gbit/s."""

MODULES = {LabNetworkKind.BRIDGE: "bridge", LabNetworkKind.VXLAN: "vxlan", LabNetworkKind.MACVLAN: "macvlan"}
"""The kernel module for each kind of network."""


class Links:
    """The links of one network namespace, over one netlink socket."""

    def __init__(self, socket: IPRoute) -> None:
        self._socket = socket

    def add(self, name: str, kind: str, **attributes: Any) -> int:
        """Add a link of `kind` (ip-link(8)); return its index in this namespace."""
        self._socket.link("add", ifname=name, kind=kind, **attributes)
        return self.index(name)

    def send(self, name: str, kind: str, **attributes: Any) -> None:
        """Add a link that appears in another namespace."""
        self._socket.link("add", ifname=name, kind=kind, **attributes)

    def index(self, name: str) -> int:
        """Return the index of the link `name`."""
        found: list[int] = self._socket.link_lookup(ifname=name)
        return found[0]

    def start(self, index: int) -> None:
        """Set a link up."""
        self._socket.link("set", index=index, state="up")

    def attach(self, port: Port) -> int:
        """Give the interface of `port` its address and set it up; return its index."""
        index = self.index(port.interface)
        self._socket.addr("add", index=index, address=port.address, prefixlen=24)
        self.start(index)
        return index

    def configure(self, port: Port, mtu: int) -> None:
        """Give the interface of `port` its hardware address and the largest packet."""
        self._socket.link("set", index=self.index(port.interface), address=port.mac, mtu=mtu)

    def shape(self, index: int, rate_bits_per_s: float) -> None:
        """Limit the sending rate of a link (tc-tbf(8)), with at most 20 ms of queue."""
        if rate_bits_per_s > _MAX_RATE_BITS_PER_S:
            raise LabError(
                f"a rate of {rate_bits_per_s:g} bit/s is more than tbf can shape; leave the rate out"
            )
        self._socket.tc(
            "add",
            "tbf",
            index,
            rate=int(rate_bits_per_s / 8),
            burst=burst_bytes(rate_bits_per_s),
            latency="20ms",
        )

    def forward(self, index: int, mac: str, to: str) -> None:
        """Make a VXLAN send frames for `mac` (`_ANY_MAC`: all or unknown ones) to the address `to`."""
        self._socket.fdb("append", ifindex=index, lladdr=mac, dst=to)


def build(topology: Topology, pids: Mapping[str, int]) -> tuple[Switch, ...]:
    """Build every fabric of `topology`, with its bridges in this network namespace.

    `pids` are processes in the hosts' network namespaces. Return the switches of networks with a delay, which
    carry nothing until they run. Raises LabError with the name of the network that cannot be built.
    """
    with contextlib.ExitStack() as stack:
        switch = stack.enter_context(_links())
        hosts: dict[str, Links] = {}
        for host, pid in pids.items():
            with in_network_of(pid):
                hosts[host] = stack.enter_context(_links())
        for links in (switch, *hosts.values()):
            links.start(_LOOPBACK)
        builder = _Builder(switch, hosts, pids)
        for fabric in topology.fabrics:
            with explained(fabric):
                builder.build(fabric)
        return tuple(builder.switches)


@contextlib.contextmanager
def _links() -> Iterator[Links]:
    with IPRoute() as socket:
        yield Links(socket)


@contextlib.contextmanager
def explained(fabric: Fabric) -> Iterator[None]:
    """Turn the kernel's refusal to build `fabric` into a LabError with the cure."""
    try:
        yield
    except NetlinkError as error:
        modules = [MODULES[fabric.kind], "veth", *(["sch_tbf"] if fabric.rate_bits_per_s else [])]
        raise LabError(
            f"network {fabric.label!r} ({fabric.kind}) cannot be built: {error.args[1]}; "
            f"if the kernel lacks a module, run as root: modprobe -a {' '.join(modules)}; "
            "or leave this network out of the lab"
        ) from error


@contextlib.contextmanager
def tap_explained(fabric: Fabric) -> Iterator[None]:
    """Turn the refusal of a tap device into a LabError with the cure."""
    try:
        yield
    except OSError as error:
        raise LabError(
            f"network {fabric.label!r} cannot have a delay: {TAP_DEVICE}: {error.strerror}; as root, run: "
            f"modprobe tun; chmod 666 {TAP_DEVICE}; or leave the delay out"
        ) from error


class _Builder:
    """Builds fabrics; it has the links of each host's namespace."""

    def __init__(self, switch: Links, hosts: Mapping[str, Links], pids: Mapping[str, int]) -> None:
        self._switch = switch
        self._hosts = hosts
        self._pids = pids
        self.switches: list[Switch] = []

    def build(self, fabric: Fabric) -> None:
        if fabric.over is None:
            (self._bridge if fabric.delay_s is None else self._delayed)(fabric)
            return
        attach = self._vxlan_port if fabric.kind is LabNetworkKind.VXLAN else self._macvlan_port
        for number, port in enumerate(fabric.ports):
            attach(fabric, fabric.over, number, port)

    def _bridge(self, fabric: Fabric) -> None:
        bridge = self._switch.add(fabric.interface, "bridge", mtu=fabric.mtu, state="up", br_mcast_snooping=0)
        for port in fabric.ports:
            near = self._switch.add(
                f"{fabric.interface}-{port.host}",
                "veth",
                mtu=fabric.mtu,
                master=bridge,
                peer=self._far_end(port, fabric),
            )
            self._switch.start(near)
            far = self._hosts[port.host].attach(port)
            rate_bits_per_s = fabric.rate_of(port)
            if rate_bits_per_s is not None:
                # A qdisc limits sending only: the far end limits what the host sends, the switch's end what
                # it receives.
                self._switch.shape(near, rate_bits_per_s)
                self._hosts[port.host].shape(far, rate_bits_per_s)

    def _delayed(self, fabric: Fabric) -> None:
        """Make each host's interface a tap; the switch has all of them."""
        taps = []
        for port in fabric.ports:
            with in_network_of(self._pids[port.host]), tap_explained(fabric):
                taps.append(open_tap(port.interface))
            self._hosts[port.host].configure(port, fabric.mtu)
            self._hosts[port.host].attach(port)
        self.switches.append(Switch(fabric.interface, taps, fabric.delay_s or 0.0))

    def _vxlan_port(self, fabric: Fabric, over: Fabric, number: int, port: Port) -> None:
        """Connect a pod on its node: veth pair, bridge, VXLAN, and static forwarding entries."""
        below = over.ports[number]
        node = self._hosts[below.host]
        bridge = node.add(f"br-{fabric.interface}", "bridge", mtu=fabric.mtu, state="up", br_mcast_snooping=0)
        vxlan = node.add(
            f"vx-{fabric.interface}",
            "vxlan",
            vxlan_id=_FIRST_VNI + int(port.address.split(".")[2]),
            vxlan_local=below.address,
            vxlan_link=node.index(below.interface),
            vxlan_port=_VXLAN_PORT,
            vxlan_learning=0,
            mtu=fabric.mtu,
            master=bridge,
        )
        node.start(vxlan)
        near = node.add(
            f"veth-{fabric.interface}",
            "veth",
            mtu=fabric.mtu,
            master=bridge,
            peer=self._far_end(port, fabric),
        )
        node.start(near)
        self._hosts[port.host].attach(port)
        others = [i for i in range(len(fabric.ports)) if i != number]
        for other in others:
            node.forward(vxlan, _ANY_MAC, over.ports[other].address)
            node.forward(vxlan, fabric.ports[other].mac, over.ports[other].address)

    def _macvlan_port(self, fabric: Fabric, over: Fabric, number: int, port: Port) -> None:
        node = self._hosts[over.ports[number].host]
        node.send(
            port.interface,
            "macvlan",
            macvlan_mode="bridge",
            link=node.index(over.interface),
            address=port.mac,
            mtu=fabric.mtu,
            net_ns_pid=self._pids[port.host],
        )
        self._hosts[port.host].attach(port)

    def _far_end(self, port: Port, fabric: Fabric) -> dict[str, object]:
        return {
            "ifname": port.interface,
            "address": port.mac,
            "mtu": fabric.mtu,
            "net_ns_pid": self._pids[port.host],
        }
