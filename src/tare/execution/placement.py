"""Check the placement of ranks against the layout that was asked for.

Each rank writes a file when it starts (see probes.placement): its host, its rank number, its CPUs. This
module reads these files and compares number of ranks, threads, nodes and CPU binding with the layout.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.case import Binding, Layout
from tare.core.counting import count
from tare.core.cpu_lists import parse_cpus
from tare.core.safe_folder import SafeFolder
from tare.core.units import whole_number
from tare.probes.placement import ASKED

_LOOKS, _PAUSE_S = 5, 0.5  # a file from another node may appear late on a shared file system (nfs(5))
_MOST_NAMED = 5

_MOST_BYTES = 1024 * 1024  # of the file that one rank writes


class RankPlacement(NamedTuple):
    """What one rank reported: host, rank number, number of ranks, and the CPUs on which it may run.

    `threads` is the value of OMP_NUM_THREADS, None if it is not set. `sockets` are the sockets of the first
    and last CPU of each range of its CPUs, empty if the host does not tell. If the host is a pod, `pod_node`
    is the node of that pod, else empty. `autogroup` is the nice value of the rank's session (sched(7)), None
    if the kernel has no autogroups. `boot` is the boot id of the kernel (random(4)), empty if unknown. Hosts
    with the same boot id are one machine, as the nodes of the lab are.
    """

    host: str
    rank: int | None
    size: int | None
    cpus: frozenset[int]
    threads: int | None = None
    sockets: frozenset[int] = frozenset()
    pod_node: str = ""
    autogroup: int | None = None
    boot: str = ""

    @property
    def node(self) -> str:
        """Return the node that has the CPUs: that of the pod, or the host itself."""
        return self.pod_node or self.host

    @property
    def machine(self) -> str:
        """Return the identity of the machine that has the CPUs: its boot id, or else its node's name."""
        return self.boot or self.node

    @property
    def node_and_host(self) -> tuple[str, str]:
        """Return node and host, which distinguish two hosts with the same name on different nodes."""
        return self.node, self.host


class PlacementReport(NamedTuple):
    """The result of the check: the evidence as text, and the fault if the placement is not as asked for."""

    evidence: str = ""
    fault: str | None = None


def check_placement(
    folder: Path,
    layout: Layout,
    *,
    slots: int,
    has_own_hostnames: bool = False,
    hostnames: Collection[str] = (),
) -> PlacementReport:
    """Check the ranks of one stage, whose files are in `folder`; no evidence if there are none.

    `slots` is how many ranks can have a core of their own on a node. With more ranks, sharing cores is no
    fault. `has_own_hostnames` says that each container has its own host name, which says nothing
    about its node.
    `hostnames` are the host names of the nodes on which ranks may start, empty if unknown.
    """
    ranks = read_placements(folder, layout.ranks)
    if not ranks:
        return PlacementReport()
    fault = _wrong_ranks(ranks, layout) or _wrong_threads(ranks, layout) or _unequal_priorities(ranks)
    if fault is None and not has_own_hostnames:
        fault = (
            _wrong_nodes(ranks, layout) or _on_other_hosts(ranks, hostnames) or _bound_unasked(ranks, layout)
        )
        if fault is None and _most_on_a_node(ranks) * layout.threads <= slots:
            fault = _wrong_binding(ranks, layout)
    return PlacementReport(_evidence(ranks), fault)


def read_placements(folder: Path, n_expected: int) -> list[RankPlacement]:
    """Return the reported placement of all ranks; read again if fewer than `n_expected` have reported."""
    place = SafeFolder(folder)
    for look in range(_LOOKS):
        ranks = [_read_placement(one) for one in place.files("*.*") if one.name != ASKED]
        if len(ranks) >= n_expected or (look == 0 and not ranks):
            break
        (place / ASKED).replace(
            b"", is_synced=False
        )  # writing a file makes the NFS client drop its cache of the folder
        time.sleep(_PAUSE_S)
    return sorted(ranks, key=lambda one: (-1 if one.rank is None else one.rank, one.host))


def _read_placement(one: SafeFolder) -> RankPlacement:
    text = one.read(_MOST_BYTES).decode(errors="replace")
    fields = dict(line.partition(" ")[::2] for line in text.splitlines())
    cpus = fields.get("Cpus_allowed_list:", "")
    return RankPlacement(
        host=fields.get("host", ""),
        rank=_whole(fields.get("rank")),
        size=_whole(fields.get("size")),
        cpus=parse_cpus(cpus),
        threads=_whole(fields.get("threads", "").partition(",")[0]),  # the first is for the outermost level
        sockets=frozenset(
            number for one in fields.get("sockets", "").split() if (number := whole_number(one)) is not None
        ),
        pod_node=fields.get("node", ""),
        autogroup=_signed_number(fields.get("autogroup")),
        boot=fields.get("boot", ""),
    )


def _whole(text: str | None) -> int | None:
    return whole_number(text or "")


def _signed_number(text: str | None) -> int | None:
    size = whole_number((text or "").removeprefix("-"))
    return -size if size is not None and text and text[0] == "-" else size


def _unequal_priorities(ranks: Sequence[RankPlacement]) -> str | None:
    """Return the fault if the sessions of ranks have different autogroup nice values (priorities)."""
    first = next((one for one in ranks if one.autogroup is not None), None)
    for one in ranks:
        if first is not None and one.autogroup not in {None, first.autogroup}:
            return (
                f"the session of rank {first.rank} on {first.host} has the autogroup nice value "
                f"{first.autogroup}, that of rank {one.rank} on {one.host} {one.autogroup}; use --no-boost"
            )
    return None


def _wrong_ranks(ranks: Sequence[RankPlacement], layout: Layout) -> str | None:
    if len(ranks) != layout.ranks:
        return f"{count(len(ranks), 'rank')} started, and the layout has {layout.ranks}"
    doubles = [rank for rank, count in Counter(one.rank for one in ranks).items() if count > 1]
    if layout.ranks > 1 and any(one.rank is None for one in ranks):
        return "ranks do not know their numbers: what started them is not the launcher of their MPI"
    if doubles:
        return f"rank {doubles[0]} is there more than once: programs of their own, not ranks of one"
    sizes = {one.size for one in ranks if one.size is not None} - {layout.ranks}
    return f"ranks are in a world of {sizes.pop()}, not of {layout.ranks}" if sizes else None


def _wrong_threads(ranks: Sequence[RankPlacement], layout: Layout) -> str | None:
    for one in ranks:
        if one.threads is None and layout.threads > 1:
            return (
                f"OMP_NUM_THREADS of rank {one.rank} is not set, and the layout has "
                f"{count(layout.threads, 'thread')} "
                "a rank: what starts ranks does not pass it on"
            )
        if one.threads not in {None, layout.threads}:
            return (
                f"OMP_NUM_THREADS of rank {one.rank} is {one.threads}, and the layout has "
                f"{count(layout.threads, 'thread')} "
                "a rank; set threads in the study, not the variable"
            )
    return None


def _wrong_nodes(ranks: Sequence[RankPlacement], layout: Layout) -> str | None:
    found = Counter(one.node_and_host for one in ranks)
    full, rest = divmod(layout.ranks, layout.ranks_per_node)
    asked = sorted([layout.ranks_per_node] * full + [rest] * bool(rest))
    if sorted(found.values()) == asked:
        return None
    counts = ", ".join(f"{count} on {host}" for (_, host), count in sorted(found.items())[:_MOST_NAMED])
    return (
        f"ranks lie {counts}; the layout asks for {layout.ranks_per_node} on each of "
        f"{count(layout.nodes, 'node')}"
    )


def _on_other_hosts(ranks: Sequence[RankPlacement], hostnames: Collection[str]) -> str | None:
    """Return the fault if a rank is on a host that is not among the attempt's hosts."""
    for one in ranks if hostnames else ():
        if one.host not in hostnames:
            return f"rank {one.rank} lies on {one.host}; the run was given {', '.join(sorted(hostnames))}"
    return None


def _bound_unasked(ranks: Sequence[RankPlacement], layout: Layout) -> str | None:
    """Return the fault if ranks of one host are bound to different CPUs although no binding was asked for."""
    pair = _bound_differently(ranks, lambda one: one.node_and_host) if layout.binding is Binding.NONE else ""
    return f"{pair}; the layout asks for no binding" if pair else None


def _bound_differently(ranks: Sequence[RankPlacement], group: Callable[[RankPlacement], object]) -> str:
    """Return, as text, two ranks of one `group` that are bound to different CPUs; empty if there are none."""
    first: dict[object, RankPlacement] = {}
    for one in ranks:
        other = first.setdefault(group(one), one)
        if other.cpus != one.cpus:
            both = f"ranks {other.rank} and {one.rank} on {one.host} are bound"
            return f"{both}, to CPUs {_listed(other.cpus)} and {_listed(one.cpus)}"
    return ""


def _wrong_binding(ranks: Sequence[RankPlacement], layout: Layout) -> str | None:
    for one in ranks:
        if 0 < len(one.cpus) < layout.threads:
            return (
                f"rank {one.rank} has {count(layout.threads, 'thread')}, and may run on CPUs "
                f"{_listed(one.cpus)} only"
            )
    match layout.binding:
        case Binding.NONE:
            return None
        case Binding.CORE:
            return _overlapping_cpus(ranks)
        case Binding.SOCKET:
            return _wrong_sockets(ranks)


def _wrong_sockets(ranks: Sequence[RankPlacement]) -> str | None:
    """Return the fault if a rank is not bound to one whole socket.

    Either it has CPUs of several sockets, or two ranks of one socket have different CPUs.
    """
    for one in ranks:
        if len(one.sockets) > 1:
            return (
                f"rank {one.rank} on {one.host} may run on CPUs {_listed(one.cpus)}, which are of sockets "
                f"{_listed(one.sockets)}: it is not bound to one"
            )
    pair = _bound_differently(
        [one for one in ranks if one.sockets], lambda one: (one.node_and_host, one.sockets)
    )
    return f"{pair} of one socket; the layout asks for whole ones" if pair else None


def _overlapping_cpus(ranks: Sequence[RankPlacement]) -> str | None:
    taken: dict[tuple[str, int], RankPlacement] = {}
    for one in ranks:
        for cpu in one.cpus:
            other = taken.setdefault((one.machine, cpu), one)
            if other.rank == one.rank:
                continue
            both = f"ranks {other.rank} and {one.rank} may both run on CPU {cpu} of {other.node}"
            if other.node == one.node:
                return f"{both}: they are not bound to cores"
            return f"{both}, which is one machine with {one.node}: they are not bound to cores of their own"
    return None


def _evidence(ranks: Sequence[RankPlacement]) -> str:
    hosts = Counter(one.node_and_host for one in ranks)
    per_host = _count_text(hosts.values(), "rank")
    where = f"{per_host} on each of {count(len(hosts), 'host')}"
    if any(one.pod_node for one in ranks):
        where = (
            f"{per_host} in each of {count(len(hosts), 'pod')} on {_count_text([len(_nodes(ranks))], 'node')}"
        )
    evidence = f"{where}, each free to run on {_count_text(map(_n_cpus, ranks), 'CPU')}"
    threads = {one.threads for one in ranks if one.threads is not None} - {1}
    if threads:
        evidence += f", with {count(threads.pop(), 'thread')}"
    evidence += _shares(ranks)
    boosts = {one.autogroup for one in ranks} - {None, 0}
    return f"{evidence}, before other sessions (autogroup nice {boosts.pop()})" if boosts else evidence


def _shares(ranks: Sequence[RankPlacement]) -> str:
    """Return the CPUs of each node if all nodes are one machine; empty if they are several machines."""
    cpus: dict[str, frozenset[int]] = {}
    for one in ranks:
        cpus[one.node] = cpus.get(one.node, frozenset()) | one.cpus
    if len(cpus) < 2 or len({one.boot for one in ranks}) > 1 or not ranks[0].boot:
        return ""
    own = list(cpus.values())
    if sum(map(len, own)) > len(frozenset().union(*own)):
        return "; hosts share the CPUs of one machine"
    shares = ", ".join(f"{node} CPU {_listed(some)}" for node, some in list(cpus.items())[:_MOST_NAMED])
    return f"; hosts are one machine, each on CPUs of its own ({shares}{', …' * (len(cpus) > _MOST_NAMED)})"


def _nodes(ranks: Sequence[RankPlacement]) -> Counter[str]:
    """Return the number of ranks on each node."""
    return Counter(one.node for one in ranks)


def _most_on_a_node(ranks: Sequence[RankPlacement]) -> int:
    return max(_nodes(ranks).values())


def _n_cpus(rank: RankPlacement) -> int:
    return len(rank.cpus)


def _count_text(counts: Iterable[int], noun: str) -> str:
    """Return a text such as ``1 CPU``, or ``1 to 4 CPUs`` if the counts differ."""
    found = sorted(set(counts))
    text = f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"
    return f"{text} {noun}" if found == [1] else f"{text} {noun}s"


def _listed(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
