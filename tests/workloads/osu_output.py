"""Output of OMB, made up, and the reading of it."""

from __future__ import annotations

from support.outputs import reader_of_any
from tare.plugins.workloads.osu import WORKLOADS

OSU = {workload.name.removeprefix("osu."): workload for workload in WORKLOADS}


def table(title: str, heads: str, rows: dict[int, str]) -> str:
    lines = [f"# OSU MPI {title}", heads]
    return "".join(f"{line}\n" for line in [*lines, *(f"{size:<10}{row:>18}" for size, row in rows.items())])


SIZES = [0, *(1 << power for power in range(23))]
LATENCY = table(
    "Latency Test v5.8", "# Size          Latency (us)", {size: f"{1 + size / 100:.2f}" for size in SIZES}
)
BCAST = table(
    "Broadcast Latency Test v5.8",
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations",
    {size: f"{size + 2:.2f}{size + 1:>18.2f}{size + 3:>18.2f}{1000:>12}" for size in SIZES[1:22]},
)


parse = reader_of_any(OSU)
