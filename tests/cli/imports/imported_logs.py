"""Logs of programs as trees of files, and what tare import makes of them."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tare.cli.commands import compare
from tare.cli.commands.import_ import command
from tare.storage.campaign import read_campaign


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)


def compared(folder: Path) -> str:
    return CliRunner().invoke(compare.command, [str(folder)], catch_exceptions=False).stdout


def settings(folder: Path) -> list[dict[str, object]]:
    return [dict(case.settings) for case in read_campaign(folder).plan.cases]


def osu(factor: float = 1.0, last: int = 1 << 20) -> str:
    """Return a table as osu_alltoall prints it, `factor` × (10 + bytes/1000) µs."""
    sizes = [1 << power for power in range(21) if 1 << power <= last]
    rows = [f"{size:<10d} {factor * (10 + size / 1000):17.2f}" for size in sizes]
    head = "# OSU MPI All-to-All Personalized Exchange Latency Test v5.6\n# Size       Avg Latency(us)\n"
    return head + "\n".join(rows) + "\n"


def imb(ranks: int, factor: float = 1.0) -> str:
    """Return what IMB-MPI1 prints of Alltoall on `ranks` ranks."""
    rows = "".join(
        f"{size:13d}{1000:13d}{factor * 10:13.2f}{factor * 12:13.2f}{factor * 11:13.2f}\n"
        for size in (1, 2, 4)
    )
    return (
        "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n"
        "# Minimum message length in bytes:   1\n# Maximum message length in bytes:   4\n"
        f"# Benchmarking Alltoall\n# #processes = {ranks}\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        f"{rows}\n# All processes entering MPI_Finalize\n"
    )


def hpcg(ranks: int, rating: float, threads: int = 1) -> str:
    """Return the lines of HPCG's report that are read."""
    return f"""\
HPCG-Benchmark
version=3.1
Machine Summary::Distributed Processes={ranks}
Machine Summary::Threads per processes={threads}
Local Domain Dimensions::nx=104
Local Domain Dimensions::ny=104
Local Domain Dimensions::nz=104
Benchmark Time Summary::Total={60.0 + rating}
GFLOP/s Summary::Raw Total={rating + 1}
Final Summary::HPCG result is VALID with a GFLOP/s rating of={rating}
Final Summary::HPCG 2.4 rating for historical reasons is=1.5
Final Summary::Please upload results from the YAML file contents to=http://hpcg-benchmark.org
"""


IMB_TREE = "{platform}/IMB_Alltoall_{nodes}nodes_*_{date}.out"


def elbencho(rate: int) -> str:
    return f"""\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed ms       :         100         120
            IOPS             :          {rate}          {rate}
            Throughput MiB/s :          {rate}          {rate}
            Total MiB        :         100         100
---
"""


def qperf(sizes: tuple[int, ...]) -> str:
    return "".join(
        f"tcp_bw:\n    bw        =  {100 + size / 100:.1f} MB/sec\n    msg_size  =  {size} bytes\n"
        for size in sizes
    )
