"""Prove that ranks were where, and bound as, their layout asked, by what each said when it started."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tare.core.case import Binding, Layout
from tare.core.cpu_lists import parse_cpus
from tare.core.safe_folder import SafeFolder
from tare.core.units import whole_number
from tare.probes.placement import ASKED

_LOOKS, _PAUSE_S = 5, 0.5  # a file of another node may be seen late on a shared file system (nfs(5))
_MOST_NAMED = 5

_MOST_BYTES = 1024 * 1024  # of what a rank says of itself


class RankPlacement(NamedTuple):
    """What one rank said: its host, its number and the size of its world, and the CPUs it may run on.

    `threads` is how many OpenMP is told to start in it; None where it is told nothing. `sockets` are
    those of the first and last of each range of its CPUs, none where the host does not tell. `pod_node` is
    the node of the pod that the host is; empty where it is none. `autogroup` is the nice value of its session
    among those of its node (sched(7)); None where there are no autogroups. `boot` is the id of the boot of
    its kernel: hosts that have the same are one machine, as nodes of the lab; empty where it is not told.
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
        """Return what has the CPUs."""
        return self.pod_node or self.host

    @property
    def machine(self) -> str:
        """Return what has the CPUs, whatever it is called."""
        return self.boot or self.node

    @property
    def place(self) -> tuple[str, str]:
        """Return its host, told apart from one of another node that has the same name."""
        return self.node, self.host


class PlacementReport(NamedTuple):
    """What all ranks said: the evidence, and the fault where it is not what was asked for."""

    evidence: str = ""
    fault: str | None = None


def check_placement(
    folder: Path,
    layout: Layout,
    *,
    slots: int,
    has_own_names: bool = False,
    hostnames: Collection[str] = (),
) -> PlacementReport:
    """Judge the ranks of one stage by what is in `folder`; no evidence where there is none.

    `slots` is how many ranks have a core each on a node; with more, they share cores as they must.
    `has_own_names` says that each container has a name of its own, which says nothing about its node.
    `hostnames` are what the hosts on which ranks may start call themselves; empty where that is not known.
    """
    seats = read_seats(folder, layout.ranks)
    if not seats:
        return PlacementReport()
    fault = _wrong_ranks(seats, layout) or _wrong_threads(seats, layout) or _unequal(seats)
    if fault is None and not has_own_names:
        fault = _wrong_nodes(seats, layout) or _elsewhere(seats, hostnames) or _bound_unasked(seats, layout)
        if fault is None and _most_on_a_node(seats) * layout.threads <= slots:
            fault = _wrong_binding(seats, layout)
    return PlacementReport(_evidence(seats), fault)


def read_seats(folder: Path, n_expected: int) -> list[RankPlacement]:
    """Return what the ranks said, looking again where some of `n_expected` are missing."""
    place = SafeFolder(folder)
    for look in range(_LOOKS):
        seats = [_read_seat(one) for one in place.files("*.*") if one.name != ASKED]
        if len(seats) >= n_expected or (look == 0 and not seats):
            break
        (place / ASKED).replace(
            b"", is_synced=False
        )  # a change of our own makes NFS forget what it knows of the folder
        time.sleep(_PAUSE_S)
    return sorted(seats, key=lambda one: (-1 if one.rank is None else one.rank, one.host))


def _read_seat(one: SafeFolder) -> RankPlacement:
    text = one.read(_MOST_BYTES).decode(errors="replace")
    told = dict(line.partition(" ")[::2] for line in text.splitlines())
    cpus = told.get("Cpus_allowed_list:", "")
    return RankPlacement(
        host=told.get("host", ""),
        rank=_whole(told.get("rank")),
        size=_whole(told.get("size")),
        cpus=parse_cpus(cpus),
        threads=_whole(told.get("threads", "").partition(",")[0]),  # of the outermost of nested regions
        sockets=frozenset(
            number for one in told.get("sockets", "").split() if (number := whole_number(one)) is not None
        ),
        pod_node=told.get("node", ""),
        autogroup=_signed(told.get("autogroup")),
        boot=told.get("boot", ""),
    )


def _whole(text: str | None) -> int | None:
    return whole_number(text or "")


def _signed(text: str | None) -> int | None:
    size = whole_number((text or "").removeprefix("-"))
    return -size if size is not None and text and text[0] == "-" else size


def _unequal(seats: Sequence[RankPlacement]) -> str | None:
    """Return the fault where some ranks go before other programs of their node, and others do not."""
    first = next((one for one in seats if one.autogroup is not None), None)
    for one in seats:
        if first is not None and one.autogroup not in {None, first.autogroup}:
            return (
                f"the session of rank {first.rank} on {first.host} has the autogroup nice value "
                f"{first.autogroup}, that of rank {one.rank} on {one.host} {one.autogroup}; use --no-boost"
            )
    return None


def _wrong_ranks(seats: Sequence[RankPlacement], layout: Layout) -> str | None:
    if len(seats) != layout.ranks:
        return f"{len(seats)} ranks started, and the layout has {layout.ranks}"
    doubles = [rank for rank, count in Counter(one.rank for one in seats).items() if count > 1]
    if layout.ranks > 1 and any(one.rank is None for one in seats):
        return "ranks do not know their numbers: what started them is not the launcher of their MPI"
    if doubles:
        return f"rank {doubles[0]} is there more than once: programs of their own, not ranks of one"
    sizes = {one.size for one in seats if one.size is not None} - {layout.ranks}
    return f"ranks are told a world of {sizes.pop()}, not of {layout.ranks}" if sizes else None


def _wrong_threads(seats: Sequence[RankPlacement], layout: Layout) -> str | None:
    for one in seats:
        if one.threads is None and layout.threads > 1:
            return (
                f"OMP_NUM_THREADS of rank {one.rank} is not set, and the layout has {layout.threads} threads "
                "a rank: what starts ranks does not pass it on"
            )
        if one.threads not in {None, layout.threads}:
            return (
                f"OMP_NUM_THREADS of rank {one.rank} is {one.threads}, and the layout has {layout.threads} "
                "threads a rank; set threads in the study, not the variable"
            )
    return None


def _wrong_nodes(seats: Sequence[RankPlacement], layout: Layout) -> str | None:
    found = Counter(one.place for one in seats)
    full, rest = divmod(layout.ranks, layout.ranks_per_node)
    asked = sorted([layout.ranks_per_node] * full + [rest] * bool(rest))
    if sorted(found.values()) == asked:
        return None
    told = ", ".join(f"{count} on {host}" for (_, host), count in sorted(found.items())[:_MOST_NAMED])
    return f"ranks lie {told}; the layout asks for {layout.ranks_per_node} on each of {layout.nodes} nodes"


def _elsewhere(seats: Sequence[RankPlacement], hostnames: Collection[str]) -> str | None:
    """Return the fault where a rank is on another host than those that were watched, and asked for facts."""
    for one in seats if hostnames else ():
        if one.host not in hostnames:
            return f"rank {one.rank} lies on {one.host}; the run was given {', '.join(sorted(hostnames))}"
    return None


def _bound_unasked(seats: Sequence[RankPlacement], layout: Layout) -> str | None:
    """Return the fault where ranks were to share what a host lets them have, and do not."""
    pair = _apart(seats, lambda one: one.place) if layout.binding is Binding.NONE else ""
    return f"{pair}; the layout asks for no binding" if pair else None


def _apart(seats: Sequence[RankPlacement], group: Callable[[RankPlacement], object]) -> str:
    """Return which two ranks of one `group` are bound each to CPUs of its own; empty where none are."""
    first: dict[object, RankPlacement] = {}
    for one in seats:
        other = first.setdefault(group(one), one)
        if other.cpus != one.cpus:
            both = f"ranks {other.rank} and {one.rank} on {one.host} are bound"
            return f"{both}, to CPUs {_listed(other.cpus)} and {_listed(one.cpus)}"
    return ""


def _wrong_binding(seats: Sequence[RankPlacement], layout: Layout) -> str | None:
    for one in seats:
        if 0 < len(one.cpus) < layout.threads:
            return (
                f"rank {one.rank} has {layout.threads} threads, and may run on CPUs {_listed(one.cpus)} only"
            )
    match layout.binding:
        case Binding.NONE:
            return None
        case Binding.CORE:
            return _overlapping(seats)
        case Binding.SOCKET:
            return _wrong_sockets(seats)


def _wrong_sockets(seats: Sequence[RankPlacement]) -> str | None:
    """Return the fault where a rank has CPUs of several sockets, or others of one than another rank on it."""
    for one in seats:
        if len(one.sockets) > 1:
            return (
                f"rank {one.rank} on {one.host} may run on CPUs {_listed(one.cpus)}, which are of sockets "
                f"{_listed(one.sockets)}: it is not bound to one"
            )
    pair = _apart([one for one in seats if one.sockets], lambda one: (one.place, one.sockets))
    return f"{pair} of one socket; the layout asks for whole ones" if pair else None


def _overlapping(seats: Sequence[RankPlacement]) -> str | None:
    taken: dict[tuple[str, int], RankPlacement] = {}
    for one in seats:
        for cpu in one.cpus:
            other = taken.setdefault((one.machine, cpu), one)
            if other.rank == one.rank:
                continue
            both = f"ranks {other.rank} and {one.rank} may both run on CPU {cpu} of {other.node}"
            if other.node == one.node:
                return f"{both}: they are not bound to cores"
            return f"{both}, which is one machine with {one.node}: they are not bound to cores of their own"
    return None


def _evidence(seats: Sequence[RankPlacement]) -> str:
    hosts = Counter(one.place for one in seats)
    ranks = _range(hosts.values(), "rank")
    where = f"{ranks} on each of {len(hosts)} hosts"
    if any(one.pod_node for one in seats):
        where = f"{ranks} in each of {len(hosts)} pods on {_range([len(_nodes(seats))], 'node')}"
    told = f"{where}, each free to run on {_range(map(_n_cpus, seats), 'CPU')}"
    threads = {one.threads for one in seats} - {None, 1}
    told = f"{told}, with {threads.pop()} threads" if threads else told
    told += _shares(seats)
    boosts = {one.autogroup for one in seats} - {None, 0}
    return f"{told}, before other sessions (autogroup nice {boosts.pop()})" if boosts else told


def _shares(seats: Sequence[RankPlacement]) -> str:
    """Return which CPUs each of the nodes has that are one machine; empty where they are not."""
    cpus: dict[str, frozenset[int]] = {}
    for one in seats:
        cpus[one.node] = cpus.get(one.node, frozenset()) | one.cpus
    if len(cpus) < 2 or len({one.boot for one in seats}) > 1 or not seats[0].boot:
        return ""
    own = list(cpus.values())
    if sum(map(len, own)) > len(frozenset().union(*own)):
        return "; hosts share the CPUs of one machine"
    told = ", ".join(f"{node} CPU {_listed(some)}" for node, some in list(cpus.items())[:_MOST_NAMED])
    return f"; hosts are one machine, each on CPUs of its own ({told}{', …' * (len(cpus) > _MOST_NAMED)})"


def _nodes(seats: Sequence[RankPlacement]) -> Counter[str]:
    """Return how many ranks lie on each node."""
    return Counter(one.node for one in seats)


def _most_on_a_node(seats: Sequence[RankPlacement]) -> int:
    return max(_nodes(seats).values())


def _n_cpus(seat: RankPlacement) -> int:
    return len(seat.cpus)


def _range(counts: Iterable[int], noun: str) -> str:
    """Return ``1 CPU``, or ``1 to 4 CPUs`` where they differ."""
    found = sorted(set(counts))
    text = f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"
    return f"{text} {noun}" if found == [1] else f"{text} {noun}s"


def _listed(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
