"""Intel MPI Benchmarks, MPI-1: `imb.pingpong`, `imb.alltoall` … (https://github.com/intel/mpi-benchmarks).

The parser reads the tables of IMB 3.2 to 2021 (IMB_output.c). Their columns are 13 wide and right-aligned,
times and bandwidths have two decimals, and each group of ranks has a table of its own. A successful run
prints a closing line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.workload import Parameter, Parsed, Stage, limited
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.imb_output import COLUMNS, FLOAT_BYTES, MULTIPLE, ImbLog

_ONE_WAY = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
_PAIRS = ("#bytes", "#repetitions", "Mbytes/sec", "Msg/sec")
_NEIGHBOURS = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec")
_COLLECTIVE = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]")
_SYNCHRONISATION = ("#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]")

_BENCHMARKS = (
    ("PingPong", _ONE_WAY, "One message to and fro between two ranks: latency and bandwidth."),
    ("PingPongSpecificSource", _ONE_WAY, "PingPong with receives that name the sender."),
    ("PingPongAnySource", _ONE_WAY, "PingPong with receives from any rank."),
    ("PingPing", _ONE_WAY, "Two ranks send to each other at the same time."),
    ("PingPingSpecificSource", _ONE_WAY, "PingPing with receives that name the sender."),
    ("PingPingAnySource", _ONE_WAY, "PingPing with receives from any rank."),
    ("Multi-PingPong", _NEIGHBOURS, "PingPong of all pairs of ranks at once (-multi 0)."),
    ("Multi-PingPing", _NEIGHBOURS, "PingPing of all pairs of ranks at once (-multi 0)."),
    ("Uniband", _PAIRS, "Half of the ranks flood the other half: total bandwidth and message rate."),
    ("Biband", _PAIRS, "Both halves of the ranks flood each other: total bandwidth and message rate."),
    ("Sendrecv", _NEIGHBOURS, "All ranks form a ring: send to the right, receive from the left."),
    ("Exchange", _NEIGHBOURS, "All ranks form a chain and exchange with both neighbours, as halo swaps do."),
    ("Allreduce", _COLLECTIVE, "MPI_Allreduce: sum a vector over all ranks, result on all."),
    ("Reduce", _COLLECTIVE, "MPI_Reduce: sum a vector over all ranks, result on one."),
    ("Reduce_scatter", _COLLECTIVE, "MPI_Reduce_scatter: sum a vector over all ranks, a part of it to each."),
    ("Reduce_scatter_block", _COLLECTIVE, "MPI_Reduce_scatter_block: the same with equal parts."),
    ("Alltoall", _COLLECTIVE, "MPI_Alltoall: every rank sends to every other; loads the bisection."),
    ("Alltoallv", _COLLECTIVE, "MPI_Alltoallv: the same with a size for each pair."),
    ("Allgather", _COLLECTIVE, "MPI_Allgather: every rank's part to all ranks."),
    ("Allgatherv", _COLLECTIVE, "MPI_Allgatherv: the same with a size for each rank."),
    ("Gather", _COLLECTIVE, "MPI_Gather: every rank's part to one rank."),
    ("Gatherv", _COLLECTIVE, "MPI_Gatherv: the same with a size for each rank."),
    ("Scatter", _COLLECTIVE, "MPI_Scatter: one rank's parts to all ranks."),
    ("Scatterv", _COLLECTIVE, "MPI_Scatterv: the same with a size for each rank."),
    ("Bcast", _COLLECTIVE, "MPI_Bcast: one rank's message to all ranks."),
    ("Barrier", _SYNCHRONISATION, "MPI_Barrier: the time in which all ranks meet."),
)  # fmt: skip
"""For each benchmark: IMB's name, the columns of its table, and what it measures."""

_BOTH_WAYS = frozenset({"Sendrecv", "Exchange"})
"""Benchmarks whose rates count the bytes that a rank sends and those that it receives."""


_SIZES = (
    declare.size("max_bytes", 4 << 20, "largest message: a power of two", minimum=1),
    declare.size("min_bytes", 0, "smallest message: 0 or a power of two", minimum=0),
)
_EFFORT = (
    declare.whole(
        "iterations", 1000, "most repetitions of one message size; messages over 40 kB get fewer", minimum=1
    ),
    declare.seconds("time_s", 10.0, "most time for one message size", minimum=0.001),
)

_DESCRIPTION = """\
Runs IMB-MPI1 once, on exactly one group of ranks (-npmin), over messages of 0 (or min_bytes), 1, 2, 4 … to
max_bytes. Point-to-point benchmarks run on two ranks, on two nodes where the case has them. IMB leaves out
sizes whose messages take more than 1 GiB of a rank's memory: of an alltoall of n ranks, 2 n max_bytes.

The program comes with Intel MPI and with the `impi-rt` wheel; it needs an MPI of the MPICH ABI, so the same
binary runs over MPICH."""


class ImbBenchmark(Benchmark, frozen=True, kw_only=True):
    """One benchmark of IMB-MPI1: its name in IMB's spelling, and the columns of its table."""

    benchmark: str
    columns: tuple[str, ...]

    @property
    def has_sizes(self) -> bool:
        """Whether the benchmark sends messages of several sizes."""
        return "#bytes" in self.columns

    @property
    def is_multiple(self) -> bool:
        """Whether the benchmark runs on many pairs of ranks at once, with IMB's option -multi."""
        return self.benchmark.startswith(MULTIPLE)

    @property
    def least_bytes(self) -> int:
        """The size of the smallest message that is not empty."""
        return _least_bytes(self.benchmark)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield the reasons why IMB would refuse the case, or run something else than it asks for."""
        ranks = case.layout.ranks
        if ranks < 2:
            yield f"{self.name} needs 2 ranks or more, and the case has {ranks}; set ranks: 2, or nodes: 2"
        elif (self.columns == _PAIRS or self.is_multiple) and ranks % 2:
            yield f"{self.name} pairs its ranks, and {ranks} is odd; set ranks: {ranks + 1}"
        if self.has_sizes:
            smallest, largest = _sizes(case)
            if smallest:
                yield from self._size_fault("min_bytes", smallest)
            yield from self._size_fault("max_bytes", largest)
            if smallest > largest >= self.least_bytes:
                yield f"min_bytes {smallest} is more than max_bytes {largest}; set min_bytes: {largest}"

    def _size_fault(self, name: str, size: int) -> Iterator[str]:
        if size < self.least_bytes or size & (size - 1):
            near = max(1 << max(size, 1).bit_length() - 1, self.least_bytes)
            yield (
                f"{name} is {size}, but the messages of {self.name} are powers of two from "
                f"{self.least_bytes} on; set {name}: {near}"
            )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of IMB-MPI1."""
        layout = case.layout.pair() if self.columns == _ONE_WAY else case.layout
        argv = ["IMB-MPI1", "-npmin", str(layout.ranks)]
        if self.has_sizes:
            smallest, largest = _sizes(case)
            argv += ["-msglog", f"{max(smallest, 1).bit_length() - 1}:{largest.bit_length() - 1}"]
            argv += ["-zero_size", "off"] if smallest else []
        argv += ["-iter", str(case.parameters["iterations"])]
        argv += ["-time", f"{float(case.parameters['time_s']):g}"]
        argv += ["-multi", "0"] if self.is_multiple else []
        return (Stage(argv=(*argv, self.benchmark.removeprefix(MULTIPLE)), layout=layout),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the tables of this benchmark, and whether IMB finished (see core.workload.Workload.parse)."""
        return ImbLog(self).parse(lines)


def _sizes(case: Case) -> tuple[int, int]:
    return int(case.parameters["min_bytes"]), int(case.parameters["max_bytes"])


def _sizes_of(benchmark: str, columns: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Return the parameters for sizes; collectives start at a message that is not empty by default."""
    if "#bytes" not in columns:
        return ()
    if columns != _COLLECTIVE:
        return _SIZES
    least = _least_bytes(benchmark)
    return tuple(
        msgspec.structs.replace(size, default=least) if size.name == "min_bytes" else size for size in _SIZES
    )


def _least_bytes(benchmark: str) -> int:
    """Return the size of the smallest message of `benchmark` that is not empty."""
    return FLOAT_BYTES if "educe" in benchmark else 1


def _workload(benchmark: str, columns: tuple[str, ...], summary: str) -> ImbBenchmark:
    foms = tuple(fom for column, fom in COLUMNS.items() if column in columns)
    if "#bytes" not in columns:
        foms = tuple(msgspec.structs.replace(fom, by=()) for fom in foms)
    if columns is _ONE_WAY:
        foms = limited(foms, "MB/s", Resource.LINK)
    elif benchmark in _BOTH_WAYS:
        foms = limited(foms, "MB/s", Resource.LINK_BOTH_WAYS)
    return ImbBenchmark(
        name=f"imb.{benchmark.lower()}",
        summary=summary,
        description=_DESCRIPTION,
        parameters=(*_sizes_of(benchmark, columns), *_EFFORT),
        foms=foms,
        benchmark=benchmark,
        columns=columns,
    )


WORKLOADS = tuple(_workload(*row) for row in _BENCHMARKS)
