"""Read Slurm's nodes: those that are alike, what of them jobs may use, and which take no jobs now.

A node's available features are those that it can have, and the active ones those that it has: `--constraint`
finds a node by an active feature, or has it rebooted where the site allows that (scontrol(1)).

Sources: sinfo(1) and scontrol(1), "NODES - SPECIFICATIONS FOR SHOW COMMAND"; slurm.conf(5), CoreSpecCount.
"""

from __future__ import annotations

import re

import msgspec

from tare.core.units import whole_number
from tare.discovery.facts import NodeClass

SHAPES = ("sinfo", "--all", "--Node", "--noheader", "--format=%N|%R|%X|%Y|%Z|%m|%f|%G")
STATES = ("scontrol", "--all", "show", "node", "--oneliner")

_SHAPE = re.compile(r"([^|]+)\|(.+)\|([0-9]+)\|([0-9]+)\|([0-9]+)\|([0-9]+)\|(.*)\|([^|]*)")
"""A line of SHAPES. Names of partitions and features are any text, and may hold the sign between them."""
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)")
_NONE = {"", "N/A", "(null)"}
_TAKE_NO_JOBS = {
    *("DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "UNKNOWN"),
    *("INVAL", "INVALID_REG", "MAINT", "MAINTENANCE", "NOT_RESPONDING", "RESERVED"),
}
"""States of nodes that start no job until someone mends or frees them. Others pass, as ALLOCATED, PLANNED and
POWERED_DOWN do: jobs wait for them, and Slurm itself starts nodes that save power."""
_SAVES_POWER = {"POWER", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP"}
"""Flags of a node that need not respond."""
_UNSET_MIB = 1
"""RealMemory where the configuration names none (slurm.conf(5))."""

_Alike = tuple[tuple[str, ...], int | None, int, tuple[str, ...] | None]
"""What nodes of one class have in common: their shape, usable cores, reserved memory and active features."""


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """What jobs may use of a node: physical cores, and MiB of memory; None where Slurm reserves nothing.

    `active` are the features that it has now; None where Slurm does not say. `fault` is the state of one that
    takes no jobs now.
    """

    cores: int | None = None
    reserved_mib: int = 0
    active: tuple[str, ...] | None = None
    fault: str = ""


def read_states(text: str) -> dict[str, NodeState]:
    """Return the nodes of `scontrol show node --oneliner` by name."""
    found = {}
    for line in text.splitlines():
        fields = dict(reversed(_FIELD.findall(line)))  # of two, the first: a reason may hold any text
        if name := fields.get("NodeName"):
            state = fields.get("State", "")
            found[name] = NodeState(
                cores=_usable_cores(fields),
                reserved_mib=whole_number(fields.get("MemSpecLimit", "")) or 0,
                active=_features(fields["ActiveFeatures"]) if "ActiveFeatures" in fields else None,
                fault=state if _takes_no_jobs(state) else "",
            )
    return found


def read_addresses(text: str) -> dict[str, str]:
    """Return the addresses of nodes by name, as `scontrol show node --oneliner` has them."""
    found = {}
    for line in text.splitlines():
        fields = dict(reversed(_FIELD.findall(line)))
        if fields.get("NodeName") and fields.get("NodeAddr", "") not in _NONE:
            found[fields["NodeName"]] = fields["NodeAddr"]
    return found


def _usable_cores(fields: dict[str, str]) -> int | None:
    """Return the cores that jobs may use, of a node that keeps some for the system; else None.

    CPUEfctv counts CPUs, which are cores or threads, as CPUTot does. Slurm has it since 22.05.
    """
    total, usable, sockets, cores = (
        whole_number(fields.get(one, "")) or 0 for one in ("CPUTot", "CPUEfctv", "Sockets", "CoresPerSocket")
    )
    all_cores = sockets * cores
    if usable and all_cores and total >= all_cores:
        left = usable // (total // all_cores)
    else:
        left = all_cores - (whole_number(fields.get("CoreSpecCount", "")) or 0)
    return left if 0 < left < all_cores else None


def _takes_no_jobs(state: str) -> bool:
    """Return whether a node takes no jobs, by its state, such as ``IDLE+DRAIN`` or ``DOWN*``."""
    flags = {flag.rstrip("*~#!%$@^-") for flag in state.upper().split("+")}
    if flags & _TAKE_NO_JOBS - {"NOT_RESPONDING"}:
        return True
    is_silent = "NOT_RESPONDING" in flags or "*" in state
    return is_silent and not flags & _SAVES_POWER


def read_classes(shapes: str, states: dict[str, NodeState]) -> dict[str, tuple[NodeClass, ...]]:
    """Return the classes of nodes of each partition, those with the most nodes that take jobs first.

    `shapes` is the output of SHAPES; lines of another form are left out.
    """
    groups: dict[str, dict[_Alike, list[str]]] = {}
    for line in shapes.splitlines():
        if found := _SHAPE.fullmatch(line.strip()):
            name, partition, *rest = found.groups()
            own = states.get(name, NodeState())
            kind = (tuple(rest), own.cores, own.reserved_mib, own.active)
            groups.setdefault(partition, {}).setdefault(kind, []).append(name)
    return {
        partition: tuple(
            sorted(
                (_class(kind, nodes, states) for kind, nodes in kinds.items()),
                key=lambda one: (-len(one.usable), -len(one.nodes)),
            )
        )
        for partition, kinds in groups.items()
    }


def _class(kind: _Alike, nodes: list[str], states: dict[str, NodeState]) -> NodeClass:
    (sockets, cores, threads, memory, text, gres), usable_cores, reserved_mib, active = kind
    available = _features(text)
    total_mib = whole_number(memory) or 0
    names = tuple(dict.fromkeys(nodes))
    return NodeClass(
        nodes=names,
        sockets=whole_number(sockets) or 1,
        cores_per_socket=whole_number(cores) or 1,
        threads_per_core=whole_number(threads) or 1,
        usable_cores=usable_cores,
        memory_mib=max(total_mib - reserved_mib, 0) if total_mib > _UNSET_MIB else 0,
        features=available if active is None else active,
        available=available,
        gres="" if gres in _NONE else gres,
        faults={one: states[one].fault for one in names if one in states and states[one].fault},
    )


def _features(text: str) -> tuple[str, ...]:
    return () if text in _NONE else tuple(text.split(","))
