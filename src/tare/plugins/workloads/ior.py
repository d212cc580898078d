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
from tare.core.workload import Better, Fom, Parameter, ParameterKind, Parsed, Stage
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, Findings
from tare.plugins.workloads.ior_output import IorLog

_BANNER = Banner("IOR-", r"\bIOR-(\S+): MPI Coordinated Test")


_DESCRIPTION = """\
All ranks write and then read `block` bytes × `segments` each below the case's storage path, in requests of
`transfer` bytes, into a file of their own or into one for all. With more than one node each rank reads what a
rank of the next one wrote (-C), and writes end with fsync (-e), so that caches do not pose as storage; make
the files larger than the memory of the servers. The bandwidth counts in 2²⁰ bytes per second, opening and
closing included.

Build it from https://github.com/hpc/ior. Warnings on sizes are usual with a deadline (-D) and do not spoil a
run; data that differ from what was written do."""


class IorBenchmark(Benchmark, frozen=True, kw_only=True):
    """The IOR benchmark."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that IOR would refuse."""
        block, transfer = int(case.parameters["block"]), int(case.parameters["transfer"])
        if block % transfer:
            near = max(block // transfer, 1) * transfer
            yield f"block {block} is no multiple of transfer {transfer}, as IOR needs; set block: {near}"

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
        findings = Findings(self.foms)
        log = IorLog(findings)
        for line in findings.lines(lines, on_torn=log.read_end, banner=_BANNER):
            log.read(line)
        return log.parsed()


def _fom(name: str, unit: str, better: Better, summary: str, *, is_primary: bool = False) -> Fom:
    return Fom(name=name, unit=unit, better=better, by=("operation",), summary=summary, is_primary=is_primary)


_FOMS = (
    _fom("bandwidth", "MiB/s", Better.HIGHER, "mean over repetitions", is_primary=True),
    _fom("bandwidth_max", "MiB/s", Better.HIGHER, "best repetition"),
    _fom("bandwidth_min", "MiB/s", Better.HIGHER, "worst repetition"),
    _fom("iops", "op/s", Better.HIGHER, "requests per second, mean over repetitions"),
    _fom("row_bandwidth", "MiB/s", Better.HIGHER, "one repetition, as its row rounds it"),
    _fom("row_iops", "op/s", Better.HIGHER, "requests per second of one repetition, opening left out"),
    _fom("latency", "s", Better.LOWER, "of one request, mean"),
    _fom("open_time", "s", Better.LOWER, "opening, until the last rank was done"),
    _fom("access_time", "s", Better.LOWER, "reading or writing"),
    _fom("close_time", "s", Better.LOWER, "closing"),
    _fom("total_time", "s", Better.LOWER, "all of it"),
)

WORKLOADS = (
    IorBenchmark(
        name="ior",
        summary="Bandwidth of all ranks writing to and reading from a parallel file system.",
        description=_DESCRIPTION,
        parameters=(
            Parameter(
                name="block",
                kind=ParameterKind.BYTES,
                default=1 << 30,
                minimum=1,
                summary="contiguous bytes of each rank: a multiple of transfer",
            ),
            Parameter(
                name="transfer",
                kind=ParameterKind.BYTES,
                default=1 << 20,
                minimum=1,
                summary="bytes of one request",
            ),
            Parameter(
                name="segments",
                kind=ParameterKind.WHOLE,
                default=1,
                minimum=1,
                summary="how many times the ranks' blocks repeat",
            ),
            Parameter(
                name="file_per_process",
                kind=ParameterKind.FLAG,
                default=True,
                summary="a file for each rank, instead of one for all",
            ),
            Parameter(
                name="api",
                kind=ParameterKind.TEXT,
                default="POSIX",
                choices=("POSIX", "MPIIO", "HDF5"),
                summary="how files are accessed",
            ),
            Parameter(
                name="random", kind=ParameterKind.FLAG, default=False, summary="requests in random order"
            ),
            Parameter(
                name="direct",
                kind=ParameterKind.FLAG,
                default=False,
                summary="pass the page cache by (O_DIRECT; POSIX only)",
            ),
            Parameter(
                name="repetitions",
                kind=ParameterKind.WHOLE,
                default=1,
                minimum=1,
                summary="repetitions in one run",
            ),
        ),
        foms=_FOMS,
        needs_transport=False,
    ),
)
"""What the entry point `ior` offers."""
