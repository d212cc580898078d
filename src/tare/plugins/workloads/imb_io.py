"""MPI-IO of IMB-IO: `imb.io_s_write_indv`, `imb.io_c_read_shared` …

S, P and C are one rank, all ranks, and all ranks collectively. Indv, Expl, Shared and Priv are individual
file pointers, explicit offsets, one shared file pointer, and a file for each rank. IWrite and IRead are
non-blocking, and their tables show the overlap with computation. A size is that of the access of all ranks
together, of which each has its part.
"""

from __future__ import annotations

from tare.core.workload import Fom
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.imb_benchmark import (
    BOTH_MODES,
    NEIGHBOURS,
    ONE_WAY,
    OVERLAPPED,
    SYNCHRONISATION,
    ImbBenchmark,
    imb_benchmark,
)
from tare.plugins.workloads.imb_nonblocking import FIGURES

_FIGURES: dict[str, Fom] = {
    **FIGURES,
    "t[usec]": declare.lower("time", "us", "time of one access", "bytes", is_primary=True),
    "Mbytes/sec": declare.higher(
        "bandwidth", "MB/s", "10⁶ bytes per second, of all ranks together", "bytes", is_primary=True
    ),
}

_RANKS = {"S": "one rank", "P": "all ranks", "C": "all ranks together (collective)"}
_POINTERS = {
    "S": ("Indv", "Expl"),
    "P": ("Indv", "Expl", "Shared", "Priv"),
    "C": ("Indv", "Expl", "Shared"),
}
_PLACES = {
    "Indv": "with individual file pointers",
    "Expl": "at explicit offsets",
    "Shared": "through a shared file pointer",
    "Priv": "in a file for each rank",
}

_NOTE = """

Files are written into the folder in which the ranks start, so set the platform's working folder to the file
system that is meant. `mode` is AGGREGATE for many accesses before the file is synchronised, and NON-AGGREGATE
where each is synchronised (MPI_File_sync)."""


def _workload(who: str, verb: str, pointer: str) -> ImbBenchmark:
    is_nonblocking = verb.startswith("I")
    columns = OVERLAPPED if is_nonblocking else ONE_WAY if who == "S" else NEIGHBOURS
    action = "reads" if verb.endswith("Read") else "writes"
    action = f"non-blocking {action}" if is_nonblocking else action
    summary = f"{action.capitalize()} of {_RANKS[who]}, {_PLACES[pointer]}."
    return _benchmark(
        f"{who}_{verb}_{pointer}", columns, summary, modes=BOTH_MODES if verb == "Write" else BOTH_MODES[:1]
    )


def _benchmark(
    benchmark: str, columns: tuple[str, ...], summary: str, modes: tuple[str, ...] = ()
) -> ImbBenchmark:
    return imb_benchmark(
        benchmark,
        columns,
        summary,
        part="IO",
        prefix="io_",
        figures=_FIGURES,
        modes=modes,
        moves_messages=False,
        can_skip_empty=False,
        note=_NOTE,
    )


MPI_IO = (
    *(
        _workload(who, verb, pointer)
        for who, pointers in _POINTERS.items()
        for pointer in pointers
        for verb in ("Write", "IWrite", "Read", "IRead")
    ),
    _benchmark("Open_Close", SYNCHRONISATION, "Opens and closes a file on all ranks."),
)
