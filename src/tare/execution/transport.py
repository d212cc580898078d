"""Check that the network of a case carried its data, and say how strong the proof is.

The evidence is the byte and packet counters of the interfaces and RDMA ports of each host, read before and
after the run, and what the MPI itself reported about its transport.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from tare.core.attempt import Proof, Traffic
from tare.core.counting import count
from tare.core.job import Counters
from tare.core.site import Network
from tare.core.units import format_bytes
from tare.execution.network_interfaces import OVER_SOCKETS, chosen_ports, is_port, others, own_bytes

_START_BYTES = 256 * 1024
_START_BYTES_A_RANK = 16 * 1024
_UNKNOWN = "which of them carried the data is not known"
_NOISE_BYTES = 1024  # background traffic of a network, both ways, during a run of some seconds
_HEADER_BYTES = 40  # IPv4 and TCP headers of each packet, without options (RFC 791, RFC 9293)


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """The least traffic that must have crossed the network of each node for the figures to be true.

    `payload_bytes` is the minimum payload that the figures imply, None if they imply none. `n_messages` is
    the minimum number of messages that cannot share a packet. `is_answered` says that each node also sends
    something back, as with TCP; UDP datagrams may go one way only. `n_ranks` and `n_nodes` are the size of
    the run.
    """

    payload_bytes: int | None = None
    n_messages: int = 0
    is_answered: bool = True
    n_ranks: int = 2
    n_nodes: int = 2

    @property
    def start_bytes(self) -> int:
        """Return an upper limit, in bytes, of the start-up traffic of any node: daemons, addresses, outputs.

        Measured in the lab, on one interface of a node, both ways together, with a barrier: at most 191 KiB
        for 8 ranks on two nodes, and 575 KiB for 16 ranks on four nodes. This was MPICH over UCX; Open MPI
        and Intel MPI took less (three runs of each). Every node receives all addresses, some hundred bytes a
        rank, and the first node may send all of them.
        """
        return _START_BYTES + self.n_ranks * (_START_BYTES_A_RANK + 2048 * self.n_nodes)


class TransportVerdict(NamedTuple):
    """The result of the check: the evidence, its strength, and the fault if the counters disprove the run."""

    evidence: str
    proof: Proof | None = None
    fault: str | None = None


class _Evidence(NamedTuple):
    """What one host shows: the bytes that `name` carried, None if unknown.

    `unproven` says why the bytes alone prove nothing. `fault` says why they disprove the run.
    """

    name: str
    n_bytes: int | None
    unproven: str = ""
    fault: str | None = None


def prove(
    network: Network,
    hosts: Sequence[str],
    traffic: Traffic,
    needs: Needs,
    *,
    management: Collection[str] = (),
    devices: Collection[str] = (),
    is_reported: bool = False,
) -> TransportVerdict:
    """Judge one attempt by the `traffic` on the interfaces and RDMA ports of each of its `hosts`.

    On each host, the network must have carried what the run `needs`, both ways, and more than any other
    interface except loopback. The network is its interface, or, if the provider bypasses the kernel, the
    ports of its adapter; if the site names `devices`, it is these.

    Interfaces of `management` may in addition have carried the start-up traffic. `is_reported` says that the
    MPI itself reported this network. Then traffic on other interfaces, and missing counters, are no fault.
    """
    seen = {}
    for host in hosts:
        check = _HostCheck(
            network, host, traffic.get(host, {}), needs, management, devices, is_reported=is_reported
        )
        seen[host] = check.evidence()
        if seen[host].fault:
            return TransportVerdict("", None, seen[host].fault)
    unproven = next((one.unproven for one in seen.values() if one.unproven), "")
    evidence = _evidence(list(seen.values()), needs)
    if not unproven:
        return TransportVerdict(evidence, Proof.COUNTED)
    evidence = f"{evidence}; {unproven}" if evidence else unproven
    return TransportVerdict(evidence, Proof.REPORTED if is_reported else Proof.NOT_PROVEN)


def _evidence(seen: Sequence[_Evidence], needs: Needs) -> str:
    known = [(one.n_bytes, one.name) for one in seen if one.n_bytes is not None]
    if not known or len(known) < len(seen):
        return ""
    least, name = min(known)
    text = f"{name} carried {format_bytes(least)} or more on each of {count(len(seen), 'host')}"
    if needs.payload_bytes is None:
        return text
    return f"{text}; {format_bytes(needs.payload_bytes)} were needed"


class _HostCheck:
    """The check of the counters of one host."""

    def __init__(
        self,
        network: Network,
        host: str,
        counters: Mapping[str, Counters],
        needs: Needs,
        management: Collection[str],
        devices: Collection[str],
        *,
        is_reported: bool,
    ) -> None:
        self.network, self.host, self.counters, self.needs = network, host, counters, needs
        self.management, self.is_reported = management, is_reported
        self.ports = chosen_ports(network, counters, devices)

    def evidence(self) -> _Evidence:
        """Return the result for the interface, or for the ports if the provider bypasses the kernel."""
        interface = self.network.interface
        if self.network.provider in OVER_SOCKETS:
            return self._interface()
        if interface in self.counters and self.counters[interface].known_link.carries_rdma and not self.ports:
            mixed = f"what {interface} carried cannot be distinguished: RDMA in software, TCP or others"
            return self._interface()._replace(unproven=mixed)
        if self.network.provider == "ucx" and interface in self.counters:
            through = own_bytes(self.counters, interface)
            if not self.ports or through > sum(own_bytes(self.counters, one) for one in self.ports):
                return self._interface()
        return self._ports() if self.ports else self._no_ports()

    def _interface(self) -> _Evidence:
        name = self.network.interface
        if all(is_port(one) for one in self.counters):
            return _Evidence(name, None, f"{self.host} reported no counters of its interfaces")
        if name not in self.counters:
            absent = f"host {self.host} has no interface {name}; mend the site file's network"
            return _Evidence(name, None, fault=absent)
        if self.counters[name].is_unknown:
            return self._unread((name,))
        needed = self._needed()
        carried = own_bytes(self.counters, name)
        if fault := self._too_little((name,), carried, needed) or self._missing_direction(name):
            return _Evidence(name, carried, fault=fault)
        return self._against_others((name,), carried)

    def _ports(self) -> _Evidence:
        name, needed = " and ".join(self.ports), self.needs.payload_bytes
        carried = sum(own_bytes(self.counters, one) for one in self.ports)
        if carried == 0 and any(self.counters[one].is_unknown for one in self.ports):
            return self._unread(self.ports)
        if carried == 0 or (self.is_reported and needed is not None and carried < needed):
            # Some adapters do not count their virtual functions, and several rails share the MPI's data.
            if around := self._through_the_kernel():
                return _Evidence(name, carried, fault=around)
            counted = "counted nothing" if carried == 0 else f"counted only {format_bytes(carried)}"
            return _Evidence(name, None, f"{name} on {self.host} {counted}")
        if fault := self._too_little(self.ports, carried, needed):
            return _Evidence(name, carried, fault=fault)
        return self._against_others(self.ports, carried)

    def _unread(self, chosen: Sequence[str]) -> _Evidence:
        """Return the result if the counters of `chosen` could not be read both before and after the run."""
        name = " and ".join(chosen)
        unproven = f"what {name} on {self.host} counted could not be read"
        rival, most = self._busiest(chosen)
        if self.is_reported or most < max(self.needs.payload_bytes or 0, self.needs.start_bytes):
            return _Evidence(name, None, unproven)
        return _Evidence(
            name, None, fault=f"{unproven}, and {rival} carried {format_bytes(most)}: {_UNKNOWN}"
        )

    def _no_ports(self) -> _Evidence:
        if fault := self._through_the_kernel():
            return _Evidence("", None, fault=fault)
        return _Evidence(
            "", None, f"{self.host} reports no counters of an adapter for {self.network.provider}"
        )

    def _through_the_kernel(self) -> str | None:
        """Return the fault if an interface carried data that should have bypassed the kernel."""
        name, most = max(
            (
                (one, own_bytes(self.counters, one))
                for one in self.counters
                if one != "lo" and not is_port(one)
            ),
            key=lambda item: item[1],
            default=("", 0),
        )
        needed = self.needs.payload_bytes
        if self.is_reported or needed is None or most < max(needed, self.needs.start_bytes):
            return None
        return (
            f"{name} on {self.host} carried {format_bytes(most)}, and the network asks for "
            f"{self.network.provider}, which goes past it: the data took another way"
        )

    def _too_little(self, chosen: Sequence[str], carried: int, needed: int | None) -> str | None:
        name = " and ".join(chosen)
        if carried and (needed is None or carried >= needed or self._is_least(chosen)):
            return None
        if needed is None:
            return f"{name} on {self.host} carried nothing: the data took another way{self._instead(chosen)}"
        return (
            f"{name} on {self.host} carried {format_bytes(carried)}, but the figures need at least "
            f"{format_bytes(needed)}: the data took another way{self._instead(chosen)}"
        )

    def _missing_direction(self, name: str) -> str | None:
        """Return the fault if one direction carried next to nothing: TCP acknowledges its packets."""
        counters = self.counters[name]
        if counters.is_least is True or not self.needs.is_answered:
            return None
        least = max((self.needs.payload_bytes or 0) // 2**20, 1)
        for packets, n_bytes, way in (
            (counters.rx_packets, counters.rx_bytes, "in"),
            (counters.tx_packets, counters.tx_bytes, "out"),
        ):
            if n_bytes == 0 or 0 < packets < least:
                return (
                    f"next to nothing went {way} through {name} on {self.host} "
                    f"({format_bytes(n_bytes)}): the data took another way{self._instead((name,))}"
                )
        return None

    def _against_others(self, chosen: Sequence[str], carried: int) -> _Evidence:
        """Return the result for a network that carried enough, compared with the other interfaces."""
        name = " and ".join(chosen)
        rival, most = self._busiest(chosen)
        start = self.needs.start_bytes
        may_start = rival in self.management or self.network.provider not in OVER_SOCKETS
        if most > carried + (start if may_start else 0) and not self.is_reported:
            return _Evidence(
                name,
                carried,
                fault=f"{name} on {self.host} carried only {format_bytes(carried)}: the data may have taken "
                f"another way; {rival} carried {format_bytes(most)}{self._cure(rival)}",
            )
        if carried <= start:
            unproven = "the start of the ranks alone may take as much"
            return _Evidence(name, carried, unproven, self._undecided(chosen, carried))
        if most > carried:
            return _Evidence(name, carried, f"{rival} on {self.host} carried more, {format_bytes(most)}")
        if self._is_least(chosen) and carried < (self.needs.payload_bytes or math.inf):
            return _Evidence(name, carried, f"a counter of {name} was set back, or came to its end")
        return _Evidence(name, carried)

    def _cure(self, rival: str) -> str:
        """Return advice that decides between the network and another interface that carried as much."""
        is_start = rival not in self.management and not is_port(rival)
        start = f"; if {rival} carries start-up traffic, name it in management" if is_start else ""
        return f"; where the MPI can say what it takes, let it (attest: true){start}"

    def _undecided(self, chosen: Sequence[str], carried: int) -> str | None:
        """Return the fault if the run needed little and another interface carried as much.

        Each of the two may have carried the data or the start-up traffic. Traffic in one direction only, such
        as broadcasts, is neither.
        """
        if self.is_reported or self.network.provider not in OVER_SOCKETS:
            return None
        least = max(self._needed() or 0, _NOISE_BYTES)
        for rival, one in others(self.counters, chosen).items():
            if rival not in self.management and 2 * min(one.rx_bytes, one.tx_bytes) >= least:
                return (
                    f"{' and '.join(chosen)} on {self.host} carried {format_bytes(carried)}, no more than a "
                    f"start of the ranks may take, and {rival} carried {format_bytes(one.total_bytes)}: "
                    f"{_UNKNOWN}; ask for larger or more messages{self._cure(rival)}"
                )
        return None

    def _needed(self) -> int | None:
        """Return the bytes that TCP needs for the payload and the headers of its messages."""
        needed = self.needs.payload_bytes
        return None if needed is None else needed + _HEADER_BYTES * self.needs.n_messages

    def _is_least(self, chosen: Sequence[str]) -> bool:
        return any(self.counters[one].is_least is True for one in chosen)

    def _busiest(self, chosen: Sequence[str]) -> tuple[str, int]:
        rivals = others(self.counters, chosen)
        carried = ((name, one.total_bytes) for name, one in rivals.items())
        return max(carried, key=lambda item: item[1], default=("", 0))

    def _instead(self, chosen: Sequence[str]) -> str:
        name, most = self._busiest(chosen)
        return f"; {name} carried {format_bytes(most)}" if most else ""
