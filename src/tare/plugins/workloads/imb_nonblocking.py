"""Non-blocking collectives of IMB-NBC: `imb.ialltoall`, `imb.iallreduce_pure` …

A benchmark measures a collective alone, a computation alone, and both at once. Its version with ``_pure``
measures the collective alone.
"""

from __future__ import annotations

from tare.core.workload import Fom
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.imb_benchmark import (
    COLLECTIVE,
    OVERLAPPED,
    SYNCHRONISATION,
    ImbBenchmark,
    imb_benchmark,
)
from tare.plugins.workloads.imb_output import COLUMNS

FIGURES: dict[str, Fom] = {
    **COLUMNS,
    "t_ovrl[usec]": declare.lower(
        "overall", "us", "time of the operation with computation overlapped", "bytes", is_primary=True
    ),
    "t_pure[usec]": declare.lower("communication", "us", "time of the operation alone", "bytes"),
    "t_CPU[usec]": declare.lower("compute", "us", "time of the computation alone", "bytes"),
    "overlap[%]": declare.higher(
        "overlap", "%", "share of the shorter time that the other hides", "bytes", is_primary=True
    ),
}
"""The figure of merit for each column, also of tables with overlap."""

_COLLECTIVES = (
    ("Ibcast", "one rank's message to all ranks"),
    ("Iallgather", "every rank's part to all ranks"),
    ("Iallgatherv", "the same with a size for each rank"),
    ("Igather", "every rank's part to one rank"),
    ("Igatherv", "the same with a size for each rank"),
    ("Iscatter", "one rank's parts to all ranks"),
    ("Iscatterv", "the same with a size for each rank"),
    ("Ialltoall", "every rank to every other; loads the bisection"),
    ("Ialltoallv", "the same with a size for each pair"),
    ("Ireduce", "a sum over all ranks, result on one"),
    ("Ireduce_scatter", "a sum over all ranks, a part of it to each"),
    ("Iallreduce", "a sum over all ranks, result on all"),
    ("Ibarrier", "the time in which all ranks meet"),
)


def _workload(benchmark: str, what: str, *, is_pure: bool) -> ImbBenchmark:
    has_sizes = benchmark != "Ibarrier"
    if is_pure:
        alone = COLLECTIVE if has_sizes else SYNCHRONISATION
        summary = f"MPI_{benchmark}, without computation: {what}."
        return imb_benchmark(f"{benchmark}_pure", alone, summary, part="NBC")
    overlapped = OVERLAPPED if has_sizes else OVERLAPPED[1:]
    summary = f"MPI_{benchmark}, overlapped with computation: {what}."
    return imb_benchmark(benchmark, overlapped, summary, part="NBC", figures=FIGURES)


NON_BLOCKING = tuple(_workload(*row, is_pure=is_pure) for row in _COLLECTIVES for is_pure in (False, True))
