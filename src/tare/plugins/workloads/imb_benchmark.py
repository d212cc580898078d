"""One benchmark of the Intel MPI Benchmarks: its command and its tables.

IMB (https://github.com/intel/mpi-benchmarks) has a program for each part: IMB-MPI1, IMB-NBC, IMB-EXT,
IMB-RMA, IMB-IO, IMB-P2P, IMB-MT. They share the format of their tables, and but for IMB-P2P and IMB-MT their
options. The modules imb, imb_nonblocking, imb_one_sided, imb_io, imb_p2p and imb_mt list the benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.program import NONE, split_words
from tare.core.workload import Fom, Parameter, Parsed, Stage, limited
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.imb_output import COLUMNS, MULTIPLE, ImbLog
from tare.plugins.workloads.imb_table import FLOAT_BYTES

ONE_WAY = ("#bytes", "#repetitions", "t[usec]", "Mbytes/sec")
PAIRS = ("#bytes", "#repetitions", "Mbytes/sec", "Msg/sec")
NEIGHBOURS = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec")
COLLECTIVE = ("#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]")
SYNCHRONISATION = ("#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]")
OVERLAPPED = ("#bytes", "#repetitions", "t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]")

BOTH_MODES = ("AGGREGATE", "NON-AGGREGATE")
"""IMB's modes of transfer: many between two synchronisations, or each between two of its own."""

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
Runs {program} once, on exactly one group of ranks (-npmin), over messages of 0 (or min_bytes), 1, 2, 4 … to
max_bytes. Point-to-point benchmarks run on two ranks, on two nodes where the case has them.

The messages of a collective can take much memory: of an alltoall of n ranks, 2 n max_bytes a rank. Where they
take more than IMB's limit of 1 GiB a rank, the limit is raised (-mem). IMB leaves out sizes whose messages to
all ranks together take 2 GiB or more, as MPI counts them in an int."""

_LIMIT_BYTES = 1 << 30
"""IMB's default limit on the memory for the messages of a rank (-mem 1), in bytes."""
_MOST_COUNTED = 2**31 - 1
"""The most bytes in one buffer; for larger ones, IMB prints int-overflow (IMB_init_buffers_iter)."""


_SETTINGS = {
    "-iter": "set iterations",
    "-time": "set time_s",
    "-msglog": "set min_bytes and max_bytes",
    "-zero_size": "set min_bytes",
    "-npmin": "set ranks",
    "-multi": "leave it out",
    "-mem": "set max_bytes",
}
"""What to do instead of each option that workloads of IMB give it."""
_OPTIONS_OF_SIZES = {
    "-msglen": _SETTINGS["-msglog"],
    "-msgsize": _SETTINGS["-msglog"],
    "-zero_size": _SETTINGS["-zero_size"],
}
"""What to do instead of options that change the sizes, also where workloads do not give them."""


class ImbBenchmark(Benchmark, frozen=True, kw_only=True):
    """One benchmark of IMB: its name in IMB's spelling, and the columns of its table.

    `figures` are pairs of a column and the name of its figure of merit. `modes` are the modes that it runs
    in, each with a table of its own; empty if its tables state none. `least_bytes` is the size of the
    smallest message that is not empty. A benchmark that `has_one_size` sends one element, whose size IMB
    chooses. `is_pair` means that only two of the ranks take part, and `moves_messages` that its bytes cross
    the network.
    """

    benchmark: str
    columns: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    program: str = "IMB-MPI1"
    modes: tuple[str, ...] = ()
    least_bytes: int = 1
    has_one_size: bool = False
    is_pair: bool = False
    moves_messages: bool = True
    has_footer: bool = True
    """Whether IMB prints a closing line; without it, `asked` shows whether a table is complete."""
    asked: tuple[int, int] | None = None
    """The smallest and the largest size that the case asks for, of a program that does not print them."""
    can_skip_empty: bool = True
    """Whether the program has the option -zero_size."""

    @property
    def has_sizes(self) -> bool:
        """Whether the benchmark sends messages of several sizes."""
        return "#bytes" in self.columns

    @property
    def is_multiple(self) -> bool:
        """Whether the benchmark runs on many pairs of ranks at once, with IMB's option -multi."""
        return self.benchmark.startswith(MULTIPLE)

    @property
    def _sweeps(self) -> bool:
        return self.has_sizes and not self.has_one_size

    def faults(self, case: Case) -> Iterator[str]:
        """Yield the reasons why IMB would refuse the case, or run something else than it asks for."""
        ranks = case.layout.ranks
        if ranks < 2 and self.moves_messages:
            yield f"{self.name} needs 2 ranks or more, and the case has {ranks}; set ranks: 2, or nodes: 2"
        elif (self.columns == PAIRS or self.is_multiple) and ranks % 2:
            yield f"{self.name} pairs its ranks, and {ranks} is odd; set ranks: {ranks + 1}"
        yield from self._faults_of_args(case)
        if self._sweeps:
            smallest, largest = _sizes(case)
            if smallest:
                yield from self._size_fault("min_bytes", smallest)
            yield from self._size_fault("max_bytes", largest)
            if smallest > largest >= self.least_bytes:
                yield f"min_bytes {smallest} is more than max_bytes {largest}; set min_bytes: {largest}"

    def _faults_of_args(self, case: Case) -> Iterator[str]:
        """Yield the options of `args` that IMB ignores, as it takes the first of two of one name."""
        asked = split_words(str(case.parameters.get("args", NONE)))
        for stage in self.stages(case) if asked else ():
            for option in dict.fromkeys(word for word in asked if word in _SETTINGS and word in stage.argv):
                yield (
                    f"args has {option}, which {self.name} gives IMB itself, and IMB takes the first of two; "
                    f"{_SETTINGS[option]}"
                )
        sizes = _OPTIONS_OF_SIZES if self._sweeps else {}
        yield from option_faults(case, self.name, sizes if self.can_skip_empty else {})

    def _size_fault(self, name: str, size: int) -> Iterator[str]:
        if size < self.least_bytes or size & (size - 1):
            near = max(1 << max(size, 1).bit_length() - 1, self.least_bytes)
            yield (
                f"{name} is {size}, but the messages of {self.name} are powers of two from "
                f"{self.least_bytes} on; set {name}: {near}"
            )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of IMB's program."""
        layout = case.layout.pair() if self.is_pair else case.layout
        argv = [self.program, "-npmin", str(layout.ranks)]
        if self._sweeps:
            smallest, largest = _sizes(case)
            argv += ["-msglog", f"{max(smallest, 1).bit_length() - 1}:{largest.bit_length() - 1}"]
            argv += ["-zero_size", "off"] if smallest and self.can_skip_empty else []
            argv += _memory_option(self.benchmark, layout.ranks, largest)
        argv += ["-iter", str(case.parameters["iterations"])]
        argv += ["-time", f"{float(case.parameters['time_s']):.15g}"]
        argv += ["-multi", "0"] if self.is_multiple else []
        return (Stage(argv=(*argv, self.benchmark.removeprefix(MULTIPLE)), layout=layout),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the tables of this benchmark, and whether IMB finished (see core.workload.Workload.parse)."""
        return ImbLog(self).parse(lines)

    def payload_bytes(self, rows: Iterable[tuple[float, ...]]) -> int:
        """Return a lower bound for the bytes that each node sends and receives, given the rows of its tables.

        Each repetition moves at least one message, or one byte in a barrier. In a ping-pong or a ping-ping,
        each rank sends one message and receives one. The benchmarks of files and of windows move none.
        """
        if not self.moves_messages or self.benchmark == "Window":
            return 0
        if self.program == "IMB-P2P" and "Ping" not in self.benchmark:  # partners may be of one node
            return 0
        if not self.has_sizes:
            return sum(int(row[0]) for row in rows)
        ways = 2 if "Ping" in self.benchmark else 1
        return sum(int(ways * row[0] * row[1]) for row in rows)

    def n_messages(self, rows: Iterable[tuple[float, ...]]) -> int:
        """Return a lower bound for the messages that each node sends and receives one after the other."""
        if not self.moves_messages:
            return 0
        if not self.has_sizes:
            return sum(int(row[0]) for row in rows)
        return sum(2 * int(row[1]) for row in rows) if "PingPong" in self.benchmark else 0


def _sizes(case: Case) -> tuple[int, int]:
    return int(case.parameters["min_bytes"]), int(case.parameters["max_bytes"])


def _buffers(benchmark: str, ranks: int) -> tuple[int, int]:
    """Return how many messages the buffers for sending and for receiving hold (IMB_init_buffers_iter)."""
    name = benchmark.lower().removeprefix("i").removesuffix("_pure")
    if name.startswith("alltoall"):
        return ranks, ranks
    if name.startswith(("allgather", "gather")):
        return 1, ranks
    if name.startswith("scatter"):
        return ranks, 1
    return {"exchange": (2, 1), "exchange_put": (2, 2), "exchange_get": (2, 2)}.get(name, (1, 1))


def _memory_option(benchmark: str, ranks: int, largest: int) -> list[str]:
    """Return the option -mem, in GiB a rank, if the largest message that IMB can send needs over 1 GiB."""
    n_sent, n_received = _buffers(benchmark, ranks)
    while largest > 1 and max(n_sent, n_received) * largest > _MOST_COUNTED:
        largest //= 2
    needed = (n_sent + n_received) * largest
    return ["-mem", str(math.ceil(needed / _LIMIT_BYTES))] if needed > _LIMIT_BYTES else []


def _sizes_of(columns: tuple[str, ...], least: int) -> tuple[Parameter, ...]:
    """Return the parameters for sizes; collectives start at a message that is not empty by default."""
    if columns not in (COLLECTIVE, OVERLAPPED):
        return _SIZES
    return tuple(
        msgspec.structs.replace(size, default=least) if size.name == "min_bytes" else size for size in _SIZES
    )


def imb_benchmark(
    benchmark: str,
    columns: tuple[str, ...],
    summary: str,
    *,
    part: str = "MPI1",
    prefix: str = "",
    figures: Mapping[str, Fom] = COLUMNS,
    modes: tuple[str, ...] = (),
    limit: Resource | None = None,
    least_bytes: int | None = None,
    has_one_size: bool = False,
    is_pair: bool = False,
    moves_messages: bool = True,
    can_skip_empty: bool = True,
    has_footer: bool = True,
    name: str = "",
    parameters: tuple[Parameter, ...] | None = None,
    kind: type[ImbBenchmark] = ImbBenchmark,
    note: str = "",
) -> ImbBenchmark:
    """Return the workload for `benchmark` of IMB-`part`.

    `prefix` stands before its name, or `name` in place of both, and `note` after its description.
    `parameters` replace the usual ones, and `kind` is the class to make. By default, reductions begin at one
    number of 4 bytes, and other messages at one byte.
    """
    foms = {column: fom for column, fom in figures.items() if column in columns}
    by = (*(("bytes",) if "#bytes" in columns else ()), *(("mode",) if len(modes) > 1 else ()))
    foms = {column: msgspec.structs.replace(fom, by=by) for column, fom in foms.items()}
    if benchmark.startswith(MULTIPLE):  # the time of each group, which -multi 1 prints
        foms["t[usec]"] = declare.lower("latency", "us", "time of one message (-multi 1)", "bytes", "group")
    least = least_bytes or (FLOAT_BYTES if "educe" in benchmark else 1)
    sizes = () if has_one_size or "#bytes" not in columns else _sizes_of(columns, least)
    program = f"IMB-{part}"
    return kind(
        name=f"imb.{name or prefix + benchmark.lower()}",
        summary=summary,
        description=_DESCRIPTION.format(program=program) + note,
        parameters=parameters or (*sizes, *_EFFORT),
        foms=limited(foms.values(), "MB/s", limit) if limit else tuple(foms.values()),
        benchmark=benchmark,
        columns=columns,
        figures=tuple((column, fom.name) for column, fom in foms.items()),
        program=program,
        modes=modes,
        least_bytes=least,
        has_one_size=has_one_size,
        is_pair=is_pair,
        moves_messages=moves_messages,
        can_skip_empty=can_skip_empty,
        has_footer=has_footer,
        needs_transport=moves_messages,
    )
