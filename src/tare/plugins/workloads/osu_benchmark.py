"""One benchmark of the OSU micro-benchmarks (OMB): its command, its figures of merit and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import Fom, Parameter, Parsed, Stage, limited
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.osu_output import SMALL_MEAN, OsuLog
from tare.plugins.workloads.osu_tables import Expectation, Sizes

_LARGEST_PAIR = 4 << 20
_LARGEST_COLLECTIVE = 1 << 20
"""OMB's default largest messages, in bytes (MAX_MESSAGE_SIZE, MAX_MSG_SIZE_COLL in osu_util.h)."""

_ATOMIC_BYTES = 8  # of atomic operations before version 7, where the data type sets the size

_MEMORY_BYTES = 512 << 20
"""OMB's limit for the buffers of a collective (-M); it silently lowers the largest message to fit."""


_MEAN = declare.lower(SMALL_MEAN, "us", "latency, mean over messages of 1 to 64 bytes", is_primary=True)
_TAIL = declare.lower("latency_tail", "us", "percentile of the latency", "bytes", "percentile")
LATENCY = (declare.lower("latency", "us", "time of one message", "bytes", is_primary=True), _MEAN, _TAIL)
ATOMIC = (LATENCY[0], _TAIL)
BANDWIDTH = (
    declare.higher("bandwidth", "MB/s", "10⁶ bytes per second", "bytes", is_primary=True),
    declare.higher("bandwidth_tail", "MB/s", "percentile of the bandwidth", "bytes", "percentile"),
)
RATE = (*BANDWIDTH, declare.higher("message_rate", "msg/s", "all pairs", "bytes", is_primary=True))
COLLECTIVE = (
    declare.lower("latency", "us", "time, mean over ranks", "bytes", is_primary=True),
    declare.lower("latency_min", "us", "time on the fastest rank", "bytes"),
    declare.lower("latency_max", "us", "time on the slowest rank", "bytes"),
    _MEAN,
    _TAIL,
)
NON_BLOCKING = (
    declare.lower(
        "overall", "us", "time with computation overlapped, mean over ranks", "bytes", is_primary=True
    ),
    declare.lower("compute", "us", "time that the computation takes", "bytes"),
    declare.lower("init", "us", "time in the call that starts it", "bytes"),
    declare.lower("test", "us", "time in MPI_Test", "bytes"),
    declare.lower("wait", "us", "time in MPI_Wait", "bytes"),
    declare.lower("communication", "us", "time without computation, mean over ranks", "bytes"),
    declare.lower("communication_min", "us", "time without computation on the fastest rank", "bytes"),
    declare.lower("communication_max", "us", "time without computation on the slowest rank", "bytes"),
    declare.higher("overlap", "%", "share of the time hidden by computing", "bytes", is_primary=True),
    _TAIL,
)

_HUNGRY = ("all", "gather", "scatter")
"""Beginnings of the names of collectives whose buffers contain a message for every rank."""

_DEVICES = ("none", "cuda", "rocm", "openacc")
_BUFFERS = ("H H", "D D", "D H", "H D", "M M", "M H", "H M", "M D", "D M")

_ITERATIONS, _SIZES = "set iterations", "set min_bytes and max_bytes"
_OPTIONS = {
    "-i": _ITERATIONS,
    "--iterations": _ITERATIONS,
    "-d": "set device",
    "--accelerator": "set device",
}
_OPTIONS_OF_SIZES = {"-m": _SIZES, "--message-size": _SIZES}
_OPTIONS_OF_COLLECTIVES = {"-f": "set full: true", "--full": "set full: true"}
"""OMB's options for which workloads have a parameter (util/osu_util_options.h), and what to do instead."""

_DESCRIPTION = """\
Runs the program of the same name (osu_latency …) over messages of 1, 2, 4 … bytes; point-to-point
latencies start at 0 bytes before version 7. Name its folders in the platform's `path`:
libexec/osu-micro-benchmarks/mpi/pt2pt, …/collective and …/one-sided (version 7 adds /standard, /blocking
and /non_blocking). Spack and EasyBuild have recipes; https://mvapich.cse.ohio-state.edu/benchmarks
has the source.

`latency_small_mean` is the arithmetic mean over messages of 1, 2, 4 … 64 bytes, as published comparisons
quote it.

Traps: the program must be built with the MPI of the platform's launcher, or every rank runs alone. Sizes
of a study's own need version 5.3 or later (-m MIN:MAX). `iterations` sets small and large messages alike;
0 leaves OMB's own numbers (10000 and 1000 for latency, 1000 and 100 for collectives). A table has no
closing line: one that ends early is refused because its last size is missing. Atomic operations are on
8 bytes before version 7, and then on 1 byte, or on the data type of `args: -T mpi_int`."""


class OsuBenchmark(Benchmark, frozen=True, kw_only=True):
    """A workload that runs one program of OMB; `expected` describes its tables."""

    program: str
    is_pair: bool = False
    is_collective: bool = False
    least_ranks: int = 2
    least_nodes: int = 1
    expected: Expectation

    @property
    def is_reduction(self) -> bool:
        """Whether the benchmark sums numbers of four bytes."""
        return "reduce" in self.program

    def expecting(self, case: Case) -> Self:
        """Return a copy with the sizes and repetitions that `case` asks for."""
        if not self.expected.sweeps:
            return self
        iterations = int(case.parameters["iterations"]) or None
        expected = msgspec.structs.replace(self.expected, asked=_sizes(case), iterations=iterations)
        return msgspec.structs.replace(self, expected=expected)

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that OMB would refuse, or run with other sizes."""
        ranks, nodes = case.layout.ranks, case.layout.nodes
        if nodes < self.least_nodes:
            least = self.least_nodes
            yield (
                f"{self.name} needs {count(least, 'node')} or more, and the case has {nodes}; set nodes: "
                f"{least}"
            )
        elif ranks < self.least_ranks:
            least = self.least_ranks
            cure = "set ranks: 2, or nodes: 2" if least == 2 else f"set ranks: {least}"
            yield f"{self.name} needs {count(least, 'rank')} or more, and the case has {ranks}; {cure}"
        elif not self.is_pair and not self.is_collective and not self.expected.is_fan and ranks % 2:
            yield f"{self.name} pairs its ranks, and {ranks} is odd; set ranks: {ranks + 1}"
        options = _OPTIONS | (_OPTIONS_OF_SIZES if self.expected.sweeps else {})
        options |= _OPTIONS_OF_COLLECTIVES if self.is_collective else {}
        yield from option_faults(case, self.name, options)
        if self.expected.sweeps:
            yield from self._size_faults(case)

    def _size_faults(self, case: Case) -> Iterator[str]:
        sizes, ranks = _sizes(case), case.layout.ranks
        if sizes.first > sizes.last:
            yield f"min_bytes {sizes.first} is more than max_bytes {sizes.last}; set min_bytes: {sizes.last}"
        if self.is_reduction and sizes.first < 4:
            yield f"{self.name} sums numbers of 4 bytes, and min_bytes is {sizes.first}; set min_bytes: 4"
        name = self.program.removeprefix("osu_").removeprefix("i")
        limit = _MEMORY_BYTES // ranks
        if self.is_collective and not self.is_reduction and name.startswith(_HUNGRY) and sizes.last > limit:
            yield (
                f"{self.name} would quietly stop before {count(sizes.last, 'byte')} on "
                f"{count(ranks, 'rank')}, as its buffers "
                f"may take {_MEMORY_BYTES} bytes; set max_bytes: {1 << limit.bit_length() - 1}"
            )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of the program, with options only for settings that differ from OMB's defaults."""
        argv = [self.program]
        if self.expected.sweeps:
            sizes = _sizes(case)
            if sizes != Sizes(self.expected.least, self.expected.largest):
                argv += ["-m", f"{sizes.first}:{sizes.last}"]
        if iterations := int(case.parameters["iterations"]):
            argv += ["-i", str(iterations)]
        if self.is_collective and case.parameters["full"]:
            argv.append("-f")
        if case.parameters["device"] != "none":
            argv += ["-d", str(case.parameters["device"])]
            argv += [] if self.is_collective else str(case.parameters["buffers"]).split()
        layout = case.layout.pair() if self.is_pair else case.layout
        return (Stage(argv=tuple(argv), layout=layout, has_own_threads=self.program.endswith("_mt")),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the tables of this benchmark (see core.workload.Workload.parse)."""
        return OsuLog(self.foms, self.expected).parse(lines)


def _sizes(case: Case) -> Sizes:
    return Sizes(int(case.parameters["min_bytes"]), int(case.parameters["max_bytes"]))


def _parameters(least: int, largest: int, *, sweeps: bool, is_collective: bool) -> tuple[Parameter, ...]:
    sizes = (
        declare.size("max_bytes", largest, "largest message", minimum=1),
        declare.size("min_bytes", least, "smallest message", minimum=least),
    )
    full = declare.flag("full", False, "also the fastest and the slowest rank (-f)")
    buffers = declare.text("buffers", "H H", "buffers of both sides: host, device, managed", choices=_BUFFERS)
    return (
        *(sizes if sweeps else ()),
        declare.whole("iterations", 0, "repetitions of each size; 0 leaves OMB's own", minimum=0),
        *((full,) if is_collective else ()),
        declare.text(
            "device", "none", "where device buffers lie; needs an OMB built for it", choices=_DEVICES
        ),
        *(() if is_collective else (buffers,)),
    )


def osu_benchmark(
    name: str,
    title: str,
    foms: tuple[Fom, ...],
    summary: str,
    *,
    is_pair: bool = False,
    is_collective: bool = False,
    least_ranks: int = 2,
    least_nodes: int = 1,
    is_fan: bool = False,
) -> OsuBenchmark:
    """Return the workload for the program osu_`name`, whose tables are called `title`."""
    main = foms[0].name
    has_sizes = "arrier" not in name
    if foms is BANDWIDTH:
        foms = limited(foms, "MB/s", Resource.LINK_BOTH_WAYS if "bibw" in name else Resource.LINK)
    if not has_sizes:
        foms = tuple(msgspec.structs.replace(one, by=()) for one in foms if one not in {_MEAN, _TAIL})
    if "reduce" in name:  # its messages start at 4 bytes
        foms = tuple(one for one in foms if one is not _MEAN)
    is_two_sided_latency = foms is LATENCY and not title.startswith("MPI_")
    least = 4 if "reduce" in name else 0 if is_two_sided_latency else 1
    largest = _LARGEST_COLLECTIVE if is_collective else _LARGEST_PAIR
    if foms is ATOMIC:
        least = largest = _ATOMIC_BYTES
    expected = Expectation(
        key=title.lower(), main=main, has_sizes=has_sizes, least=least, largest=largest, is_fan=is_fan
    )
    return OsuBenchmark(
        name=f"osu.{name}",
        summary=summary,
        description=_DESCRIPTION,
        parameters=_parameters(least, largest, sweeps=expected.sweeps, is_collective=is_collective),
        foms=foms,
        program=f"osu_{name}",
        is_pair=is_pair,
        is_collective=is_collective,
        least_ranks=least_ranks,
        least_nodes=least_nodes,
        expected=expected,
    )
