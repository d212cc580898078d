"""How many messages of an MPI call follow one another, and how many bytes a rank receives in it.

The numbers are those of the algorithms that MPICH and Open MPI choose: binomial trees, recursive doubling and
dissemination take ⌈log2 p⌉ steps, rings and pairwise exchange p − 1 (Thakur, Rabenseifner and Gropp 2005,
IJHPCA 19:49; Bruck et al. 1997, IEEE TPDS 8:1143). In LogGP, each step costs one L and its bytes G each
(Alexandrov et al. 1995, SPAA), which is how LLAMP finds the tolerance of a program (Shen et al. 2024, arXiv
2404.14193).
"""

from __future__ import annotations

import math
from typing import NamedTuple

RECEIVES = frozenset(
    {"MPI_Recv", "MPI_Irecv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Mrecv", "MPI_Imrecv"}
)
"""Each message is received once; its sender goes on at once, or waits for the same."""

NON_BLOCKING = frozenset({"MPI_Irecv", "MPI_Imrecv"})

_BRUCK_BYTES = 256
"""All-to-alls of at most so many bytes a peer take ⌈log2 p⌉ steps."""

_GATHER_BYTES = 81_920
"""All-gathers of at most so many bytes in all take ⌈log2 p⌉ steps, larger ones a ring."""

_TREES = frozenset({"Barrier", "Bcast", "Reduce", "Gather", "Scatter", "Scan", "Exscan"})
_BOTH_WAYS = frozenset({"Allreduce", "Reduce_scatter", "Reduce_scatter_block"})


class Steps(NamedTuple):
    """The messages of a call that follow one another, and the bytes that a rank receives in all."""

    messages: int
    n_bytes: float


def base_name(function: str) -> str:
    """Return the operation of an MPI function: ``Alltoall`` for MPI_Alltoallv and MPI_Ialltoall."""
    name = function.removeprefix("MPI_")
    if name.startswith("I") and name[1:2].islower() and name[1:].capitalize() in _KNOWN_LOWER:
        name = name[1:].capitalize()
    return name.rstrip("vw") if name.rstrip("vw") in _KNOWN else name


_KNOWN = _TREES | _BOTH_WAYS | {"Alltoall", "Allgather"}
_KNOWN_LOWER = frozenset({*_KNOWN, *(name + letter for name in _KNOWN for letter in "vw")})


def steps(function: str, n_bytes: float, ranks: int) -> Steps | None:
    """Return the steps of one call of `n_bytes` (per peer in all-to-alls) among `ranks`; None if unknown."""
    if function in RECEIVES:
        return Steps(1, n_bytes)
    name = base_name(function)
    if name not in _KNOWN or ranks < 2:
        return None
    tree = math.ceil(math.log2(ranks))
    if name == "Alltoall":
        is_bruck = n_bytes <= _BRUCK_BYTES
        return Steps(tree if is_bruck else ranks - 1, n_bytes * (tree * ranks / 2 if is_bruck else ranks - 1))
    if name == "Allgather":
        return Steps(tree if n_bytes * ranks <= _GATHER_BYTES else ranks - 1, n_bytes * (ranks - 1))
    share = (ranks - 1) / ranks
    return Steps(tree, n_bytes * (2 * share if name in _BOTH_WAYS else 1.0))
