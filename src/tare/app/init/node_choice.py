"""Choose the nodes of a partition on which runs may be, and how many slots each has. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tare.core.counting import count
from tare.core.units import whole_number
from tare.discovery.facts import NodeClass, Partition
from tare.discovery.ranges import as_ranges

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")  # as a site file takes it
_FEATURE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:=/+@-]*")
"""What `--constraint` takes as one feature: other signs are its operators (sbatch(1))."""


def host_ranges(names: Sequence[str]) -> list[str]:
    """Return the names that a site file takes, as ranges."""
    return list(as_ranges(name for name in names if _HOST.fullmatch(name)))


def node_class(partition: Partition) -> tuple[NodeClass | None, str, tuple[NodeClass, ...]]:
    """Return the largest class of nodes, the feature that only it can have (or ""), and the other classes.

    A class none of whose nodes takes jobs is left out, unless there is no other.
    """
    usable = [one for one in partition.classes if one.usable] or partition.classes
    if not usable:
        return None, "", ()
    first, *others = usable
    rest = [one for one in partition.classes if one is not first]
    theirs = {feature for one in rest for feature in (*one.features, *one.available)}
    own = [one for one in first.features if one not in theirs and _FEATURE.fullmatch(one)]
    return first, (own[0] if rest and own else ""), tuple(others)


def class_nodes(partition: Partition) -> tuple[str, ...]:
    """Return the nodes on which runs may be: of the class that is asked for, and all if none takes jobs."""
    kind, constraint, _ = node_class(partition)
    if kind and constraint:
        return kind.usable or kind.nodes
    return partition.usable or partition.nodes


def slots_of(
    partition: Partition, kind: NodeClass, constraint: str, others: Sequence[NodeClass]
) -> tuple[int, str]:
    """Return the slots of a node, which are cores that jobs get, and where their number comes from."""
    slots, origin = _cores(kind, constraint, others)
    n_cpus = whole_number(partition.limits.get("MaxCPUsPerNode", ""))
    if n_cpus and n_cpus < slots:  # of jobs with `threads_per_core: 1`, Slurm counts cores
        limit = f"MaxCPUsPerNode={n_cpus} of partition {partition.name}, scontrol show partition"
        return n_cpus, f"{origin}, of which jobs get fewer: {limit}"
    return slots, origin


def _cores(kind: NodeClass, constraint: str, others: Sequence[NodeClass]) -> tuple[int, str]:
    if others and not constraint:
        return min(one.cores for one in (kind, *others)), "sinfo: the fewest cores of a node in 'nodes'"
    origin = f"sinfo: {count(kind.sockets, 'socket')} × {count(kind.cores_per_socket, 'core')}"
    if kind.usable_cores:
        kept = kind.sockets * kind.cores_per_socket - kind.usable_cores
        origin += f"; the system keeps {kept} (scontrol show node: CPUEfctv, CoreSpecCount)"
    return kind.cores, origin
