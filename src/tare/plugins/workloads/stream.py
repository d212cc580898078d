"""STREAM, sustainable memory bandwidth: `stream` (https://www.cs.virginia.edu/stream).

A table has one row for each of four kernels, and the verdict of the validation follows it (stream.c 5.x).
CUDA ports print the same table in other units and without a verdict. Microsoft's port prints six figures per
row. SuperBench's gpu_stream prints a row for each block size, in GB/s and as a share of the peak.

The table of stream.c::

    Function    Best Rate MB/s  Avg time     Min time     Max time
    Copy:            4060.2     0.039839     0.039407     0.040885
    Scale:           2144.2     0.076166     0.074621     0.079537
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Self

import msgspec

from tare.core.bounds import Resource
from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Banner, Benchmark, run_number
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.rounded import Rounded, have_common, rounded
from tare.plugins.workloads.common.text import aborts, figure

_KERNELS = ("copy", "scale", "add", "triad")
_ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
"""How many arrays each kernel reads or writes, once in each repeat (stream.c, ``bytes``)."""
_MEGABYTES = {
    "MB": 1.0,
    "GB": 1e3,
    "TB": 1e6,
    "MiB": 1.048576,
    "GiB": 1073.741824,
    "TiB": 1099511.627776,
}
"""Each unit in the head of a table, in MB (10⁶ bytes)."""

_HEAD = re.compile(r"\s*Function\s+(?:Best )?Rate [(\[]?([MGT]i?B)(?:ytes)?/s(?:ec)?[)\]]?(\s.*|$)")
_ROW = re.compile(r"\s*(Copy|Scale|Add|Triad):\s+(.+)")
_GPU_ROW = re.compile(
    r"STREAM_(COPY|SCALE|ADD|TRIAD)_\w+_gpu_([0-9]+)_buffer_[0-9]+_block_([0-9]+)"
    r"\s+([0-9]+\.[0-9]{2})\s+[0-9]+\.[0-9]{2}"
)
_ELEMENTS = re.compile(r"Array size = ([0-9]{1,15}) \(elements\)")
_ELEMENT_BYTES = re.compile(r"This system uses ([0-9]{1,3}) bytes per array element\.")
_ANY_ELEMENT_BYTES = (4, 8, 16)
_THREADS = re.compile(r"Number of Threads counted = ([0-9]{1,9})")
_MEGA = 1e6
_TIMED_WIDTH = 4  # rate, average, least and most time

_DESCRIPTION = """\
Copies, scales and adds arrays of doubles: c = a, b = s·c, c = a + b, a = b + s·c. The rate of the fastest
repeat counts, in 10⁶ bytes per second. The arrays must be four times as large as the last-level caches
together; their size is fixed when the program is compiled:

    gcc -O3 -march=native -fopenmp -DSTREAM_ARRAY_SIZE=400000000 -mcmodel=medium stream.c -o stream

(https://www.cs.virginia.edu/stream). It runs `threads` OpenMP threads on one rank; several ranks run a copy
each, and their figures are not summed. A run whose validation failed does not count."""


class StreamBenchmark(Benchmark, frozen=True, kw_only=True):
    """The STREAM benchmark; `copies` is the number of tables expected in its output, None if unknown."""

    copies: int | None = None

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of STREAM, with its threads bound (OMP_PROC_BIND)."""
        env = {"OMP_NUM_THREADS": str(case.layout.threads), "OMP_PROC_BIND": "true"}
        return (Stage(argv=(str(case.parameters["program"]),), env=env, is_mpi=case.layout.ranks > 1),)

    def expecting(self, case: Case) -> Self:
        """Return a copy that expects one table from each rank."""
        return msgspec.structs.replace(self, copies=case.layout.ranks)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the rates of all copies of STREAM, or the rows of gpu_stream."""
        return _Log(self.foms, self.copies).parse(lines)


class _Log(LogParser):
    """Collects the rates in a log, line by line.

    If several ranks run a copy each, they print at the same time, and their rows are interleaved. The n-th
    row of each kernel counts as run n. This is possible because the copies are alike; the rank of a row is
    unknown.
    """

    banner = Banner("STREAM version", r"STREAM version \$Revision: (\S+) \$")

    def __init__(self, foms: Iterable[Fom], copies: int | None) -> None:
        super().__init__(foms)
        self._copies = copies
        self._scale: float | None = None
        self._sizes: set[int] = set()
        self._element_bytes: set[int] = set()
        self._arrays: list[Rounded] = []
        """How many megabytes each array has, by each row of the last table."""
        self._width: int | None = None
        self._n_at_head = 0
        self._heads = self._banners = self._versions = self._verdicts = 0
        self._rates: dict[str, list[float]] = {kernel: [] for kernel in _KERNELS}
        self._gpu: dict[tuple[str, int, int], float] = {}

    def read(self, line: str) -> None:
        if ":" in line[:10]:
            self._read_row(line)
        elif line.startswith("STREAM_"):
            self._read_gpu_row(line)
        elif line.startswith("STREAM version"):
            self._versions += 1
        elif "implementation in CUDA" in line:
            self._banners += 1
        elif "Function " in line:
            self._read_head(line)
        elif line.startswith(("Array size", "Number of Threads counted", "This system uses")):
            self._read_size(line)
        elif "Validat" in line:
            self._read_verdict(line)
        elif "MPI_A" in line and aborts(line):
            self._findings.problem("a rank called MPI_Abort")

    def read_torn(self, line: str) -> None:
        self.read(line)

    def _read_head(self, line: str) -> None:
        if match := _HEAD.match(line):
            counts = {len(rates) for rates in self._rates.values()}
            has_begun = self._heads and (len(counts) > 1 or counts == {self._n_at_head})
            if has_begun and _MEGABYTES[match[1]] != self._scale:
                self._findings.mixed("tables of different units")
            self._n_at_head = max(counts)
            self._heads += 1
            self._scale = _MEGABYTES[match[1]]
            self._width = _TIMED_WIDTH if "time" in match[2] else None
            self._arrays = []
        elif "Rate" in line:
            self._scale = None
            self._findings.problem(f"STREAM's table has an unknown unit: {' '.join(line.split())}")

    def _read_size(self, line: str) -> None:
        if match := _ELEMENTS.match(line):
            self._findings.record_facts(n_elements=int(match[1]))
            self._sizes.add(int(match[1]))
        elif match := _ELEMENT_BYTES.match(line):
            self._element_bytes.add(int(match[1]))
        elif match := _THREADS.fullmatch(line):
            self._findings.record_facts(threads=int(match[1]))

    def _read_verdict(self, line: str) -> None:
        if "Solution Validates" in line:
            self._verdicts += 1
        elif "Failed Validation" in line:
            self._findings.problem(f"STREAM's validation failed: {' '.join(line.split())}")

    def _read_row(self, line: str) -> None:
        match = _ROW.fullmatch(line)
        if match is None:
            return
        words = match[2].split()
        if self._scale is None:
            if len(words) > 1 and all(figure(word) is not None for word in words):
                self._findings.mixed("a row of STREAM stands before the head of its table")
            return
        rate = figure(words[0])
        is_whole = len(words) == self._width if self._width else len(words) > 1
        if (
            rate is None
            or rate < 0
            or not is_whole
            or any(figure(word) is None or word.endswith(".") for word in words)
        ):
            self._findings.problem(f"STREAM's table has a broken row: {' '.join(line.split())}")
        else:
            if self._width is not None and not self._is_consistent(match[1].lower(), words, self._scale):
                self._findings.problem(
                    "STREAM's table has a row whose rate and least time are not of its arrays, as of lost "
                    f"digits or another unit: {' '.join(line.split())}"
                )
            self._rates[match[1].lower()].append(rate * self._scale)
            self._findings.keep()

    def _is_consistent(self, kernel: str, words: list[str], scale: float) -> bool:
        """Return whether the rate × the least time is what the kernel moves, as in the other rows."""
        rate, least, mean, most = rounded(words[0]), rounded(words[2]), *map(figure, words[1:4:2])
        if rate is None or least is None or mean is None or most is None:
            return True
        array = rate.times(least).scaled(scale / _ARRAYS[kernel])
        self._arrays.append(array)
        known = [
            size * n_bytes / _MEGA
            for size in self._sizes
            for n_bytes in self._element_bytes or _ANY_ELEMENT_BYTES
        ]
        return (
            (not known or any(map(array.may_be, known)))
            and have_common(self._arrays)
            and least.least <= mean <= most
        )

    def _read_gpu_row(self, line: str) -> None:
        match = _GPU_ROW.fullmatch(line)
        if match is None:
            self._findings.problem(f"gpu_stream's table has a broken row: {' '.join(line.split())}")
        else:
            point = match[1].lower(), int(match[2]), int(match[3])
            self._gpu[point] = float(match[4]) * _MEGABYTES["GB"]
            self._findings.keep()

    def parsed(self) -> Parsed:
        """Return all rates; they are complete if no row and no verdict is missing."""
        faults = [*(self._gpu_faults() if self._gpu else self._faults())]
        self._findings.problems(faults)
        for kernel, rates in self._rates.items():
            for number, rate in enumerate(rates, start=1):
                self._findings.measure(kernel, rate, **run_number(number, self._heads))
        for (kernel, gpu, block), rate in self._gpu.items():
            self._findings.measure(kernel, rate, gpu=gpu, block=block)
        return self._findings.parsed(is_complete=not faults, is_end_known=not self._gpu)

    def _faults(self) -> Iterator[str]:
        if not self._heads:
            yield "the output holds no table of STREAM"
            return
        copies = max(self._heads, self._banners, self._versions, self._copies or 1)
        for kernel, rates in self._rates.items():
            if len(rates) != copies:
                yield f"the output holds {count(len(rates), 'row')} of {kernel} for {copies} copies of STREAM"
        if self._verdicts < self._versions:
            yield f"STREAM validated {self._verdicts} of {self._versions} solutions"

    def _gpu_faults(self) -> Iterator[str]:
        """Yield the rows that gpu_stream's tables lack."""
        blocks = {block for _, _, block in self._gpu}
        for gpu in sorted({gpu for _, gpu, _ in self._gpu}):
            for kernel in _KERNELS:
                n_rows = sum((kernel, gpu, block) in self._gpu for block in blocks)
                if n_rows < len(blocks):
                    yield (
                        f"gpu_stream printed {n_rows} of {count(len(blocks), 'row')} of {kernel} on GPU {gpu}"
                    )


def _fom(kernel: str, summary: str) -> Fom:
    return declare.higher(kernel, "MB/s", summary, is_primary=kernel == "triad", limit=Resource.MEMORY)


WORKLOADS = (
    StreamBenchmark(
        name="stream",
        summary="Memory bandwidth of long vectors: copy, scale, add, triad.",
        description=_DESCRIPTION,
        parameters=(declare.text("program", "stream", "the program, as it was compiled for one array size"),),
        foms=(
            _fom("copy", "best rate of c = a"),
            _fom("scale", "best rate of b = s·c"),
            _fom("add", "best rate of c = a + b"),
            _fom("triad", "best rate of a = b + s·c"),
        ),
        needs_transport=False,
    ),
)
