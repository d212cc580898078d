"""Make a site of what was found: its values, and where each comes from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tare.app.init.job_limits import JobLimits
from tare.app.init.kubernetes_draft import KubernetesChoice, kubernetes_draft
from tare.app.init.mpis import loaded, named_mpis
from tare.app.init.network_drafts import network_drafts
from tare.app.init.node_choice import class_nodes, host_ranges, node_class, slots_of
from tare.app.init.pmi import PMI, mpi_types, pmi_of_cray
from tare.app.init.remarks import remarks_on
from tare.app.init.site_draft import JobSize, PlatformDraft, SiteDraft, Stated
from tare.app.init.slurm_request import Request, job_memory_mib, request_of
from tare.app.platform_checks import job_minutes
from tare.core.counting import count
from tare.discovery.facts import Folder, Found, Mpi, NodeClass, Partition
from tare.discovery.file_systems import SHARED
from tare.discovery.networks import NetworkFacts, find_networks

_SMALL_KIB = 4 << 20
"""The memory of less than this is written in MiB: whole GiB would leave out much of it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen of what was found: a partition, an account, and the folder where nodes keep files.

    `cluster` is one of several of Slurm; empty for this host's own.
    With `kubernetes`, the runs are in the cluster that was found.
    `limits` are those of one job in the partition. `origins` say where account and QoS come from.
    """

    partition: Partition | None = None
    account: str = ""
    qos: str = ""
    cluster: str = ""
    limits: JobLimits = JobLimits()
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
        cores, origin = slots_of(partition, kind, constraint, others)
        n_all = len(partition.nodes)
        share = f"{len(names)} of its " if len(names) < n_all else ""
        keys["nodes"] = Stated(
            host_ranges(names), f"sinfo: partition {partition.name}, {share}{count(n_all, 'node')}"
        )
    else:
        names = found.hosts or ("localhost",)
        cores, origin = _cores_of_hosts(found)
        keys["nodes"] = Stated(host_ranges(names), _origin_of_hosts(found))
    keys["slots_per_node"] = Stated(cores, origin)
    keys |= _memory(found, partition, kind)
    keys |= _more(found, choice, is_slurm=bool(partition))
    all_networks = find_networks(found.nodes) if partition or found.hosts else ()
    networks, control = _parted(all_networks)
    if control:
        keys["management"] = Stated(
            [one.interface for one in control], "nodes are reached by it: start-up, no data"
        )
    request = _request(found, choice)
    limits = choice.limits
    n_nodes = min(len(names), limits.max_nodes.value) if limits.max_nodes else len(names)
    return SiteDraft(
        keys=keys,
        n_nodes=max(n_nodes, 1),
        job=JobSize(nodes=limits.nodes(min(2, len(names))), minutes=_minutes(limits)),
        cores=cores,
        platforms=tuple(_platforms(found, choice, request.options)),
        networks=network_drafts(networks, control),
        storage=_storage(found),
        remarks=(
            *(f"In 'slurm:', {one}." for one in (*choice.origins, *request.origins)),
            *remarks_on(found, partition, others),
        ),
    )


def _request(found: Found, choice: Choice) -> Request:
    """Return what Slurm's jobs ask for; nothing where there are none."""
    if found.slurm is None or choice.partition is None:
        return Request(options={})
    return request_of(
        found.slurm, choice.partition, choice.limits, choice.account, choice.qos, choice.cluster
    )


def _minutes(limits: JobLimits) -> int:
    return job_minutes(limits.max_minutes.value if limits.max_minutes else None)


def _name(found: Found) -> Stated:
    cluster = found.slurm.cluster if found.slurm else ""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", cluster or found.host).strip("-._+")[:60] or "site"
    return Stated(name, "scontrol show config: ClusterName" if cluster else "this machine's name")


def _cores_of_hosts(found: Found) -> tuple[int, str]:
    """Return the cores of the host with the fewest, or what a job has of them, and where that is from."""
    if not found.nodes:
        who = "no host was asked" if found.hosts else "this machine could not be asked"
        return 1, f"not known, since {who}; write how many cores each has"
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


def _memory(found: Found, partition: Partition | None, kind: NodeClass | None) -> dict[str, Stated]:
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
    slurm = found.slurm if found.slurm and found.slurm.allots_memory else None
    most = job_memory_mib(slurm, partition, kind) if partition and slurm else None
    if most and most << 10 < least:
        least, origin = most << 10, "scontrol show partition, config: MaxMemPerNode or MaxMemPerCPU"
    size = f"{least >> 20}GiB" if least >= _SMALL_KIB else f"{least >> 10}MiB"
    return {"memory": Stated(size, origin)}


def _more(found: Found, choice: Choice, *, is_slurm: bool) -> dict[str, Stated]:
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


def _platforms(found: Found, choice: Choice, batch: Mapping[str, object]) -> Iterator[PlatformDraft]:
    """Yield the platforms; with `batch`, the options of their `slurm:`, they send runs through Slurm."""
    types = mpi_types(found, choice.partition) or ()
    for name, one in named_mpis(found.nodes).items():
        title = f"{one.family} {one.version}: {one.origin}"
        if one.launcher == "srun":
            if pmi := pmi_of_cray(types):
                origin = f"{title}; Slurm starts its ranks, and `srun --mpi=list` has {pmi}"
                yield _platform(name, one, "srun", {"mpi": pmi, **batch}, origin)
            continue
        yield _platform(name, one, one.launcher, batch, title)
        pmi = PMI.get(one.launcher)
        if pmi in types:
            origin = f"the same, started by Slurm; `srun --mpi=list` has {pmi}"
            yield _platform(f"{name}-srun", one, "srun", {"mpi": pmi, **batch}, origin)
    options: dict[str, object] = {"launcher": "none"}
    if batch:
        options = {"backend": "slurm", **options, "slurm": batch}
    yield PlatformDraft(name="bare", options=options, origin="for programs without MPI", is_mpi=False)


def _platform(name: str, one: Mpi, launcher: str, batch: Mapping[str, object], origin: str) -> PlatformDraft:
    options: dict[str, object] = {"backend": "slurm"} if batch else {}
    options |= {"launcher": launcher}
    options |= loaded(one) or ({"prefix": one.prefix} if one.prefix else {})
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
