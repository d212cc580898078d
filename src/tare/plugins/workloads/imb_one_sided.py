"""One-sided communication: `imb.rma_unidir_put` of IMB-RMA, `imb.ext_unidir_put` of IMB-EXT …

IMB-RMA synchronises by locks (MPI_Win_lock, MPI_Win_flush), IMB-EXT by fences (MPI_Win_fence). Where a table
has a mode, each mode has a table of its own, and the mode is a coordinate of the figures.
"""

from __future__ import annotations

from tare.core.bounds import Resource
from tare.core.workload import Fom
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.imb_benchmark import (
    BOTH_MODES,
    COLLECTIVE,
    ONE_WAY,
    ImbBenchmark,
    imb_benchmark,
)
from tare.plugins.workloads.imb_output import COLUMNS
from tare.plugins.workloads.imb_table import FLOAT_BYTES

_PASSIVE = ("#bytes", "#repetitions", "t_pure[usec]", "t_ovrl[usec]")

_FIGURES: dict[str, Fom] = {
    **COLUMNS,
    "t[usec]": declare.lower("latency", "us", "time of one transfer", "bytes", is_primary=True),
    "t_ovrl[usec]": declare.lower(
        "overall", "us", "time of a put while the target computes", "bytes", is_primary=True
    ),
    "t_pure[usec]": declare.lower(
        "communication", "us", "time of a put while the target waits inside MPI", "bytes"
    ),
}

_RMA = (
    ("Unidir_put", ONE_WAY, "One rank puts into the window of another."),
    ("Unidir_get", ONE_WAY, "One rank gets from the window of another."),
    ("Bidir_put", ONE_WAY, "Two ranks put into each other's window at once."),
    ("Bidir_get", ONE_WAY, "Two ranks get from each other's window at once."),
    ("Put_local", ONE_WAY, "A put that is complete only on the rank that calls it (MPI_Win_flush_local)."),
    ("Put_all_local", ONE_WAY, "The same from one rank to all others."),
    ("One_put_all", ONE_WAY, "One rank puts to all others."),
    ("One_get_all", ONE_WAY, "One rank gets from all others."),
    ("All_put_all", COLLECTIVE, "Every rank puts to every other."),
    ("All_get_all", COLLECTIVE, "Every rank gets from every other."),
    ("Exchange_put", COLLECTIVE, "Every rank puts to both of its neighbours."),
    ("Exchange_get", COLLECTIVE, "Every rank gets from both of its neighbours."),
    ("Accumulate", ONE_WAY, "MPI_Accumulate: one rank sums into the window of another."),
    ("Get_accumulate", ONE_WAY, "MPI_Get_accumulate: the same, and returns the old values."),
    ("Fetch_and_op", ONE_WAY, "MPI_Fetch_and_op: an atomic operation on one number."),
    ("Compare_and_swap", ONE_WAY, "MPI_Compare_and_swap: an atomic operation on one number."),
    ("Truly_passive_put", _PASSIVE, "Whether a put goes on while its target computes."),
)
_EXT = (
    ("Window", COLLECTIVE, "Creation, fence and release of a window (MPI_Win_create, _fence, _free)."),
    ("Unidir_Put", ONE_WAY, "One rank puts into the window of another, between fences."),
    ("Unidir_Get", ONE_WAY, "One rank gets from the window of another, between fences."),
    ("Bidir_Put", ONE_WAY, "Two ranks put into each other's window at once, between fences."),
    ("Bidir_Get", ONE_WAY, "Two ranks get from each other's window at once, between fences."),
    ("Accumulate", COLLECTIVE, "MPI_Accumulate of all ranks into one window, between fences."),
)
"""For each benchmark: IMB's name, the columns of its table, and what it measures."""

_ON_ALL_RANKS = frozenset({"put_all_local", "one_put_all", "one_get_all"})
"""Benchmarks with the columns of a pair in which all ranks take part."""
_WITHOUT_MODES = frozenset({*_ON_ALL_RANKS, "window", "truly_passive_put"})
_ATOMIC = frozenset({"fetch_and_op", "compare_and_swap"})
_SUMS = frozenset({"accumulate", "get_accumulate"})

_NOTE = """

The program has no option to leave out the empty message, so its figures are there, too. `mode` is AGGREGATE
for many transfers between two synchronisations, and NON-AGGREGATE for one."""


def _workload(part: str, benchmark: str, columns: tuple[str, ...], summary: str) -> ImbBenchmark:
    name = benchmark.lower()
    is_pair = columns in (ONE_WAY, _PASSIVE) and name not in _ON_ALL_RANKS
    has_modes = name not in _WITHOUT_MODES and (columns == ONE_WAY or name in _SUMS)
    return imb_benchmark(
        benchmark,
        columns,
        summary,
        part=part,
        prefix=f"{part.lower()}_",
        figures=_FIGURES,
        modes=BOTH_MODES if has_modes else (),
        limit=Resource.LINK if name.startswith("unidir_") else None,
        least_bytes=FLOAT_BYTES if part == "EXT" or name in _SUMS else None,
        has_one_size=name in _ATOMIC,
        is_pair=is_pair,
        can_skip_empty=False,
        note=_NOTE,
    )


ONE_SIDED = (
    *(_workload("RMA", *row) for row in _RMA),
    *(_workload("EXT", *row) for row in _EXT),
)
