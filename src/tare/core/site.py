"""A site: the nodes, platforms, networks and storage paths that a place offers to studies."""

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
    """A fact of a site that may be the default of a workload's parameter."""

    NODE_MEMORY = "node_memory"
    """Bytes of memory of one node."""


class LabNetworkKind(enum.StrEnum):
    """How a network of the lab is made of Linux links."""

    BRIDGE = "bridge"
    """A veth pair from each node to a bridge; this is the host network."""
    VXLAN = "vxlan"
    """A VXLAN over another network, behind a bridge and the veth pair of a pod: an SDN."""
    MACVLAN = "macvlan"
    """A macvlan on another network's interface, moved into the pod, as Multus attaches it."""


class LabNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """One network of the lab.

    `over` names the bridge network that carries a VXLAN or macvlan. `rate_bits_per_s` limits the rate at both
    ends of a bridge network's links with a token bucket (tc-tbf(8)).
    """

    kind: LabNetworkKind
    over: str | None = None
    mtu: int | None = None
    rate_bits_per_s: float | None = None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """A named choice of fabric.

    - `interface` is the network interface that must carry the traffic, on the host where ranks start.
    - `host` is that host's name, with ``{node}`` to be replaced: a pod of the node, or the node itself.
    - `address` is how others on this network reach it: a name or number with ``{node}`` or ``{host}`` to be
      replaced.
    - `provider` is the transport in libfabric's terms (fi_provider(7)): tcp, verbs, psm3 …
    - `devices` are the RDMA devices that carry it past the kernel, each with or without its port. There are
      none where the interface determines them.
    - `options` are further environment variables by launcher name, for what no field covers.
    - `rate_bits_per_s` is what its link can carry in one direction, None where the site does not give it.
    - `pod` says how the network is made available in the pods of a cluster.
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

    Each node ``nI`` has ``mgmt0`` for start-up traffic and one interface for each bridge network. With a
    VXLAN or macvlan network, each node also has a pod ``nI-pod``, with ``mgmt0`` and the interfaces of those
    networks.
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
        """Return the bridge network that carries `network`: `network` itself if it names none."""
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
    """One container for each rank: the MPI of the host starts them, as it starts any program."""
    NODE = "node"
    """One container on each node, for the whole campaign: the MPI inside starts ranks across them."""


class ContainerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a container is made of, and what it sees of its host.

    - Either `image` or `rootfs`, a folder, is set.
    - `binds` are written ``SOURCE[:TARGET[:ro]]``, `devices` are paths.
    - `network` is a network of the runtime; ``host`` leaves ranks in the network of the host where they
      start.
    - `shm_bytes` is the size of the container's own /dev/shm; None shares the host's.
    - Locked memory, of which RDMA needs much, is limited as on the host unless `is_memlock_unlimited`.
    - `options` are further options of the runtime's command, one word each.
    - `program` is that command, None for the runtime's name.
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

    `prefix` is where the MPI is installed (its bin/ and lib/). `path` lists folders in which workloads find
    their programs. `env` is set for every rank. `container` is for every runtime except ``native``. `options`
    are the backend's.
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
    - `reports_placement`: ranks report their placement when they start (tare.probes.placement).
      `reports_transport`: their libraries also report which transport they chose.
    - `telemetry` is how its nodes are watched unless a study says otherwise.
    - `shared_cores` is set where the nodes are not separate machines, as in the lab: it is the number of
      cores that all nodes have together. `shared_cpus` are the CPUs of each of those cores.
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
    reports_placement: bool = True
    reports_transport: bool = True
    telemetry: TelemetryOptions = TelemetryOptions()
    redact: tuple[str, ...] = ()

    def fact(self, fact: SiteFact) -> int | None:
        """Return the value of `fact` at this site; None where the site does not give it."""
        match fact:
            case SiteFact.NODE_MEMORY:
                return self.memory_bytes

    def place(self, work: Path) -> Path | None:
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
