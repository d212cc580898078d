"""Messages of several threads a rank, of IMB-MT: `imb.mt_pingpong`, `imb.mt_allreduce` …

All threads of a rank call MPI at once, each with a communicator of its own (MPI_THREAD_MULTIPLE). The tables
look like those of IMB-MPI1, but their sizes are those of all threads of a rank together, and no closing line
follows them (src_cpp/MT/MT_benchmark.h).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import msgspec

from tare.core.case import Case
from tare.core.workload import Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.imb_benchmark import (
    COLLECTIVE,
    NEIGHBOURS,
    SYNCHRONISATION,
    ImbBenchmark,
    imb_benchmark,
)

_FLOODS = ("#bytes", "#repetitions", "t_avg[usec]", "Mbytes/sec", "Msg/sec")

_BENCHMARKS = (
    ("PingPong", NEIGHBOURS, "One half of the ranks to and fro with the other half."),
    ("PingPing", NEIGHBOURS, "Both halves of the ranks send to each other at the same time."),
    ("SendRecv", NEIGHBOURS, "All ranks form a ring: send to the right, receive from the left."),
    ("Exchange", NEIGHBOURS, "All ranks exchange with both neighbours, as halo swaps do."),
    ("UniBand", _FLOODS, "One half of the ranks floods the other half: total bandwidth and message rate."),
    ("BiBand", _FLOODS, "Both halves of the ranks flood each other: total bandwidth and message rate."),
    ("Bcast", COLLECTIVE, "MPI_Bcast: one rank's message to all ranks."),
    ("Reduce", COLLECTIVE, "MPI_Reduce: sum a vector over all ranks, result on one."),
    ("AllReduce", COLLECTIVE, "MPI_Allreduce: sum a vector over all ranks, result on all."),
    ("Barrier", SYNCHRONISATION, "MPI_Barrier: the time in which all ranks meet."),
)
"""For each benchmark: IMB's name without ``MT``, the columns of its table, and what it measures."""

_IN_PAIRS = frozenset({"PingPongMT", "PingPingMT", "UniBandMT", "BiBandMT"})

_ELEMENT_BYTES = 4  # messages are of MPI_INTs

_SIZES = "set min_bytes and max_bytes"
_OPTIONS = {
    "-count": _SIZES,
    "-datatype": _SIZES,
    "-repeat": "set iterations",
    "-warmup": "set warmup",
    "-thread_level": "set threads",
}
"""IMB-MT's options for which the workload has a setting, and what to do instead."""

_NOTE = """

Each of the case's `threads` of a rank sends messages of its own. min_bytes and max_bytes are those of one
thread; the tables, and the coordinate `bytes`, count all threads of a rank together. There is no limit on the
time of one size, and a flood sends 64 messages in each repetition: large messages take long.

The MPI library must support MPI_THREAD_MULTIPLE. A table has no closing line: one that ends early is refused
because its last size is missing."""


class ImbMtBenchmark(ImbBenchmark, frozen=True, kw_only=True):
    """A benchmark of IMB-MT."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield the reasons why IMB-MT would refuse the case, or run something else than it asks for."""
        yield from super().faults(case)
        ranks = case.layout.ranks
        if self.benchmark in _IN_PAIRS and ranks % 2:
            yield f"{self.name} pairs its ranks, and {ranks} is odd; set ranks: {ranks + 1}"
        yield from option_faults(case, self.name, _OPTIONS)

    def expecting(self, case: Case) -> Self:
        """Return a copy with the sizes that the tables of `case` should have."""
        if not self.has_sizes:
            return msgspec.structs.replace(self, asked=(0, 0))
        sizes = [count * _ELEMENT_BYTES * case.layout.threads for count in _counts(case)]
        return msgspec.structs.replace(self, asked=(sizes[0], sizes[-1]))

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of IMB-MT, with as many OpenMP threads a rank as the case has."""
        asked = case.parameters
        argv = [self.program, "-thread_level", "multiple", "-repeat", str(asked["iterations"])]
        argv += ["-warmup", str(asked["warmup"])]
        argv += ["-count", ",".join(map(str, _counts(case)))] if self.has_sizes else []
        env = {"OMP_NUM_THREADS": str(case.layout.threads)}
        return (Stage(argv=(*argv, self.benchmark), env=env, layout=case.layout),)


def _counts(case: Case) -> list[int]:
    """Return the numbers of elements of one thread's messages, which double from the first to the last."""
    first, last = (int(case.parameters[name]) // _ELEMENT_BYTES for name in ("min_bytes", "max_bytes"))
    return [first << power for power in range((last // first).bit_length())] if first else [first]


def _workload(name: str, columns: tuple[str, ...], summary: str) -> ImbBenchmark:
    sizes = (
        declare.size("max_bytes", 64 << 10, "largest message of one thread: a power of two", minimum=4),
        declare.size("min_bytes", _ELEMENT_BYTES, "smallest message of one thread", minimum=_ELEMENT_BYTES),
    )
    return imb_benchmark(
        f"{name}MT",
        columns,
        summary,
        part="MT",
        name=f"mt_{name.lower()}",
        least_bytes=_ELEMENT_BYTES,
        can_skip_empty=False,
        has_footer=False,
        parameters=(
            *(sizes if "#bytes" in columns else ()),
            declare.whole("iterations", 1000, "repetitions of each message size", minimum=1),
            declare.whole("warmup", 100, "repetitions before those that are timed", minimum=0),
        ),
        kind=ImbMtBenchmark,
        note=_NOTE,
    )


OF_THREADS = tuple(_workload(*row) for row in _BENCHMARKS)
