"""Tare's own microbenchmark: `tare.p2p` and `tare.collectives`, one C source for every MPI.

The program is ``microbench.c`` in this folder. The `mpicc` of each platform compiles it. It prints lines of
JSON, which ``output.py`` reads.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

import msgspec

from tare.core.bounds import Resource
from tare.core.case import Case, Layout
from tare.core.workload import Fom, Parameter, Parsed, Stage, limited
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.microbench.output import STATISTICS, Log

_LARGEST_BYTES = 1 << 30
"""The largest message that the program can send: counts in MPI-3 are ints."""

_POINT_TO_POINT = ("pingpong", "bandwidth")
_ON_REQUEST = ("exchange",)
"""Operations that are measured only where a study names them."""
_COLLECTIVE = ("barrier", "bcast", "allreduce", "allgather", "alltoall")


def _foms(declared: Callable[..., Fom], figure: str, unit: str, *by: str) -> tuple[Fom, ...]:
    """Return one figure of merit for each statistic; the median is the primary one."""
    return tuple(
        declared(f"{figure}_{name}", unit, f"{summary} of all iterations", *by, is_primary=name == "p50")
        for name, summary in STATISTICS.items()
    )


_LATENCY = (
    *_foms(declare.lower, "latency", "us", "bytes"),
    declare.lower("latency_small_mean", "us", "mean of latency_mean over messages of 1 to 64 bytes"),
)
_EXCHANGE = (
    *_foms(declare.lower, "exchange", "us", "bytes"),
    declare.lower("exchange_small_mean", "us", "mean of exchange_mean over messages of 1 to 64 bytes"),
)
_BANDWIDTH = _foms(declare.higher, "bandwidth", "MB/s", "bytes")
_TIME = (
    *_foms(declare.lower, "time", "us", "op", "bytes"),
    declare.lower("time_small_mean", "us", "mean of time_mean over messages of 1 to 64 bytes", "op"),
)

_DESCRIPTION = """\
{what}

Every iteration is timed and kept; minimum, percentiles, maximum and mean are exact, from all of them. Look
at the tail: what an overlay network adds to the median is often little, but its queues, softirqs and
connection tracking delay one message in a hundred or a thousand by a multiple, and a collective operation
waits for the slowest of all. The mean, which other benchmarks print, hides that. A percentile is given only
where there are enough iterations that it is more than the extreme value: p99 from 100 iterations on, p999
(99.9 %) from 1000.

Messages have {sizes}, 2, 4 … max_bytes bytes, the same two buffers in all iterations; before each size is an
untimed warm-up. `…_small_mean` is the mean over messages of 1, 2, 4 … 64 bytes, as published comparisons
quote it, if all of them were measured. {large} over 64 KiB get fewer iterations, so that they move as many
bytes. After `time_s` a size ends with what it has. Clock, its resolution and its overhead stand in the first
line of the output, beside the MPI's version, the host of each rank and a hash of the source; nothing is
subtracted.

The program comes with Tare as C source and is compiled before it runs, by the platform's own `mpicc`: the
same source for each MPI and each container image. `mpicc` is looked for along the platform's `path`, then in
PATH; it needs a C compiler and MPI's headers (Debian: gcc, libopenmpi-dev). An MPI without an mpicc takes
that of one with the same ABI: Intel MPI runs what MPICH's has compiled, so name MPICH's bin folder in `path`
after Intel MPI's own.

Traps: a program built with another MPI than the launcher's starts as often as there are ranks, each alone,
and refuses to run.{traps}"""

_P2P = {
    "what": """\
Messages between rank 0 and the last rank, on two nodes where the case has them.

- latency: half of a round trip of one message, as rank 0 sees it.
- exchange: a message each way at once (MPI_Sendrecv on both sides); half the time of two, as rank 0 sees
  it. It is measured where `operations` names it, as in: pingpong exchange.
- bandwidth: a window of nonblocking sends, at most 16 MiB or 4 messages under way at once, and an empty
  answer when all have arrived; 10⁶ bytes per second. Its slow tail is bandwidth_p1; bandwidth_mean is all
  bytes over all time.""",
    "sizes": "0 (not for bandwidth), 1",
    "large": "Messages, and windows of them,",
    "traps": "",
}
_ALL = {
    "what": """\
Barrier, broadcast, allreduce (sum of MPI_FLOATs), allgather and alltoall on all ranks. `bytes` is what MPI
calls the message: the part for each rank in allgather and alltoall.

Before each iteration is a barrier, which ranks leave one after another, by up to the time of a message. So a
time is not that of the slowest rank, which waits for those that come later, but from when the last rank
begins the operation (bcast: its root) until the last rank has ended it, on one clock: how far clocks are
apart is found anew every 100 iterations or fewer, from the fastest of 5 messages there and back for each
rank (Cristian 1989). Whatever the error of that, a time is at least that on the last rank to begin, and for
all operations but bcast at most that on the slowest rank.""",
    "sizes": "1 (allreduce: 4)",
    "large": "Messages",
    "traps": " Where ranks are more than cores, times are those of the kernel's scheduler.",
}


def _parameters(
    operations: tuple[str, ...], max_bytes: int, min_bytes: int, iterations: int
) -> tuple[Parameter, ...]:
    return (
        declare.size("max_bytes", max_bytes, "largest message: a power of two", minimum=4),
        declare.size("min_bytes", min_bytes, "smallest message: 0 or a power of two", minimum=0),
        declare.text("operations", " ".join(operations), "what to measure, in this order"),
        declare.whole(
            "iterations", iterations, "most iterations of one size; 1000 or more for p999", minimum=2
        ),
        declare.seconds(
            "time_s", 1.0, "most time for one size of one operation, its warm-up aside", minimum=0.001
        ),
        declare.text("mpicc", "mpicc", "compiler of the platform's MPI, or of one with the same ABI"),
    )


_WINDOW = declare.whole("window", 64, "most messages under way at once when bandwidth is measured", minimum=1)


@functools.cache
def source() -> str:
    """Return the program's C source."""
    return Path(__file__).with_name("microbench.c").read_text(encoding="utf-8")


_COMPILERS = ("cc", "gcc")
"""The compilers that wrappers such as mpicc call; the content of a wrapper does not change with them."""


class Microbench(Benchmark, frozen=True, kw_only=True):
    """A workload that runs `operations` of the program; `ranks` is the number of ranks that a case needs."""

    operations: tuple[str, ...]
    is_pair: bool
    ranks: int | None = None

    def expecting(self, case: Case) -> Self:
        """Return a copy with the number of ranks that run for `case`."""
        return msgspec.structs.replace(self, ranks=self._layout(case).ranks)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that the program would refuse."""
        if case.layout.ranks < 2:
            yield f"{self.name} needs 2 ranks or more, and the case has 1; set ranks: 2, or nodes: 2"
        smallest, largest = int(case.parameters["min_bytes"]), int(case.parameters["max_bytes"])
        for name, size in (("min_bytes", smallest), ("max_bytes", largest)):
            if size & (size - 1) or size > _LARGEST_BYTES:
                near = min(1 << size.bit_length() - 1, _LARGEST_BYTES)
                yield f"{name} is {size}, but messages are powers of two up to 1 GiB; set {name}: {near}"
        if smallest > largest:
            yield f"min_bytes {smallest} is more than max_bytes {largest}; set min_bytes: {largest}"
        yield from self._operation_faults(str(case.parameters["operations"]).split())

    def _operation_faults(self, asked: list[str]) -> Iterator[str]:
        every = " ".join(self.operations)
        unknown = [name for name in asked if name not in self.operations]
        if unknown:
            yield f"{self.name} has no operation {unknown[0]!r}; choose from operations: {every}"
        elif not asked or len(set(asked)) < len(asked):
            yield f"{self.name} measures each operation once; choose from operations: {every}"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the calls of the compiler and of the program."""
        text, asked = source(), case.parameters
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        build = Stage(
            name="build",
            argv=(
                str(asked["mpicc"]),
                "-std=c11",
                "-O2",
                f"-DSOURCE={digest}",
                "-o",
                "microbench",
                "microbench.c",
            ),
            files={"microbench.c": text},
            is_mpi=False,
            layout=Layout(),
            keeps=("microbench",),
            programs=_COMPILERS,
        )
        argv = ["{work}/microbench"]
        argv += ["--min-bytes", str(asked["min_bytes"]), "--max-bytes", str(asked["max_bytes"])]
        argv += ["--iterations", str(asked["iterations"]), "--time-limit", f"{float(asked['time_s']):.15g}"]
        argv += ["--window", str(asked["window"])] if "window" in asked else []
        return (build, Stage(argv=(*argv, *str(asked["operations"]).split()), layout=self._layout(case)))

    def _layout(self, case: Case) -> Layout:
        return case.layout.pair() if self.is_pair else case.layout

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the rows of these operations (see core.workload.Workload.parse)."""
        return Log(self.foms, self.operations, self.ranks).parse(lines)


WORKLOADS = (
    Microbench(
        name="tare.p2p",
        summary="Latency and bandwidth between two ranks, with their tails: every message is timed.",
        description=_DESCRIPTION.format(**_P2P),
        parameters=(*_parameters(_POINT_TO_POINT, 4 << 20, 0, 10_000), _WINDOW),
        foms=(*_LATENCY, *limited(_BANDWIDTH, "MB/s", Resource.LINK), *_EXCHANGE),
        operations=(*_POINT_TO_POINT, *_ON_REQUEST),
        is_pair=True,
    ),
    Microbench(
        name="tare.collectives",
        summary="Barrier, bcast, allreduce, allgather and alltoall, with their tails: every call is timed.",
        description=_DESCRIPTION.format(**_ALL),
        parameters=_parameters(_COLLECTIVE, 1 << 20, 1, 2_000),
        foms=_TIME,
        operations=_COLLECTIVE,
        is_pair=False,
    ),
)
