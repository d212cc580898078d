"""What kind of figure a number is, and of which message sizes a sentence can tell it."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from tare.analysis.table import Cell
from tare.core.units import is_elapsed_unit, seconds_in
from tare.core.values import Scalar
from tare.core.workload import Better

SMALL_MESSAGE_BYTES = 1024
"""Up to this size a message's time is latency: it travels eagerly, in a packet or so."""

LARGE_MESSAGE_BYTES = 64 * 1024
"""From this size on a message's rate is bandwidth: what the link carries outweighs the start-up."""

_DATA_RATE = re.compile(r"(?:[KMGT]i?)?(?:b|B|bits?|[Bb]ytes?)(?:/s|/sec|ps)", re.IGNORECASE)


class Aspect(enum.StrEnum):
    """What kind of figure a number is."""

    LATENCY = "small-message latency"
    BANDWIDTH = "bandwidth"
    TIME = "time"
    RATE = "performance"

    @property
    def better(self) -> Better:
        """Return the direction in which it improves."""
        return Better.LOWER if self in (Aspect.LATENCY, Aspect.TIME) else Better.HIGHER


class Sizes(enum.StrEnum):
    """Of which messages a figure is told, where it was measured at many sizes."""

    ALL = "all"
    SMALL = "small"
    LARGE = "large"


def is_elapsed(unit: str, better: Better | None) -> bool:
    """Return whether a figure of this unit and direction is a time that somebody waits."""
    return better is Better.LOWER and is_elapsed_unit(unit)


def aspect_of(cell: Cell) -> Aspect | None:
    """Return what a cell says of a platform, None where it says two things at once.

    The time of a 32 KiB message is part latency and part bandwidth, so it is neither.
    """
    if cell.better is None:
        return None
    size = dict(cell.at).get("bytes")
    if cell.better is Better.LOWER:
        if isinstance(size, (int, float)):
            return Aspect.LATENCY if size <= SMALL_MESSAGE_BYTES else None
        return Aspect.LATENCY if seconds_in(cell.unit) and not is_elapsed_unit(cell.unit) else Aspect.TIME
    if not _DATA_RATE.fullmatch(cell.unit):
        return Aspect.RATE
    if isinstance(size, (int, float)) and size < LARGE_MESSAGE_BYTES:
        return None
    return Aspect.BANDWIDTH


def parts(cells: Sequence[Cell]) -> list[tuple[Aspect, Sizes, list[Cell]]]:
    """Return what a sentence tells of one figure: of its sizes those that are clear, in parts.

    All cells are one part where every size is told as the same, or where none is.
    """
    grouped: dict[tuple[Aspect, Sizes], list[Cell]] = {}
    for cell in cells:
        aspect = aspect_of(cell)
        if aspect is not None:
            grouped.setdefault((aspect, _sizes_of(cell, aspect)), []).append(cell)
    if not grouped and cells[0].better is not None:  # between latency and bandwidth, but all that there is
        aspect = Aspect.LATENCY if cells[0].better is Better.LOWER else Aspect.BANDWIDTH
        grouped[aspect, Sizes.ALL] = list(cells)
    if sum(map(len, grouped.values())) == len(cells) and len(grouped) == 1:  # every size is told
        ((aspect, _), chosen), *_ = grouped.items()
        grouped = {(aspect, Sizes.ALL): chosen}
    return [(aspect, sizes, chosen) for (aspect, sizes), chosen in grouped.items()]


def _sizes_of(cell: Cell, aspect: Aspect) -> Sizes:
    if not _is_number(dict(cell.at).get("bytes")):
        return Sizes.ALL
    if aspect is Aspect.BANDWIDTH:
        return Sizes.LARGE
    return Sizes.SMALL if aspect is Aspect.LATENCY else Sizes.ALL


def _is_number(value: Scalar | None) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
