"""Messages of all ranks at once, of IMB-P2P: `imb.p2p_pingpong`, `imb.p2p_birandom` …

Its tables look like those of IMB-MPI1, but all ranks send, and rates are of all of them together. It has no
options for the number of ranks, the time and the memory.
"""

from __future__ import annotations

from tare.core.case import Case
from tare.core.workload import Fom, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.imb_benchmark import ImbBenchmark, imb_benchmark

_COLUMNS = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec", "Msg/sec")

_FIGURES: dict[str, Fom] = {
    "t[usec]": declare.lower("latency", "us", "time of one message, mean over ranks", is_primary=True),
    "Mbytes/sec": declare.higher(
        "bandwidth", "MB/s", "10⁶ bytes per second, of all ranks together", is_primary=True
    ),
    "Msg/sec": declare.higher("message_rate", "msg/s", "messages per second, of all ranks together"),
}

_BENCHMARKS = (
    ("PingPong", "One half of the ranks to and fro with the other half."),
    ("PingPing", "Both halves of the ranks send to each other at the same time."),
    ("Unirandom", "Half of the ranks send to ranks of the other half that change at random."),
    ("Birandom", "All ranks send to and receive from partners that change at random."),
    ("Corandom", "All ranks send to one random partner and receive from another one."),
    ("Stencil2D", "All ranks exchange with their four neighbours on a grid."),
    ("Stencil3D", "All ranks exchange with their six neighbours in a box."),
    ("SendRecv_Replace", "All ranks send and receive with one buffer (MPI_Sendrecv_replace)."),
)

_NOTE = """

Messages are never empty. The program prints that a benchmark is invalid for a number of ranks that does not
suit it, such as 2 for the stencils, and runs nothing."""


class _P2PBenchmark(ImbBenchmark, frozen=True, kw_only=True):
    """A benchmark of IMB-P2P, whose options are few."""

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of IMB-P2P."""
        smallest, largest = (int(case.parameters[name]) for name in ("min_bytes", "max_bytes"))
        sizes = f"{smallest.bit_length() - 1}:{largest.bit_length() - 1}"
        argv = (self.program, "-msglog", sizes, "-iter", str(case.parameters["iterations"]), self.benchmark)
        return (Stage(argv=argv, layout=case.layout),)


def _workload(benchmark: str, summary: str) -> ImbBenchmark:
    return imb_benchmark(
        benchmark,
        _COLUMNS,
        summary,
        part="P2P",
        prefix="p2p_",
        figures=_FIGURES,
        parameters=(
            declare.size("max_bytes", 4 << 20, "largest message: a power of two", minimum=1),
            declare.size("min_bytes", 1, "smallest message: a power of two", minimum=1),
            declare.whole("iterations", 1000, "most repetitions of one message size", minimum=1),
        ),
        kind=_P2PBenchmark,
        note=_NOTE,
    )


MANY_TO_MANY = tuple(_workload(*row) for row in _BENCHMARKS)
