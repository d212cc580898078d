"""The communication profile of a run: where the time of each rank went.

The profiling library writes one file a run. All times are in seconds, all sizes in bytes, and each list has
one number per rank.
"""

from __future__ import annotations

import enum
import errno
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from tare.core.counting import count
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON, UnreadableFile
from tare.core.safe_folder import SafeFolder

STORED = "profile.json"
"""The file in an attempt's folder."""

VERSION = 1

MOST_BYTES = 256 << 20
"""The largest file that is read: 1,024 ranks with some hundred rows of twenty digits a number."""
_MOST_RANKS = 1 << 20
_MOST_ROWS = 100_000
_MOST_SECONDS = 10 * 365 * 86400.0
_SLACK = 0.01
"""The share of the time by which parts may exceed the whole: clocks are read one after another."""
_SLACK_S = 0.01

Seconds = Annotated[float, msgspec.Meta(ge=0, le=_MOST_SECONDS)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
Name = Annotated[str, msgspec.Meta(max_length=256)]


class Locality(enum.StrEnum):
    """Where the peers of a call are."""

    INTRA = "intra"
    """On the same node."""
    INTER = "inter"
    """On another node."""
    MIXED = "mixed"
    """A collective operation whose communicator spans nodes."""

    @property
    def crosses(self) -> bool:
        """Return whether any of the data cross a network."""
        return self is not Locality.INTRA


class Split(enum.StrEnum):
    """How well the time of a row is parted into transfer and waiting."""

    EXACT = "exact"
    """All ranks wait for all, so what a rank waits in a call is known."""
    BOUND = "bound"
    """Not all ranks wait for all, as in a broadcast: the waiting is an upper bound."""
    NONE = "none"
    """Not parted: point-to-point, and calls without instances."""


def function_name(function: str) -> str:
    """Return the name of a row's function for a sentence; ``other`` are calls without a row of their own."""
    return "MPI calls that found no room in the profile" if function == "other" else function


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one MPI function, of one class of sizes, communicator size and locality.

    - `size_class` is the upper bound of the power-of-two class, in bytes per rank (per peer in all-to-alls);
      0 for no data.
    - `seconds` is the time in the call; that of waits for non-blocking operations is booked on these.
    - `transfer_s` and `waiting_s` part the time of a collective operation: waiting
      for late ranks is what a rank spends beyond the fastest one in each instance, but no more than another
      one was longer than it between calls. The rest is transfer. `split` says how well.
    - `comm_size` is 0 for waits for operations of several communicators.
    """

    function: Name
    size_class: Count
    comm_size: Annotated[int, msgspec.Meta(ge=0, le=_MOST_RANKS)]
    locality: Locality
    calls: list[Count]
    bytes: list[Count]
    seconds: list[Seconds]
    transfer_s: list[Seconds] = []
    waiting_s: list[Seconds] = []
    split: Split = Split.EXACT

    @property
    def n_bytes(self) -> float:
        """Return the mean size of a call, within its class; the class itself where bytes are not counted."""
        n_calls = sum(self.calls)
        if not n_calls or not sum(self.bytes):
            return float(self.size_class)
        return min(float(self.size_class), max(sum(self.bytes) / n_calls, self.size_class / 2))


class FileCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Calls to files of one operation, such as ``write``, on one file system."""

    operation: Name
    file_system: Name = ""
    path_prefix: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    calls: list[Count] = []
    bytes: list[Count] = []
    seconds: list[Seconds]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The profile of a run.

    - `nodes` is the host of each rank.
    - `wall_s` is from the end of MPI_Init to the beginning of MPI_Finalize.
    - `computation_s` is what is neither in MPI nor in file I/O.
    - `n_kept` and `n_dropped` count the instances of collective operations whose waiting is known, or not.
    - `overhead_s` is the library's own estimate of what it cost.
    """

    version: int
    mpi: Name = ""
    ranks: Annotated[int, msgspec.Meta(ge=1, le=_MOST_RANKS)]
    nodes: list[Name]
    wall_s: list[Seconds]
    computation_s: list[Seconds]
    functions: Annotated[list[Calls], msgspec.Meta(max_length=_MOST_ROWS)] = []
    files: Annotated[list[FileCalls], msgspec.Meta(max_length=_MOST_ROWS)] = []
    n_kept: Count = msgspec.field(default=0, name="instances_kept")
    n_dropped: Count = msgspec.field(default=0, name="instances_dropped")
    overhead_s: list[Seconds] = []
    is_complete: bool = msgspec.field(default=False, name="complete")


def read(folder: Path) -> Profile | str:
    """Return the profile of the attempt in `folder`, or why there is none: ``no profile, because …``."""
    try:
        return parse(SafeFolder(folder, STORED).read(MOST_BYTES))
    except FileNotFoundError:
        return f"no profile, because the run left no {STORED}"
    except UnreadableFile:
        raise
    except OSError as error:
        if error.errno == errno.EFBIG:
            return f"no profile, because {STORED} has more than {MOST_BYTES >> 20} MiB"
        return f"no profile, because {STORED} cannot be read: {error.strerror}"


def parse(content: bytes) -> Profile | str:
    """Return the profile in `content`, or the reason why it is none."""
    try:
        found = decode_json(content, type=Profile)
    except NOT_JSON as error:
        return f"no profile, because {STORED} is damaged: {error}"
    fault = next(_faults(found), "")
    return f"no profile, because {STORED} {fault}" if fault else found


def _faults(found: Profile) -> Iterator[str]:
    if found.version != VERSION:
        yield f"is of version {found.version} of the profile, not {VERSION}"
    if not found.is_complete:
        yield "is not complete: the run ended before MPI_Finalize"
    lists: list[tuple[str, Sequence[object]]] = [
        ("nodes", found.nodes),
        ("wall_s", found.wall_s),
        ("computation_s", found.computation_s),
    ]
    for row in found.functions:
        lists += [(row.function, one) for one in (row.calls, row.bytes, row.seconds)]
        lists += [(row.function, one) for one in (row.transfer_s, row.waiting_s) if one]
    for file in found.files:
        lists += [(file.operation, one) for one in (file.seconds, file.calls, file.bytes) if one]
    for name, numbers in lists:
        if len(numbers) != found.ranks:
            yield f"has {count(len(numbers), 'number')} of {name} for {count(found.ranks, 'rank')}"
    yield from _contradictions(found)


def _contradictions(found: Profile) -> Iterator[str]:
    """Yield what cannot be: parts longer than the whole, or a wait longer than its call."""
    if not all(math.isfinite(one) and one > 0 for one in found.wall_s):
        yield "has a rank that took no time"
    for rank, wall in enumerate(found.wall_s):
        parts = [
            found.computation_s[rank],
            *(row.seconds[rank] for row in found.functions),
            *(row.seconds[rank] for row in found.files),
        ]
        if sum(parts) > wall * (1 + _SLACK) + _SLACK_S:
            yield f"has parts of {sum(parts):.6g} s in rank {rank}, which ran for {wall:.6g} s"
    for row in found.functions:
        for inside, waiting in zip(row.seconds, row.waiting_s, strict=False):
            if waiting > inside * (1 + _SLACK) + _SLACK_S:
                yield f"has a wait of {waiting:.6g} s in {row.function}, which took {inside:.6g} s"
