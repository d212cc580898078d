"""Output of the Intel MPI Benchmarks, and its reader."""

from __future__ import annotations

from support.outputs import reader_of_any
from tare.plugins.workloads.imb import WORKLOADS

IMB = {workload.benchmark: workload for workload in WORKLOADS}


FOOTER = "# All processes entering MPI_Finalize"


parse = reader_of_any(IMB)
