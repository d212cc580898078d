"""A site: what this place offers to a study."""

from __future__ import annotations

import enum
import hashlib
import itertools
from pathlib import Path

import msgspec

from tare.core.backend_options import BackendOptions
from tare.core.bounds import Peaks
from tare.core.pod_network import PodNetwork
from tare.core.telemetry_options import TelemetryOptions


class SiteFact(enum.StrEnum):
    """What a site may tell that a parameter of a workload asks for."""

    NODE_MEMORY = "node_memory"
    """Bytes of memory of one node."""


class LabNetworkKind(enum.StrEnum):
    """How a network of the lab is made of Linux links."""

    BRIDGE = "bridge"
    """A veth pair from each node to a bridge: the host network."""
    VXLAN = "vxlan"
    """A VXLAN over another network, behind a bridge and a veth pair of the pod: an SDN."""
    MACVLAN = "macvlan"
    """A macvlan on another network's interface, moved into the pod: as Multus attaches it."""


class LabNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """One network of the lab.

    `over` names the bridge network that carries a VXLAN or macvlan; `rate_bits_per_s` shapes both
    ends of a bridge network's links with a token bucket (tc-tbf(8)).
    """

    kind: LabNetworkKind
    over: str | None = None
    mtu: int | None = None
    rate_bits_per_s: float | None = None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """A named choice of fabric.

    `interface` is the network interface that must carry the traffic, on the host where ranks start.
    That host's name is `host` with ``{node}`` filled in: a pod of the node, or the node itself. Others on
    this network reach it by `address`, a name or number with ``{node}`` or ``{host}`` filled in.
    `provider` is the transport in libfabric's terms (fi_provider(7)): tcp, verbs, psm3 …; `devices` are the
    RDMA devices that carry it past the kernel, each with or without its port, none where the interface tells.
    `options` are further environment variables by launcher name, for what no field says.
    `rate_bits_per_s` is what its link can carry in one direction, None where the site does not tell.
    `pod` says how it reaches into the pods of a cluster.
    """

    interface: str
    host: str = "{node}"
    address: str = "{host}"
    provider: str = "tcp"
    devices: tuple[str, ...] = ()
    options: dict[str, dict[str, str]] = {}
    rate_bits_per_s: float | None = None
    pod: PodNetwork = PodNetwork()

    def host_of(self, node: str) -> str:
        """Return the name of the host on `node` where this network's ranks start."""
        return self.host.replace("{node}", node)

    def address_of(self, node: str) -> str:
        """Return the address on this network of the host on `node`."""
        return self.address.replace("{node}", node).replace("{host}", self.host_of(node))


class LabSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster that the lab builds: how many nodes, and the networks between them.

    Each node ``nI`` has ``mgmt0`` for start-up traffic and one interface for each bridge network. When a
    VXLAN or macvlan network is there, each node has a pod ``nI-pod`` with ``mgmt0`` and theirs.
    """

    nodes: int
    networks: dict[str, LabNetwork]

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
        """Return the bridge network on whose links `network` travels: itself, where it names none."""
        return self.networks.get(network.over or "", network)

    def site_networks(self) -> dict[str, Network]:
        """Return the networks as a site offers them: fab0 … on nodes, eth0 … and net1 … in pods."""
        names = {LabNetworkKind.BRIDGE: "fab", LabNetworkKind.VXLAN: "eth", LabNetworkKind.MACVLAN: "net"}
        count = {LabNetworkKind.BRIDGE: 0, LabNetworkKind.VXLAN: 0, LabNetworkKind.MACVLAN: 1}
        found = {}
        for name, network in self.networks.items():
            host = "{node}" if network.kind is LabNetworkKind.BRIDGE else "{node}-pod"
            interface = f"{names[network.kind]}{count[network.kind]}"
            found[name] = Network(
                interface=interface,
                host=host,
                address=f"{{node}}.{name}",
                rate_bits_per_s=self._carrier(network).rate_bits_per_s,
            )
            count[network.kind] += 1
        return found


class ContainerShape(enum.StrEnum):
    """How many containers there are."""

    RANK = "rank"
    """One a rank: the MPI of the host starts them, as it starts any program."""
    NODE = "node"
    """One a node, as long as the campaign runs: the MPI inside starts ranks from one to the other."""


class ContainerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a container is made of, and what of its host it sees.

    One of `image` and `rootfs`, a folder, is set. `binds` are written ``SOURCE[:TARGET[:ro]]``, `devices` are
    paths. `network` is a network of the runtime; ``host`` leaves ranks in the network of the host where they
    start. `shm_bytes` is the size of a /dev/shm of its own, None shares the host's. Locked memory, which
    RDMA takes much of, is limited as on the host unless it `is_memlock_unlimited`. `options` are further
    options of the runtime's command, each a word; `program` is that command, None for the runtime's name.
    """

    shape: ContainerShape = ContainerShape.RANK
    image: str | None = None
    rootfs: str | None = None
    binds: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    shm_bytes: int | None = None
    is_memlock_unlimited: bool = False
    network: str = "host"
    options: tuple[str, ...] = ()
    program: str | None = None

    @property
    def source(self) -> str:
        """Return the image or root file system."""
        return self.rootfs or self.image or ""


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """How a case becomes processes: backend, launcher and runtime, each by its plug-in's name.

    `prefix` is where the MPI is installed (its bin/ and lib/); `path` lists folders in which
    workloads find their programs; `env` is set for every rank. `container` is for every runtime but
    ``native``; `options` are the backend's.
    """

    backend: str = "process"
    launcher: str = "none"
    runtime: str = "native"
    prefix: str | None = None
    path: tuple[str, ...] = ()
    env: dict[str, str] = {}
    container: ContainerOptions | None = None
    options: BackendOptions = BackendOptions()

    @property
    def has_node_containers(self) -> bool:
        """Return whether its ranks start in containers that are there before them."""
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

    `agent` is the command that starts another on a node, called as ssh is: ``agent HOST COMMAND…``,
    the words of the command being joined and given to a shell. Empty means this machine itself.
    `management` names interfaces that carry start-up traffic; they never count as a data network.
    The first platform, network and storage path are what a study gets when it names none.
    `staging` is a folder of every node to which working folders are copied; None where the nodes share them.
    `memory_bytes` is how much memory each node has, and `peaks` what it can give, where the site tells.
    Ranks say where they are when they start, where the site `is_attested` (tare.probes.placement), and their
    libraries which transport they chose where it also `is_heard`.
    `telemetry` is how its nodes are watched unless a study says otherwise.
    `shared_cores` is set where the nodes are not machines of their own, as in the lab: so many cores are
    all that they have together. `shared_cpus` are the CPUs of each of them. `redact` holds words and patterns
    that others must not read (see tare.core.pseudonyms).
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
    is_attested: bool = True
    is_heard: bool = True
    telemetry: TelemetryOptions = TelemetryOptions()
    redact: tuple[str, ...] = ()

    def fact(self, fact: SiteFact) -> int | None:
        """Return what the site tells of `fact`; None where it tells nothing."""
        match fact:
            case SiteFact.NODE_MEMORY:
                return self.memory_bytes

    def place(self, work: Path) -> Path | None:
        """Return the folder of the nodes to which the working folder `work` goes; None where it is shared."""
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

        All have as many. They are whole cores, if there are enough, and of these first one CPU each. None
        where there are fewer CPUs than nodes.
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
