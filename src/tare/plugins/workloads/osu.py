"""OSU micro-benchmarks: `osu.latency`, `osu.bw`, `osu.alltoall` … (https://mvapich.cse.ohio-state.edu/benchmarks)."""

from __future__ import annotations

from tare.plugins.workloads.osu_benchmark import (
    ATOMIC,
    BANDWIDTH,
    COLLECTIVE,
    LATENCY,
    NON_BLOCKING,
    RATE,
    osu_benchmark,
)

_PAIRS = (
    ("latency", "Latency", LATENCY, "One message to and fro between two ranks."),
    ("latency_mt", "Multi-threaded Latency", LATENCY, "One sender, several receiving threads."),
    ("bw", "Bandwidth", BANDWIDTH, "Windows of messages from one rank to another."),
    ("bibw", "Bi-Directional Bandwidth", BANDWIDTH, "Windows of messages both ways at once."),
    ("put_latency", "MPI_Put Latency", LATENCY, "One-sided MPI_Put."),
    ("put_bw", "MPI_Put Bandwidth", BANDWIDTH, "Windows of one-sided MPI_Put."),
    ("put_bibw", "MPI_Put Bi-directional Bandwidth", BANDWIDTH, "MPI_Put both ways at once."),
    ("get_latency", "MPI_Get Latency", LATENCY, "One-sided MPI_Get."),
    ("get_bw", "MPI_Get Bandwidth", BANDWIDTH, "Windows of one-sided MPI_Get."),
    ("acc_latency", "MPI_Accumulate Latency", LATENCY, "One-sided MPI_Accumulate."),
    ("get_acc_latency", "MPI_Get_accumulate Latency", LATENCY, "One-sided MPI_Get_accumulate."),
    ("latency_mp", "Multi-process Latency", LATENCY, "One message to and fro, ranks with forked processes."),
    ("fop_latency", "MPI_Fetch_and_op Latency", ATOMIC, "MPI_Fetch_and_op on one number."),
    ("cas_latency", "MPI_Compare_and_swap Latency", ATOMIC, "MPI_Compare_and_swap on one number."),
)  # fmt: skip
"""Benchmarks between two ranks: OMB's name, its title, its figures of merit, and what it measures."""

_PERSISTENT_PAIRS = (
    ("latency_persistent", "Latency Persistent", LATENCY, "One message to and fro, by persistent requests."),
    ("bw_persistent", "Bandwidth Persistent", BANDWIDTH, "Windows of persistent messages one way."),
    (
        "bibw_persistent",
        "Bi-Directional Bandwidth Persistent",
        BANDWIDTH,
        "Windows of persistent messages both ways.",
    ),
)
"""The same with requests that are made once and started again and again (MPI_Send_init)."""

_FANS = (
    ("bw_fan_in", "Bandwidth", BANDWIDTH, "The ranks of all other nodes flood those of the first one."),
    ("bw_fan_out", "Bandwidth", BANDWIDTH, "The ranks of the first node flood those of all others."),
)
"""Benchmarks of congestion, from version 7.4 on, which need two nodes or more."""

_MANY_PAIRS = (
    ("multi_lat", "Multi Latency", LATENCY, "One half of the ranks to and fro with the other half."),
    ("mbw_mr", "Multiple Bandwidth / Message Rate", RATE, "One half of the ranks floods the other half."),
)

_COLLECTIVES = (
    ("allgather", "Allgather", "every rank's part to all ranks"),
    ("allgatherv", "Allgatherv", "the same with a size for each rank"),
    ("allreduce", "Allreduce", "a sum over all ranks, result on all"),
    ("alltoall", "All-to-All", "every rank to every other; loads the bisection"),
    ("alltoallv", "All-to-Allv", "the same with a size for each pair"),
    ("alltoallw", "All-to-Allw", "the same with a data type for each pair"),
    ("barrier", "Barrier", "the time in which all ranks meet"),
    ("bcast", "Broadcast", "one rank's message to all ranks"),
    ("gather", "Gather", "every rank's part to one rank"),
    ("gatherv", "Gatherv", "the same with a size for each rank"),
    ("reduce", "Reduce", "a sum over all ranks, result on one"),
    ("reduce_scatter", "Reduce_scatter", "a sum over all ranks, a part of it to each"),
    ("scatter", "Scatter", "one rank's parts to all ranks"),
    ("scatterv", "Scatterv", "the same with a size for each rank"),
)
"""Collectives: OMB's name, word in the title, what it does. Each has a non-blocking version, `osu.iNAME`."""

_SUM_IN_BLOCKS = (
    "reduce_scatter_block",
    "Reduce_scatter_block",
    "a sum over all ranks, an equal part to each",
)
"""A collective of version 7.4, without a persistent version."""

_NEIGHBOURS = (
    ("allgather", "Allgather", "every rank's part to its neighbours"),
    ("allgatherv", "Allgatherv", "the same with a size for each neighbour"),
    ("alltoall", "All-to-All", "a part of its own to each neighbour"),
    ("alltoallv", "All-to-Allv", "the same with a size for each neighbour"),
    ("alltoallw", "All-to-Allw", "the same with a data type for each neighbour"),
)
"""Collectives of neighbours, from version 7.1 on: OMB's name, word in the title, what it does."""


WORKLOADS = (
    *(osu_benchmark(*row, is_pair=True) for row in (*_PAIRS, *_PERSISTENT_PAIRS)),
    *(osu_benchmark(*row) for row in _MANY_PAIRS),
    *(osu_benchmark(*row, least_nodes=2, is_fan=True) for row in _FANS),
    *(
        osu_benchmark(
            name, f"{title} Latency", COLLECTIVE, f"MPI_{name.capitalize()}: {what}.", is_collective=True
        )
        for name, title, what in (*_COLLECTIVES, _SUM_IN_BLOCKS)
    ),
    *(
        osu_benchmark(
            f"i{name}",
            f"Non-blocking {title} Latency",
            NON_BLOCKING,
            f"MPI_I{name}, overlapped with computation: {what}.",
            is_collective=True,
        )
        for name, title, what in (*_COLLECTIVES, _SUM_IN_BLOCKS)
    ),
    *(
        osu_benchmark(
            f"{name}_persistent",
            f"{title} Persistent Latency",
            COLLECTIVE,
            f"MPI_{name.capitalize()}_init, started again and again: {what}.",
            is_collective=True,
        )
        for name, title, what in _COLLECTIVES
    ),
    *(
        osu_benchmark(
            f"neighbor_{name}",
            f"Neighborhood {title} Latency",
            COLLECTIVE,
            f"MPI_Neighbor_{name}: {what}.",
            is_collective=True,
            least_ranks=3,
        )
        for name, title, what in _NEIGHBOURS
    ),
    *(
        osu_benchmark(
            f"ineighbor_{name}",
            f"Non-blocking Neighborhood {title} Latency",
            NON_BLOCKING,
            f"MPI_Ineighbor_{name}, overlapped with computation: {what}.",
            is_collective=True,
            least_ranks=3,
        )
        for name, title, what in _NEIGHBOURS
    ),
)
