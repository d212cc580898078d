"""What finders return: facts about a place, each as the place states it."""

from __future__ import annotations

import msgspec

from tare.discovery.kubernetes_facts import Context, KubernetesFacts


class NodeClass(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of a partition that are alike.

    `usable_cores` are those of a node that jobs may use, and None if all are; `memory_mib` is what jobs may
    use, and 0 if Slurm does not know. `features` are those that the nodes have, and `available` those that
    they can have. `faults` are the states of those of its nodes that take no jobs now.
    """

    nodes: tuple[str, ...]
    sockets: int = 1
    cores_per_socket: int = 1
    threads_per_core: int = 1
    memory_mib: int = 0
    features: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    gres: str = ""
    usable_cores: int | None = None
    faults: dict[str, str] = {}

    @property
    def cores(self) -> int:
        """Return the physical cores that jobs may use of a node."""
        return self.usable_cores or self.sockets * self.cores_per_socket

    @property
    def usable(self) -> tuple[str, ...]:
        """Return its nodes that take jobs, now or after others."""
        return tuple(name for name in self.nodes if name not in self.faults)


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition, or queue. `limits` are the entries of its configuration that restrict jobs."""

    name: str
    is_default: bool = False
    is_up: bool = True
    is_hidden: bool = False
    classes: tuple[NodeClass, ...] = ()
    limits: dict[str, str] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return its nodes."""
        return tuple(name for one in self.classes for name in one.nodes)

    @property
    def usable(self) -> tuple[str, ...]:
        """Return its nodes that take jobs, now or after others."""
        return tuple(name for one in self.classes for name in one.usable)


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account that this user may charge, in all partitions or in one, and the QoS that it may use.

    `default_qos` is what jobs get that name none; empty where Slurm states none. `limits` are those that
    sacctmgr names: MaxTRES, MaxWall and others. `shared` are those that all users of an account have together
    (GrpTRES), by the account that has them: this one, or one above it.
    """

    name: str
    partition: str = ""
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    limits: dict[str, str] = {}
    shared: dict[str, str] = {}


class Qos(msgspec.Struct, frozen=True, kw_only=True):
    """A QoS, and its limits and flags as sacctmgr names them: MaxTRES, MaxTRESPU, MaxWall, Flags …"""

    name: str
    limits: dict[str, str] = {}


class SlurmFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A Slurm. `binds_ranks` says whether its task plug-in can bind; None where that is unknown.

    `memory_limits` are MaxMemPerNode and MaxMemPerCPU of partitions that have neither of their own.
    `default_account` is what jobs charge that name none. `enforces_limits` says whether limits of QoS and
    associations hold (AccountingStorageEnforce), and `allots_memory` whether jobs get only the memory that
    they ask for (SelectTypeParameters).
    """

    version: str
    cluster: str = ""
    partitions: tuple[Partition, ...] = ()
    accounts: tuple[Account, ...] = ()
    default_account: str = ""
    qos: tuple[Qos, ...] = ()
    enforces_limits: bool = False
    allots_memory: bool = False
    memory_limits: dict[str, str] = {}
    mpi_types: tuple[str, ...] = ()
    binds_ranks: bool | None = None


class ParallelEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """A parallel environment of Grid Engine that gives jobs `slots` on each of its `nodes`."""

    name: str
    slots: int
    nodes: tuple[str, ...] = ()


class BatchSystem(msgspec.Struct, frozen=True, kw_only=True):
    """Another batch system: the name of its executor or backend, its version and its queues.

    `environments` are the parallel environments of Grid Engine that Tare can use.
    """

    name: str
    title: str
    version: str
    queues: tuple[str, ...] = ()
    environments: tuple[ParallelEnvironment, ...] = ()


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """The job in which this program runs, its id and its nodes; `origin` says where they are named.

    `slots` are those on the node where the job has the fewest; None where that is not stated.
    """

    title: str
    job: str
    hosts: tuple[str, ...]
    slots: int | None = None
    origin: str


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """A network interface of a node.

    `addresses` are in CIDR form; `names` are those that the node's resolver has for them. `ports` are its
    RDMA ports, as DEVICE:PORT, and `link_layer` is theirs. `rate_mbit_per_s` is None where the node reports
    none.
    """

    name: str
    addresses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    rate_mbit_per_s: int | None = None
    ports: tuple[str, ...] = ()
    link_layer: str = ""


class FabricPort(msgspec.Struct, frozen=True, kw_only=True):
    """An active port of a fabric, as DEVICE:PORT; `rate` is as the node writes it: 200 Gb/sec (4X HDR)."""

    name: str
    link_layer: str = ""
    rate: str = ""

    @property
    def described(self) -> str:
        """Return it in words: ``mlx5_0:1 (InfiniBand, 200 Gb/sec (4X HDR))``."""
        known = ", ".join(filter(None, (self.link_layer, self.rate)))
        return f"{self.name} ({known})" if known else self.name


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of a node, and the file system in which it lies. `origin` says who names it."""

    path: str
    file_system: str
    source: str
    is_writable: bool
    origin: str = ""


class Mpi(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI: its launcher in Tare's words, its version, and where it is installed.

    `prefix` is empty where its mpirun is in no folder called bin, as a script of the site may be.
    `path` are the folders of its programs, and of benchmarks that were built with it. `programs` are those
    found there. `setup` (a line for bash), `modules` and `spack` (words of a spec) make it visible, in this
    order. `origin` says who names it.
    """

    family: str
    version: str
    launcher: str
    prefix: str
    path: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    spack: tuple[str, ...] = ()
    setup: str = ""
    origin: str = ""


class ModuleSystem(msgspec.Struct, frozen=True, kw_only=True):
    """Environment modules of a node. `n_modules` are those that are seen at once.

    `setup` is the line for bash that makes it visible, if one is needed. `programs` are modules of programs
    for which Tare has workloads. `notes` are sentences on modules that are named like MPIs, and give none
    that Tare knows.
    """

    title: str
    version: str
    n_modules: int = 0
    setup: str = ""
    programs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SpackFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A Spack: its root, the line for bash that defines its command, and programs that Tare can run.

    `programs` are specs with hashes. `notes` are sentences on what was not understood.
    """

    root: str
    setup: str
    programs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node reports about itself.

    `machine` is the same for two nodes that are one machine. `sees_folder` says whether it sees the folder in
    which campaigns will be. `containers` are the container runtimes on its PATH. `loaded` are the
    modules that its shell has loaded. `eessi` are the modules of EESSI, beside those of the site.
    `reached_at` are the addresses at which Slurm or ssh reaches it; none where that is unknown.
    """

    node: str
    machine: str = ""
    cores: int = 1
    memory_kib: int = 0
    interfaces: tuple[Interface, ...] = ()
    fabrics: tuple[FabricPort, ...] = ()
    default_interface: str = ""
    folders: tuple[Folder, ...] = ()
    mpis: tuple[Mpi, ...] = ()
    containers: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    module_system: ModuleSystem | None = None
    eessi: ModuleSystem | None = None
    spack: SpackFacts | None = None
    sees_folder: bool = False
    reached_at: tuple[str, ...] = ()


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found. `nodes` are facts of nodes; `via` says how they were asked.

    `allocation` is the job in which this program runs, if its nodes are the `hosts`. `ssh_script` is the
    script that `ssh` is on the PATH; empty if it is the program itself. `notes` say what
    could not be found out, and why.
    """

    host: str
    slurm: SlurmFacts | None = None
    batch_systems: tuple[BatchSystem, ...] = ()
    contexts: tuple[Context, ...] = ()
    kubernetes: KubernetesFacts | None = None
    hosts: tuple[str, ...] = ()
    allocation: Allocation | None = None
    ssh_script: str = ""
    nodes: tuple[NodeFacts, ...] = ()
    via: str = ""
    notes: tuple[str, ...] = ()
