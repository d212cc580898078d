"""Choose the MPIs that become platforms: those that all asked nodes have at the same place. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tare.discovery.facts import Mpi, NodeFacts

_SLUGS = {
    "Open MPI": "openmpi",
    "Intel MPI": "intelmpi",
    "MPICH": "mpich",
    "MVAPICH": "mvapich",
    "Cray MPICH": "cray-mpich",
}

_MOST_NAMED = 3
"""So many modules are in the name of a platform: the last are the compiler and its MPI."""


def common_mpis(nodes: Sequence[NodeFacts]) -> list[Mpi]:
    """Return the MPIs that all asked nodes have at the same place, in the order of the first."""
    if not nodes:
        return []
    first, *others = nodes
    known = [{identity(one) for one in other.mpis} for other in others]
    mpis = [one for one in first.mpis if all(identity(one) in there for there in known)]
    return [_with_compiler(one, mpis) for one in mpis if "${" not in one.prefix]


def named_mpis(nodes: Sequence[NodeFacts]) -> dict[str, Mpi]:
    """Return these MPIs by names for their platforms, of which no two are alike."""
    found: dict[str, Mpi] = {}
    counts: dict[str, int] = {}
    for one in common_mpis(nodes):
        base = re.sub(r"[^A-Za-z0-9_.+-]", "-", _base_name(one))
        counts[base] = counts.get(base, 0) + 1
        found[base if counts[base] == 1 else f"{base}-{counts[base]}"] = one
    return found


def identity(one: Mpi) -> tuple[str, ...]:
    """Return what two nodes have in common that have the same MPI."""
    return one.prefix or "".join(one.path), one.version, one.setup, *one.modules, *one.spack


def loaded(one: Mpi) -> dict[str, object]:
    """Return the keys of a platform that make the MPI visible; empty if its folders do."""
    keys: dict[str, object] = {"setup": [one.setup]} if one.setup else {}
    if one.modules:
        keys["modules"] = list(one.modules)
    if one.spack:
        keys["spack"] = list(one.spack)
    return keys


def _base_name(one: Mpi) -> str:
    """Return a name for the platforms of an MPI: its stack, if it is in one, and what is loaded."""
    stack = re.search(r"/versions/([A-Za-z0-9._-]+)/init/", one.setup) if one.modules else None
    before = f"eessi-{stack[1]}-" if stack else "spack-" if one.spack else ""
    loads = (*one.modules, *one.spack)
    names = "-".join(loads[-_MOST_NAMED:])
    return f"{before}{names}" if names else f"{_SLUGS[one.family]}-{one.version}"


def _with_compiler(one: Mpi, others: Sequence[Mpi]) -> Mpi:
    """Return an Intel MPI without an mpicc with that of an MPICH, whose ABI it shares (tare.p2p).

    What modules and Spack load comes before `path`, so mpirun stays that of the Intel MPI.
    """
    if one.family != "Intel MPI" or "mpicc" in one.programs:
        return one
    able = [other for other in others if other.family == "MPICH" and "mpicc" in other.programs]
    placed = [other for other in able if other.prefix and "${" not in other.prefix]
    mpich = min(placed, key=lambda other: bool(loaded(other)), default=None)
    if mpich is None:
        return one
    return msgspec.structs.replace(
        one,
        path=(*one.path, *(mpich.path or (f"{mpich.prefix}/bin",))),
        programs=(*one.programs, "mpicc"),
        origin=f"{one.origin}; mpicc of {mpich.family} {mpich.version}, which has the same ABI",
    )
