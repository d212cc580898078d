"""Make a site of what was found: its values, and where each comes from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tare.app.init.batch_remarks import allocation_remark, batch_remarks
from tare.app.init.kubernetes_draft import KubernetesChoice, kubernetes_draft
from tare.app.init.mpis import common_mpis, identity, loaded, named_mpis
from tare.app.init.network_drafts import network_drafts
from tare.app.init.site_draft import PlatformDraft, SiteDraft, Stated
from tare.discovery.facts import Folder, Found, ModuleSystem, Mpi, NodeClass, Partition, SlurmFacts
from tare.discovery.file_systems import SHARED
from tare.discovery.networks import NetworkFacts, find_networks
from tare.discovery.programs import first_names
from tare.discovery.ranges import as_ranges
from tare.discovery.spack import spack_notes

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")  # as a site file takes it
_PMI = {"openmpi4": "pmix", "openmpi5": "pmix", "mpich": "pmi2"}
"""The type of Slurm's MPI plug-in that a launcher's MPI usually speaks."""
_PMI_OF_CRAY = ("cray_shasta", "cray", "pmi2", "pmix")
"""The types that Cray's MPI speaks, the likeliest first."""
_SMALL_KIB = 4 << 20
"""The memory of less than this is written in MiB: whole GiB would leave out much of it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen of what was found: a partition, an account, and the folder where nodes keep files.

    With `kubernetes`, the runs are in the cluster that was found.
    `origins` say where account and QoS come from.
    """

    partition: Partition | None = None
    account: str = ""
    qos: str = ""
    origins: tuple[str, ...] = ()
    staging: str = ""
    kubernetes: KubernetesChoice | None = None


def make_draft(found: Found, choice: Choice) -> SiteDraft:
    """Return the site of what was found: a cluster, Slurm's partition, hosts over ssh, or this machine."""
    if found.kubernetes and choice.kubernetes:
        return kubernetes_draft(found.kubernetes, choice.kubernetes, found.notes)
    keys: dict[str, Stated] = {"site": _name(found)}
    partition = choice.partition
    kind, constraint, others = node_class(partition) if partition else (None, "", ())
    if partition and kind:
        names = class_nodes(partition)
        cores, origin = _slots(kind, constraint, others)
        keys["nodes"] = Stated(_ranges(names), f"sinfo: partition {partition.name}, {len(names)} nodes")
    else:
        names = found.hosts or ("localhost",)
        cores, origin = _cores_of_hosts(found)
        keys["nodes"] = Stated(_ranges(names), _origin_of_hosts(found))
    keys["slots_per_node"] = Stated(cores, origin)
    keys |= _memory(found, kind)
    keys |= _more(found, choice, bool(partition))
    all_networks = find_networks(found.nodes) if partition or found.hosts else ()
    networks, control = _parted(all_networks)
    if control:
        keys["management"] = Stated(
            [one.interface for one in control], "nodes are reached by it: start-up, no data"
        )
    return SiteDraft(
        keys=keys,
        n_nodes=len(names),
        cores=cores,
        platforms=tuple(_platforms(found, choice, constraint)),
        networks=network_drafts(networks, control),
        storage=_storage(found),
        remarks=(*(f"In 'slurm:', {one}." for one in choice.origins), *_remarks(found, partition, others)),
    )


def _name(found: Found) -> Stated:
    cluster = found.slurm.cluster if found.slurm else ""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", cluster or found.host).strip("-._+")[:60] or "site"
    return Stated(name, "scontrol show config: ClusterName" if cluster else "this machine's name")


def _ranges(names: Sequence[str]) -> list[str]:
    return list(as_ranges(name for name in names if _HOST.fullmatch(name)))


def node_class(partition: Partition) -> tuple[NodeClass | None, str, tuple[NodeClass, ...]]:
    """Return the largest class of nodes, the feature that only it has (or ""), and the other classes.

    A class none of whose nodes takes jobs is left out, unless there is no other.
    """
    usable = [one for one in partition.classes if one.usable] or partition.classes
    if not usable:
        return None, "", ()
    first, *others = usable
    rest = [one for one in partition.classes if one is not first]
    own = [one for one in first.features if not any(one in other.features for other in rest)]
    return first, (own[0] if rest and own else ""), tuple(others)


def class_nodes(partition: Partition) -> tuple[str, ...]:
    """Return the nodes on which runs may be: of the class that is asked for, and all if none takes jobs."""
    kind, constraint, _ = node_class(partition)
    if kind and constraint:
        return kind.usable or kind.nodes
    return partition.usable or partition.nodes


def _slots(kind: NodeClass, constraint: str, others: Sequence[NodeClass]) -> tuple[int, str]:
    if others and not constraint:
        return min(one.cores for one in (kind, *others)), "sinfo: the fewest cores of a node of the partition"
    origin = f"sinfo: {kind.sockets} sockets × {kind.cores_per_socket} cores"
    if kind.usable_cores:
        kept = kind.sockets * kind.cores_per_socket - kind.usable_cores
        origin += f"; the system keeps {kept} (scontrol show node: CPUEfctv, CoreSpecCount)"
    return kind.cores, origin


def _cores_of_hosts(found: Found) -> tuple[int, str]:
    """Return the cores of the host with the fewest, or what a job has of them, and where that is from."""
    if found.hosts and not found.nodes:
        return 1, "not known, since no host was asked; write how many cores each has"
    cores = min((one.cores for one in found.nodes), default=1)
    slots = found.allocation.slots if found.allocation else None
    if found.allocation and slots and slots < cores:
        return slots, f"{found.allocation.origin}: the job's slots on a node"
    where = f" on {', '.join(one.node for one in found.nodes[:4])}" if found.hosts else ""
    return cores, f"cores of /proc/cpuinfo{where}"


def _origin_of_hosts(found: Found) -> str:
    if found.allocation:
        return f"{found.allocation.origin} of {found.allocation.title} job {found.allocation.job}"
    return "named by --hosts" if found.hosts else "this machine"


def _memory(found: Found, kind: NodeClass | None) -> dict[str, Stated]:
    """Return the memory of the node with the least, or what Slurm gives jobs of it if that is less."""
    least = min((one.memory_kib for one in found.nodes if one.memory_kib), default=0)
    if not least or (found.slurm and not found.via):
        return {}
    origin = f"MemTotal of /proc/meminfo, {found.via}"
    if kind and 0 < kind.memory_mib << 10 < least:
        least, origin = (
            kind.memory_mib << 10,
            "sinfo: memory of a node; scontrol show node: without MemSpecLimit",
        )
    size = f"{least >> 20}GiB" if least >= _SMALL_KIB else f"{least >> 10}MiB"
    return {"memory": Stated(size, origin)}


def _more(found: Found, choice: Choice, is_slurm: bool) -> dict[str, Stated]:
    """Return the keys that only some sites need."""
    more = {}
    if found.ssh_script:
        origin = "`ssh` on the PATH is this script; MPIs on the hosts call it, too"
        more["agent"] = Stated([found.ssh_script], origin)
    if choice.staging:
        more["staging"] = Stated(
            choice.staging, "the hosts do not see this folder; this one is on each of them"
        )
    if is_slurm and found.slurm and found.slurm.binds_ranks is False:
        more["bind"] = Stated("none", "scontrol show config: TaskPlugin binds no ranks to cores")
    slots = found.allocation.slots if found.allocation else None
    if slots and any(slots < one.cores for one in found.nodes):
        more["bind"] = Stated("none", "the job has only some of the cores of its nodes")
    machines = [one.machine for one in found.nodes if one.machine]
    if len(machines) > 1 and len({*machines}) < len(machines):
        more["bind"] = Stated(
            "none", "nodes are one machine (boot_id): ranks of two nodes would share a core"
        )
    return more


def _parted(networks: Sequence[NetworkFacts]) -> tuple[tuple[NetworkFacts, ...], tuple[NetworkFacts, ...]]:
    """Return networks for data, and slower ones by which nodes are reached, if there are others for data."""
    data = tuple(one for one in networks if not one.is_control)
    if not data:
        return tuple(networks), ()
    fastest = max((one.rate_mbit_per_s or 0 for one in data), default=0)
    has_fabric = any(one.provider != "tcp" for one in data)
    control = tuple(
        one
        for one in networks
        if one.is_control and (one.rate_mbit_per_s or 0) <= fastest and (one.provider == "tcp" or has_fabric)
    )
    rest = (one for one in networks if one not in control)
    return tuple(sorted(rest, key=lambda one: (one.provider == "tcp", -(one.rate_mbit_per_s or 0)))), control


def _platforms(found: Found, choice: Choice, constraint: str) -> Iterator[PlatformDraft]:
    batch: dict[str, object] = {}
    if choice.partition:
        wanted = {
            "partition": choice.partition.name,
            "account": choice.account,
            "qos": choice.qos,
            "constraint": constraint,
        }
        batch = {key: value for key, value in wanted.items() if value} | {"exclusive": True, "in_flight": 1}
    types = _mpi_types(found, choice.partition) or ()
    for name, one in named_mpis(found.nodes).items():
        title = f"{one.family} {one.version}: {one.origin}"
        if one.launcher == "srun":
            if pmi := _pmi_of_cray(types):
                origin = f"{title}; Slurm starts its ranks, and `srun --mpi=list` has {pmi}"
                yield _platform(name, one, "srun", {"mpi": pmi, **batch}, origin)
            continue
        yield _platform(name, one, one.launcher, batch, title)
        pmi = _PMI.get(one.launcher)
        if pmi in types:
            origin = f"the same, started by Slurm; `srun --mpi=list` has {pmi}"
            yield _platform(f"{name}-srun", one, "srun", {"mpi": pmi, **batch}, origin)
    options: dict[str, object] = {"launcher": "none"}
    if batch:
        options = {"backend": "slurm", **options, "slurm": batch}
    yield PlatformDraft(name="bare", options=options, origin="for programs without MPI", is_mpi=False)


def _mpi_types(found: Found, partition: Partition | None) -> tuple[str, ...] | None:
    """Return the types of MPI with which Slurm starts ranks; None where runs are not in its jobs."""
    return found.slurm.mpi_types if found.slurm and partition else None


def _pmi_of_cray(types: Sequence[str]) -> str | None:
    """Return the type of Slurm's MPI plug-in with which it starts ranks of Cray's MPI; None without any."""
    return next((one for one in _PMI_OF_CRAY if one in types), None)


def _platform(name: str, one: Mpi, launcher: str, batch: Mapping[str, object], origin: str) -> PlatformDraft:
    options: dict[str, object] = {"backend": "slurm"} if batch else {}
    options |= {"launcher": launcher}
    options |= loaded(one) or {"prefix": one.prefix}
    if one.path:
        options["path"] = list(one.path)
    if batch:
        options["slurm"] = dict(batch)
    return PlatformDraft(
        name=name,
        options=options,
        origin=origin,
        has_compiler="mpicc" in one.programs,
        has_imb="IMB-MPI1" in one.programs,
    )


def _storage(found: Found) -> dict[str, Stated]:
    """Return the folders that can be written on all asked nodes, one of each file system, by name."""
    if not found.nodes:
        return {}
    first, *others = found.nodes
    writable = [{one.path for one in other.folders if one.is_writable} for other in others]
    named: dict[str, Stated] = {}
    seen = set()
    for one in first.folders:
        key = (one.file_system, one.source) if one.file_system in SHARED else one.path
        is_usable = one.is_writable and all(one.path in there for there in writable)
        is_own_home = one.origin == "$HOME" and one.file_system not in SHARED
        if not is_usable or is_own_home or key in seen or "${" in one.path or not one.path.isprintable():
            continue
        seen.add(key)
        kind = SHARED.get(one.file_system, one.file_system)
        where = f"{kind}, {'shared' if one.file_system in SHARED else 'of each node'}; {one.origin}"
        named[_storage_name(one, named)] = Stated(one.path, where)
    return named


def _storage_name(one: Folder, taken: Mapping[str, object]) -> str:
    known = {"/var/tmp": "disk", "/dev/shm": "memory"}  # noqa: S108  # names of folders, not files of ours
    base = known.get(one.path) or (
        one.origin[1:].lower() if one.origin.startswith("$") else one.path.rstrip("/").rpartition("/")[2]
    )
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", base).strip("-._+")[:40] or "storage"
    number = 2
    while name in taken:
        name, number = f"{name.rstrip('0123456789')}{number}", number + 1
    return name


def _remarks(found: Found, partition: Partition | None, others: Sequence[NodeClass]) -> Iterator[str]:
    if partition and partition.limits:
        limits = ", ".join(f"{key}={value}" for key, value in partition.limits.items())
        yield f"Partition {partition.name}: {limits}."
    for one in others:
        more = f"; features {','.join(one.features)}" if one.features else ""
        yield f"It has other nodes too: {', '.join(_ranges(one.nodes))}, {one.cores} cores{more}."
    if partition and partition.classes and (gres := partition.classes[0].gres):
        yield f"Generic resources of its nodes: {gres}; ask for them with 'slurm: {{gres: …}}'."
    yield from _fault_remarks(partition) if partition else ()
    for other in found.slurm.partitions if found.slurm else ():
        if partition and other.name != partition.name and other.is_up:
            left = f", none of which takes jobs now ({_states(other)})" if not other.usable else ""
            yield f"Another partition: {other.name}, {len(other.nodes)} nodes{left}."
    yield from _accounting_remarks(found.slurm) if found.slurm else ()
    for system in found.batch_systems:
        if found.allocation is None:
            yield from batch_remarks(system)
    if found.allocation:
        yield allocation_remark(found.allocation)
    if found.contexts:
        names = ", ".join(one.name for one in found.contexts)
        yield f"Contexts of Kubernetes: {names}; 'tare init --context' writes a site of one."
    yield from _fabric_remarks(found)
    runtimes = sorted({name for node in found.nodes for name in node.containers})
    if runtimes:
        yield f"Container runtimes: {', '.join(runtimes)} (docs/containers.md)."
    yield from _module_remarks(found)
    yield from _cray_remarks(found, _mpi_types(found, partition))
    for note in found.notes:
        yield f"Not known: {note}."


def _cray_remarks(found: Found, types: Sequence[str] | None) -> Iterator[str]:
    """Yield which MPIs of Cray are no platforms, since nothing can start their ranks."""
    if not _pmi_of_cray(types or ()):
        why = f"`srun --mpi=list` names none of {', '.join(_PMI_OF_CRAY)}"
        if types is None:
            why = "these runs are no jobs of Slurm"
        for one in common_mpis(found.nodes):
            if one.launcher == "srun":
                names = " ".join(one.modules)
                yield (
                    f"Modules {names} give no platform: Tare starts the ranks of Cray's MPI by srun, "
                    f"and {why}."
                )


def _fault_remarks(partition: Partition) -> Iterator[str]:
    """Yield which nodes of the partition take no jobs now."""
    by_state: dict[str, list[str]] = {}
    for one in partition.classes:
        for name, state in one.faults.items():
            by_state.setdefault(state, []).append(name)
    is_left_out = "not in 'nodes'" if partition.usable else "in 'nodes', since it has no others"
    for state, names in by_state.items():
        shown = ", ".join(_ranges(names))
        yield f"Nodes of partition {partition.name} that take no jobs now, {is_left_out}: {shown} ({state})."


def _states(partition: Partition) -> str:
    return ", ".join(dict.fromkeys(state for one in partition.classes for state in one.faults.values()))


def _fabric_remarks(found: Found) -> Iterator[str]:
    """Yield the ports of fabrics that no network of the file uses, or uses by TCP alone."""
    for node in found.nodes[:1]:
        used = {port for one in find_networks(found.nodes) for port in one.ports if one.provider != "tcp"}
        left = [one.described for one in node.fabrics if one.name not in used]
        if left:
            yield (
                f"Fabric ports of {node.node} that no network above uses by verbs: {', '.join(left)}. To "
                "measure one, give a network its 'provider' (docs/sites.md)."
            )


def _accounting_remarks(slurm: SlurmFacts) -> Iterator[str]:
    accounts = {one.name for one in slurm.accounts}
    if len(accounts) > 1:
        yield f"Accounts that you may charge: {', '.join(sorted(accounts))}."
    qos = sorted({name for one in slurm.accounts for name in one.qos})
    if len(qos) > 1:
        yield f"QoS that you may use: {', '.join(qos)}; choose one with --qos, or 'slurm: {{qos: …}}'."


def _module_remarks(found: Found) -> Iterator[str]:
    """Yield what module systems and Spack the asked nodes have, and what of them is no platform."""
    for node in found.nodes[:1]:
        for system in (node.module_system, node.eessi):
            yield from _system_remarks(system, node.node) if system else ()
        if node.loaded:
            yield (
                f"Modules loaded in the shell of `tare init`: {', '.join(node.loaded)}. Runs have them only "
                "if `tare run` is called in such a shell, or a platform names them in 'modules'."
            )
        yield from spack_notes(node.spack) if node.spack else ()
    everywhere = {identity(one) for one in common_mpis(found.nodes)}
    lacking = {
        f"{'modules' if one.modules else 'Spack'} {' '.join((*one.modules, *one.spack))}"
        for node in found.nodes
        for one in node.mpis
        if loaded(one) and identity(one) not in everywhere
    }
    for names in sorted(lacking):
        yield f"Not on all asked nodes, or not the same there: {names}."


def _system_remarks(system: ModuleSystem, node: str) -> Iterator[str]:
    title = f"{system.title} {system.version}".strip()
    after = f" after '{system.setup}'" if system.setup else ""
    count = f"{system.n_modules} modules are seen on {node}{after} (`module -t avail`)"
    yield f"{title}: {count}; docs/software.md says how to load them."
    if system.programs:
        yield f"Programs of {title} that Tare can measure: {first_names(system.programs)}."
    yield from system.notes
