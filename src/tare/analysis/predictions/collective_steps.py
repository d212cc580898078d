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

_STARTED_RECEIVES = frozenset(
    {
        *("MPI_Irecv", "MPI_Imrecv", "MPI_Recv_init"),
        *("MPI_Isendrecv", "MPI_Isendrecv_replace", "MPI_Precv_init"),
    }
)

RECEIVES = _STARTED_RECEIVES | {"MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Mrecv"}
"""Each message is received once; its sender goes on at once, or waits for the same."""

SENDS = frozenset(
    f"MPI_{name}"
    for mode in ("Send", "Bsend", "Ssend", "Rsend")
    for name in (mode, f"I{mode.lower()}", f"{mode}_init")
) | {"MPI_Psend_init"}
"""What sends one message to one rank."""

BLOCKING_SENDS = frozenset({"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend"})
"""Sends that end before their rank goes on; MPI_Sendrecv without a source counts as MPI_Send."""

EXCHANGES = frozenset({"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Isendrecv", "MPI_Isendrecv_replace"})
"""Receives beside which a message goes the other way."""

_INIT = "_init"
"""The end of the names of persistent operations; their calls are those that were started."""

_UNKNOWN_STEPS = (
    *("MPI_Neighbor_", "MPI_Ineighbor_"),
    *("MPI_Put", "MPI_Get", "MPI_Rput", "MPI_Rget", "MPI_Accumulate", "MPI_Raccumulate"),
    *("MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_fence", "MPI_Win_start", "MPI_Win_complete"),
    *("MPI_Win_post", "MPI_Win_wait", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_flush", "other"),
)
"""How the names of functions begin that send data in messages whose number is not known.

``other`` are calls that found no room in the profile's table.
"""

_BRUCK_BYTES = 256
"""All-to-alls of at most so many bytes a peer take ⌈log2 p⌉ steps."""

_GATHER_BYTES = 81_920
"""All-gathers of at most so many bytes in all take ⌈log2 p⌉ steps, larger ones a ring."""

_TREES = frozenset({"Barrier", "Bcast", "Reduce", "Gather", "Scatter", "Scan", "Exscan"})
_SCATTERED = frozenset({"Reduce_scatter", "Reduce_scatter_block"})
"""Each rank receives its own part from all others; an all-reduce then gathers the parts again."""

_BOTH_WAYS = frozenset({"Allreduce", *_SCATTERED})


class Steps(NamedTuple):
    """The messages of a call that follow one another, and the bytes that a rank receives in all."""

    messages: int
    n_bytes: float


def base_name(function: str) -> str:
    """Return the operation of an MPI function: ``Alltoall`` for MPI_Alltoallv and MPI_Ialltoall."""
    name = function.removeprefix("MPI_").removesuffix(_INIT)
    if _is_started(name):
        name = name[1:].capitalize()
    return name.rstrip("vw") if name.rstrip("vw") in _KNOWN else name


_KNOWN = _TREES | _BOTH_WAYS | {"Alltoall", "Allgather"}
_KNOWN_LOWER = frozenset({*_KNOWN, *(name + letter for name in _KNOWN for letter in "vw")})


def _is_started(name: str) -> bool:
    """Return whether `name`, without ``MPI_``, is that of a non-blocking collective operation."""
    return name.startswith("I") and name[1:2].islower() and name[1:].capitalize() in _KNOWN_LOWER


def may_be_hidden(function: str) -> bool:
    """Return whether ranks may compute between the start and the end of what a function receives."""
    if function in _STARTED_RECEIVES:
        return True
    is_persistent = function.endswith(_INIT) and base_name(function) in _KNOWN
    return is_persistent or _is_started(function.removeprefix("MPI_"))


def has_unknown_steps(function: str) -> bool:
    """Return whether a function sends data, or waits for some, in messages whose number is not known."""
    return function.startswith(_UNKNOWN_STEPS)


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
    if name not in _BOTH_WAYS:
        return Steps(tree, n_bytes)
    return Steps(tree, n_bytes * (1 if name in _SCATTERED else 2) * (ranks - 1) / ranks)
