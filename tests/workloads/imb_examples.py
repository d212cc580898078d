"""Output of the Intel MPI Benchmarks, and its reader."""

from __future__ import annotations

from support.outputs import reader_of_any
from tare.plugins.workloads.imb import WORKLOADS

IMB = {workload.benchmark: workload for workload in reversed(WORKLOADS)} | {
    workload.name.removeprefix("imb."): workload for workload in WORKLOADS if workload.program == "IMB-P2P"
}
"""The workloads by benchmark; those of IMB-P2P by their own names, as IMB-MPI1 has the benchmarks, too."""


FOOTER = "# All processes entering MPI_Finalize"


parse = reader_of_any(IMB)
