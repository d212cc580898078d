"""A site: the nodes, platforms, networks and storage paths that a place offers to studies."""

from __future__ import annotations

import enum
import hashlib
import itertools
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.backend_options import BackendOptions
from tare.core.bounds import Peaks
from tare.core.containers import ContainerOptions, ContainerShape
from tare.core.fields import BitRate, Bytes, Mtu, Name, Seconds, Variables, Word, Words
from tare.core.pod_network import PodNetwork
from tare.core.software import Lines, Modules, Software, Specs
from tare.core.telemetry_options import TelemetryOptions
from tare.core.token_bucket import burst_bytes


class SiteFact(enum.StrEnum):
    """A fact of a site that may be the default of a workload's parameter."""

    NODE_MEMORY = "node_memory"
    """Bytes of memory of one node."""


LAB_STORAGE = "/mnt/tare"
"""The folder in which nodes of a lab mount its storage paths. Outside the lab, nothing is there."""


class LabNetworkKind(enum.StrEnum):
    """How a network of the lab is made of Linux links."""

    BRIDGE = "bridge"
    """A veth pair from each node to a bridge; this is the host network."""
    VXLAN = "vxlan"
    """A VXLAN over another network, behind a bridge and the veth pair of a pod: an SDN."""
    MACVLAN = "macvlan"
    """A macvlan on another network's interface, moved into the pod, as Multus attaches it."""


class LabNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """One network of the lab."""

    kind: Annotated[LabNetworkKind, Meta(description="How it is made.", examples=["bridge"])]
    over: Annotated[
        Word | None, Meta(description="The bridge that carries a vxlan or macvlan.", examples=["host"])
    ] = None
    mtu: Annotated[Mtu | None, Meta(description="Largest packet.", examples=[1450])] = None
    rate_bits_per_s: Annotated[BitRate | None, Meta(description="Shape a bridge's links to this.")] = (
        msgspec.field(name="rate", default=None)
    )
    delay_s: Annotated[
        Seconds | None,
        Meta(
            description="Deliver each frame of a bridge so much later; Tare's own switch takes some "
            "microseconds more.",
            examples=["100 us"],
        ),
    ] = msgspec.field(name="delay", default=None)


class LabStorage(msgspec.Struct, frozen=True, kw_only=True):
    """One path of the lab to its file server."""

    rate_bits_per_s: Annotated[
        BitRate | None,
        Meta(
            description="What the server's link carries in each direction; all nodes share it. "
            "Default: as much as this machine can."
        ),
    ] = msgspec.field(name="rate", default=None)


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """A named choice of fabric."""

    interface: Annotated[
        Word, Meta(description="The network interface that must carry the traffic.", examples=["eth0"])
    ]
    host: Annotated[
        Word,
        Meta(description="The host where its ranks start, on node {node}.", examples=["'{node}-pod'"]),
    ] = "{node}"
    address: Annotated[
        Word,
        Meta(
            description="What others on this network call that host: {host}, or a name made of {node}.",
            examples=["'{node}-ib0'"],
        ),
    ] = "{host}"
    provider: Annotated[
        Word,
        Meta(
            description="The transport, as libfabric calls it; openib is that of Open MPI up to version 4.",
            examples=["tcp"],
        ),
    ] = "tcp"
    rate_bits_per_s: Annotated[
        BitRate | None,
        Meta(description="What its link carries in one direction: the bound of its figures."),
    ] = msgspec.field(name="rate", default=None)
    burst_bytes: Annotated[
        Bytes | None,
        Meta(
            description="How many bytes pass at once, faster than the rate, if a token bucket shapes "
            "its link.",
            examples=["256 KiB"],
        ),
    ] = msgspec.field(name="burst", default=None)
    devices: Annotated[
        Words,
        Meta(
            description="The RDMA devices that carry the data past the kernel, with or without a port. "
            "Default: those of the interface.",
            examples=["mlx5_0:1"],
        ),
    ] = msgspec.field(name="device", default=())
    options: Annotated[
        dict[str, Variables],
        Meta(
            description="Further environment variables, by launcher.",
            examples=[{"mpich": {"UCX_TLS": "tcp"}}],
        ),
    ] = {}
    pod: Annotated[
        PodNetwork, Meta(description="How it reaches into pods; default: it is the cluster's own.")
    ] = PodNetwork()

    def host_of(self, node: str) -> str:
        """Return the name of the host on `node` where this network's ranks start."""
        return self.host.replace("{node}", node)

    def address_of(self, node: str) -> str:
        """Return the address on this network of the host on `node`."""
        return self.address.replace("{node}", node).replace("{host}", self.host_of(node))


class LabSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster of network namespaces on this machine."""

    nodes: Annotated[int, Meta(ge=1, le=200, description="How many nodes.", examples=[2])]
    networks: Annotated[
        dict[Name, LabNetwork],
        Meta(description="The networks between them.", examples=[{"host": {"kind": "bridge"}}]),
    ]
    storage: Annotated[
        dict[Name, LabStorage],
        Meta(
            description="Paths to the folder of one file server, each over a network of its own.",
            examples=[{"direct": {}, "gateway": {"rate": "400 Mbit/s"}}],
        ),
    ] = {}

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return n1, n2, …"""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @property
    def pod_names(self) -> tuple[str, ...]:
        """Return n1-pod, n2-pod, …, or nothing when every network is a bridge."""
        if all(network.kind is LabNetworkKind.BRIDGE for network in self.networks.values()):
            return ()
        return tuple(f"{node}-pod" for node in self.node_names)

    def _carrier(self, network: LabNetwork) -> LabNetwork:
        """Return the bridge network that carries `network`: `network` itself if it names none."""
        return self.networks.get(network.over or "", network)

    def site_storage(self) -> dict[str, str]:
        """Return the folder of each storage path, which is the same on all nodes and pods."""
        return {name: f"{LAB_STORAGE}/{name}" for name in self.storage}

    @property
    def storage_interfaces(self) -> tuple[str, ...]:
        """Return the interfaces of each host that lead to storage, in the order of the storage paths."""
        return tuple(f"sto{number}" for number in range(len(self.storage)))

    def site_networks(self) -> dict[str, Network]:
        """Return the networks as a site offers them: fab0 … on nodes, eth0 … and net1 … in pods.

        Each node and each pod also has ``mgmt0`` for start-up traffic.
        """
        names = {LabNetworkKind.BRIDGE: "fab", LabNetworkKind.VXLAN: "eth", LabNetworkKind.MACVLAN: "net"}
        count = {LabNetworkKind.BRIDGE: 0, LabNetworkKind.VXLAN: 0, LabNetworkKind.MACVLAN: 1}
        found = {}
        for name, network in self.networks.items():
            host = "{node}" if network.kind is LabNetworkKind.BRIDGE else "{node}-pod"
            rate = self._carrier(network).rate_bits_per_s
            interface = f"{names[network.kind]}{count[network.kind]}"
            found[name] = Network(
                interface=interface,
                host=host,
                address=f"{{node}}.{name}",
                rate_bits_per_s=rate,
                burst_bytes=None if rate is None else burst_bytes(rate),
            )
            count[network.kind] += 1
        return found


class PlatformFile(msgspec.Struct, frozen=True, kw_only=True):
    """How a case becomes processes. Each installed backend adds a key of its own name for its options."""

    backend: Annotated[Word, Meta(description="Where processes run.", examples=["process"])] = "process"
    launcher: Annotated[
        Word, Meta(description="How ranks start; none for programs without MPI.", examples=["openmpi4"])
    ] = "none"
    runtime: Annotated[Word, Meta(description="What wraps a rank.", examples=["native"])] = "native"
    prefix: Annotated[
        Word | None, Meta(description="Where its MPI is installed.", examples=["/opt/openmpi"])
    ] = None
    path: Annotated[
        Words, Meta(description="Folders in which workloads find programs.", examples=[["/opt/imb/bin"]])
    ] = ()
    env: Annotated[Variables, Meta(description="Environment variables of every rank.")] = {}
    mpi: Annotated[
        Word | None,
        Meta(
            description="The MPI that programs must have run with: a run whose program reports another one "
            "is invalid.",
            examples=["Open MPI 4.1.4"],
        ),
    ] = None
    container: Annotated[
        ContainerOptions | None, Meta(description="What a runtime but native makes containers of.")
    ] = None
    modules: Modules = ()
    spack: Specs = ()
    setup: Lines = ()


class Platform(PlatformFile, frozen=True, kw_only=True):
    """How a case becomes processes: backend, launcher and runtime, each by its plug-in's name."""

    options: BackendOptions = BackendOptions()
    """Those of the backend."""
    software: Software = Software()
    """What is loaded on its nodes, after what the site loads."""

    @property
    def has_node_containers(self) -> bool:
        """Return whether its ranks start in containers that exist before the ranks."""
        return self.container is not None and self.container.shape is ContainerShape.NODE

    @property
    def is_queued(self) -> bool:
        """Return whether a batch system chooses the nodes of its runs, and when they run."""
        return self.options.is_queued

    @property
    def in_flight(self) -> int:
        """Return how many of its runs may be queued or running at a time."""
        return self.options.in_flight

    @property
    def is_packed(self) -> bool:
        """Return whether runs that follow each other share one allocation."""
        return self.options.is_packed


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes, platforms, networks and storage paths of one place.

    - `agent` is the command that starts another on a node, called as ssh is: ``agent HOST COMMAND…``. The
      words of the command are joined and given to a shell. Empty means this machine itself.
    - `management` names interfaces that carry start-up traffic; they never count as a data network.
    - The first platform, network and storage path are the defaults of a study that names none.
    - `staging` is a folder of every node to which working folders are copied; None where the nodes share
      them.
    - `memory_bytes` is the memory of each node, and `peaks` its greatest rates, where the site gives them.
    - `binds_ranks`: ranks that fit the cores are bound unless a study says otherwise.
    - `reports_placement`: ranks report their placement when they start (tare.probes.placement).
      `reports_transport`: their libraries also report which transport they chose.
    - `telemetry` is how its nodes are watched unless a study says otherwise.
    - `shared_cores` is set where the nodes are not separate machines, as in the lab: it is the number of
      cores that all nodes have together. `shared_cpus` are the CPUs of each of those cores.
    - `software` is loaded on its nodes before launchers and ranks start.
    - `redact` holds words and patterns that others must not read (see tare.core.pseudonyms).
    """

    name: str
    nodes: tuple[str, ...]
    slots_per_node: int = 1
    platforms: dict[str, Platform]
    networks: dict[str, Network] = {}
    storage: dict[str, str] = {}
    agent: tuple[str, ...] = ()
    management: tuple[str, ...] = ()
    lab: LabSpec | None = None
    shared_cores: int | None = None
    shared_cpus: tuple[tuple[int, ...], ...] = ()
    staging: str | None = None
    memory_bytes: int | None = None
    peaks: Peaks = Peaks()
    binds_ranks: bool = True
    reports_placement: bool = True
    reports_transport: bool = True
    telemetry: TelemetryOptions = TelemetryOptions()
    redact: tuple[str, ...] = ()
    software: Software = Software()

    @property
    def side_interfaces(self) -> tuple[str, ...]:
        """Return the interfaces that never count as a data network: management, and a lab's storage."""
        return self.management + (self.lab.storage_interfaces if self.lab else ())

    def fact(self, fact: SiteFact) -> int | None:
        """Return the value of `fact` at this site; None where the site does not give it."""
        match fact:
            case SiteFact.NODE_MEMORY:
                return self.memory_bytes

    def staging_folder(self, work: Path) -> Path | None:
        """Return the nodes' folder to which the working folder `work` is copied; None where it is shared."""
        if self.staging is None:
            return None
        name = hashlib.blake2b(str(work).encode(), digest_size=8).hexdigest()
        return Path(self.staging) / f"tare-{name}"

    def slots(self, n_nodes: int) -> int:
        """Return how many ranks have a core each on one of `n_nodes` nodes that are used together."""
        if self.shared_cores is None:
            return self.slots_per_node
        own = self.own_cpus(n_nodes)
        return min(self.slots_per_node, len(own[0]) if own else self.shared_cores // n_nodes)

    def own_cpus(self, n_nodes: int) -> tuple[tuple[int, ...], ...]:
        """Return the CPUs that each of `n_nodes` nodes has to itself, where they share one machine.

        All nodes have equally many. They are whole cores if there are enough cores; the CPUs are ordered so
        that the first ones are of different cores. The result is empty where there are fewer CPUs than nodes.
        """
        cores = self.shared_cpus
        if len(cores) < n_nodes:
            cores = tuple((cpu,) for core in cores for cpu in core)
        share = len(cores) // n_nodes
        slices = [cores[start : start + share] for start in range(0, share * n_nodes, share or 1)]
        return tuple(
            tuple(cpu for thread in itertools.zip_longest(*one) for cpu in thread if cpu is not None)
            for one in slices
        )
