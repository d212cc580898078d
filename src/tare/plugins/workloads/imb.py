"""Intel MPI Benchmarks: `imb.pingpong`, `imb.alltoall` … (https://github.com/intel/mpi-benchmarks).

This module lists the benchmarks of IMB-MPI1. The parser reads the tables of IMB 3.2 to 2021 (IMB_output.c).
Their columns are 13 wide and right-aligned, times and bandwidths have two decimals, and each group of ranks
has a table of its own. A successful run prints a closing line. Up to version 4.1, the megabytes of IMB are
2²⁰ bytes; they are converted.
"""

from __future__ import annotations

from tare.core.bounds import Resource
from tare.plugins.workloads import imb_io, imb_mt, imb_nonblocking, imb_one_sided, imb_p2p
from tare.plugins.workloads.imb_benchmark import (
    COLLECTIVE,
    NEIGHBOURS,
    ONE_WAY,
    PAIRS,
    SYNCHRONISATION,
    ImbBenchmark,
    imb_benchmark,
)

_BENCHMARKS = (
    ("PingPong", ONE_WAY, "One message to and fro between two ranks: latency and bandwidth."),
    ("PingPongSpecificSource", ONE_WAY, "PingPong with receives that name the sender."),
    ("PingPongAnySource", ONE_WAY, "PingPong with receives from any rank."),
    ("PingPing", ONE_WAY, "Two ranks send to each other at the same time."),
    ("PingPingSpecificSource", ONE_WAY, "PingPing with receives that name the sender."),
    ("PingPingAnySource", ONE_WAY, "PingPing with receives from any rank."),
    ("Multi-PingPong", NEIGHBOURS, "PingPong of all pairs of ranks at once (-multi 0)."),
    ("Multi-PingPing", NEIGHBOURS, "PingPing of all pairs of ranks at once (-multi 0)."),
    ("Uniband", PAIRS, "Half of the ranks flood the other half: total bandwidth and message rate."),
    ("Biband", PAIRS, "Both halves of the ranks flood each other: total bandwidth and message rate."),
    ("Sendrecv", NEIGHBOURS, "All ranks form a ring: send to the right, receive from the left."),
    ("Exchange", NEIGHBOURS, "All ranks form a chain and exchange with both neighbours, as halo swaps do."),
    ("Allreduce", COLLECTIVE, "MPI_Allreduce: sum a vector over all ranks, result on all."),
    ("Reduce", COLLECTIVE, "MPI_Reduce: sum a vector over all ranks, result on one."),
    ("Reduce_scatter", COLLECTIVE, "MPI_Reduce_scatter: sum a vector over all ranks, a part of it to each."),
    ("Reduce_scatter_block", COLLECTIVE, "MPI_Reduce_scatter_block: the same with equal parts."),
    ("Alltoall", COLLECTIVE, "MPI_Alltoall: every rank sends to every other; loads the bisection."),
    ("Alltoallv", COLLECTIVE, "MPI_Alltoallv: the same with a size for each pair."),
    ("Allgather", COLLECTIVE, "MPI_Allgather: every rank's part to all ranks."),
    ("Allgatherv", COLLECTIVE, "MPI_Allgatherv: the same with a size for each rank."),
    ("Gather", COLLECTIVE, "MPI_Gather: every rank's part to one rank."),
    ("Gatherv", COLLECTIVE, "MPI_Gatherv: the same with a size for each rank."),
    ("Scatter", COLLECTIVE, "MPI_Scatter: one rank's parts to all ranks."),
    ("Scatterv", COLLECTIVE, "MPI_Scatterv: the same with a size for each rank."),
    ("Bcast", COLLECTIVE, "MPI_Bcast: one rank's message to all ranks."),
    ("Barrier", SYNCHRONISATION, "MPI_Barrier: the time in which all ranks meet."),
)  # fmt: skip
"""For each benchmark: IMB's name, the columns of its table, and what it measures."""

_BOTH_WAYS = frozenset({"Sendrecv", "Exchange"})
"""Benchmarks whose rates count the bytes that a rank sends and those that it receives."""

_NOTE = """

The program comes with Intel MPI and with the `impi-rt` wheel; it needs an MPI of the MPICH ABI, so the same
binary runs over MPICH."""


def _limit(benchmark: str, columns: tuple[str, ...]) -> Resource | None:
    if columns == ONE_WAY:
        return Resource.LINK
    return Resource.LINK_BOTH_WAYS if benchmark in _BOTH_WAYS else None


def _workload(benchmark: str, columns: tuple[str, ...], summary: str) -> ImbBenchmark:
    return imb_benchmark(
        benchmark,
        columns,
        summary,
        limit=_limit(benchmark, columns),
        is_pair=columns == ONE_WAY,
        note=_NOTE,
    )


WORKLOADS = (
    *(_workload(*row) for row in _BENCHMARKS),
    *imb_nonblocking.NON_BLOCKING,
    *imb_one_sided.ONE_SIDED,
    *imb_io.MPI_IO,
    *imb_p2p.MANY_TO_MANY,
    *imb_mt.OF_THREADS,
)
