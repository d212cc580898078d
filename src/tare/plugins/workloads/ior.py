"""IOR, bandwidth of a parallel file system: `ior` (https://github.com/hpc/ior).

A test prints a rounded row for every repetition and direction (ior-output.c: PrintReducedResult), below a
head with the names of the columns. ``Max Write`` and ``Max Read`` follow, and a summary of all tests with
decimals. The columns of rows and summaries differ between versions. Version 2 prints a summary of each test
before its ``Max Write``, and does not number tests. The io500 application calls IOR as a library and prints
only rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.workload import Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.ior_output import IorLog

_DESCRIPTION = """\
All ranks write and then read `block` bytes × `segments` each below the case's storage path, in requests of
`transfer` bytes, into a file of their own or into one for all. With more than one node each rank reads what a
rank of the next one wrote (-C), and writes end with fsync (-e), so that caches do not pose as storage; make
the files larger than the memory of the servers. The bandwidth counts in 2²⁰ bytes per second, opening and
closing included.

Times that IOR prints as 0 are left out: its JSON has four decimals, so 0.0000 is anything below 50 µs.

Build it from https://github.com/hpc/ior. Warnings on sizes are usual with a deadline (-D) and do not spoil a
run; data that differ from what was written do."""


_OPTIONS = {
    "-t": "set transfer",
    "-b": "set block",
    "-s": "set segments",
    "-i": "set repetitions",
    "-a": "set api",
    "-F": "set file_per_process",
    "-z": "set random",
    "--posix.odirect": "set direct: true",
    "-o": "set storage: the files lie on the storage path of the case",
    "-N": "set ranks",
}
"""IOR's options for which the workload has a setting, and what to do instead."""


class IorBenchmark(Benchmark, frozen=True, kw_only=True):
    """The IOR benchmark."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that IOR would refuse."""
        block, transfer = int(case.parameters["block"]), int(case.parameters["transfer"])
        if block % transfer:
            near = max(block // transfer, 1) * transfer
            yield f"block {block} is no multiple of transfer {transfer}, as IOR needs; set block: {near}"
        yield from option_faults(case, self.name, _OPTIONS)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of ior."""
        parameters = case.parameters
        argv = [
            "ior",
            "-a",
            str(parameters["api"]),
            "-w",
            "-r",
            "-e",
            "-g",
            "-t",
            str(parameters["transfer"]),
        ]
        argv += ["-b", str(parameters["block"]), "-s", str(parameters["segments"])]
        argv += ["-i", str(parameters["repetitions"])]
        argv += ["-F"] if parameters["file_per_process"] else []
        argv += ["-C"] if case.layout.nodes > 1 else []
        argv += ["-z"] if parameters["random"] else []
        argv += ["--posix.odirect"] if parameters["direct"] else []
        return (Stage(argv=(*argv, "-o", "{storage}/ior.data"), shares_storage=True),)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the rows and summaries of all tests, or JSON, and the error messages between them."""
        return IorLog(self.foms).parse(lines)


_FOMS = (
    declare.higher("bandwidth", "MiB/s", "mean over repetitions", "operation", is_primary=True),
    declare.higher("bandwidth_max", "MiB/s", "best repetition", "operation"),
    declare.higher("bandwidth_min", "MiB/s", "worst repetition", "operation"),
    declare.higher("iops", "op/s", "requests per second, mean over repetitions", "operation"),
    declare.higher("row_bandwidth", "MiB/s", "one repetition, as its row rounds it", "operation"),
    declare.higher(
        "row_iops", "op/s", "requests per second of one repetition, opening left out", "operation"
    ),
    declare.lower("latency", "s", "of one request, mean", "operation"),
    declare.lower("open_time", "s", "opening, until the last rank was done", "operation"),
    declare.lower("access_time", "s", "reading or writing", "operation"),
    declare.lower("close_time", "s", "closing", "operation"),
    declare.lower("total_time", "s", "all of it", "operation"),
)

WORKLOADS = (
    IorBenchmark(
        name="ior",
        summary="Bandwidth of all ranks writing to and reading from a parallel file system.",
        description=_DESCRIPTION,
        parameters=(
            declare.size(
                "block", 1 << 30, "contiguous bytes of each rank: a multiple of transfer", minimum=1
            ),
            declare.size("transfer", 1 << 20, "bytes of one request", minimum=1),
            declare.whole("segments", 1, "how many times the ranks' blocks repeat", minimum=1),
            declare.flag("file_per_process", True, "a file for each rank, instead of one for all"),
            declare.text("api", "POSIX", "how files are accessed", choices=("POSIX", "MPIIO", "HDF5")),
            declare.flag("random", False, "requests in random order"),
            declare.flag("direct", False, "pass the page cache by (O_DIRECT; POSIX only)"),
            declare.whole("repetitions", 1, "repetitions in one run", minimum=1),
        ),
        foms=_FOMS,
        needs_transport=False,
    ),
)
