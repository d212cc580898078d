"""Classify figures of merit by aspect (latency, bandwidth, time, performance) and by message size.

A sentence in a report covers one aspect and one range of message sizes.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Sequence

from tare.analysis.lines import is_number
from tare.analysis.table import Cell
from tare.core.units import is_elapsed_unit, seconds_in
from tare.core.workload import Better

SMALL_MESSAGE_BYTES = 1024
"""Up to this size, a message's time counts as latency: the message travels eagerly, in a packet or so."""

LARGE_MESSAGE_BYTES = 64 * 1024
"""From this size on, a message's rate counts as bandwidth: the transfer takes longer than the start-up."""

_DATA_RATE = re.compile(r"(?:[KMGT]i?)?(?:b|B|bits?|[Bb]ytes?)(?:/s|/sec|ps)", re.IGNORECASE)


class Aspect(enum.StrEnum):
    """The aspect of performance that a figure of merit measures."""

    LATENCY = "small-message latency"
    BANDWIDTH = "bandwidth"
    TIME = "time"
    RATE = "performance"

    @property
    def better(self) -> Better:
        """Return the direction in which figures of this aspect improve."""
        return Better.LOWER if self in (Aspect.LATENCY, Aspect.TIME) else Better.HIGHER


class Sizes(enum.StrEnum):
    """The range of message sizes that a sentence covers, for a figure that was measured at many sizes."""

    ALL = "all"
    SMALL = "small"
    LARGE = "large"


def is_elapsed(unit: str, better: Better | None) -> bool:
    """Return whether a figure with this unit and direction is an elapsed time, which somebody waits for."""
    return better is Better.LOWER and is_elapsed_unit(unit)


def aspect_of(cell: Cell) -> Aspect | None:
    """Return the aspect that a cell measures; None where it has no direction or mixes two aspects.

    The time of a 32 KiB message, for example, is partly latency and partly bandwidth, so it has neither
    aspect.
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


def has_data_rate(cells: Iterable[Cell]) -> bool:
    """Return whether any of the cells is a data rate of messages of some size."""
    return any(
        one.better is Better.HIGHER and _DATA_RATE.fullmatch(one.unit) and _size(one) is not None
        for one in cells
    )


def parts(cells: Sequence[Cell]) -> list[tuple[Aspect, Sizes, list[Cell]]]:
    """Split the cells of one figure into the parts that a sentence reports: (aspect, sizes, cells).

    Cells without a clear aspect are left out. If no cell has a clear aspect, or if all cells share one, then
    all cells form a single part with `Sizes.ALL`.
    """
    return _parts(cells, aspect_of)


def parts_without_rate(cells: Sequence[Cell]) -> list[tuple[Aspect, Sizes, list[Cell]]]:
    """Split as `parts` does, where no bandwidth tells of large messages: their times form a part, too."""
    return _parts(cells, _aspect_without_rate)


def _aspect_without_rate(cell: Cell) -> Aspect | None:
    size = _size(cell)
    if cell.better is Better.LOWER and size is not None and size >= LARGE_MESSAGE_BYTES:
        return Aspect.TIME
    return aspect_of(cell)


def _size(cell: Cell) -> float | None:
    size = dict(cell.at).get("bytes")
    return size if is_number(size) else None


def _parts(
    cells: Sequence[Cell], aspect_of_cell: Callable[[Cell], Aspect | None]
) -> list[tuple[Aspect, Sizes, list[Cell]]]:
    grouped: dict[tuple[Aspect, Sizes], list[Cell]] = {}
    for cell in cells:
        aspect = aspect_of_cell(cell)
        if aspect is not None:
            grouped.setdefault((aspect, _sizes_of(cell, aspect)), []).append(cell)
    if not grouped and cells[0].better is not None:  # all sizes are in between
        aspect = Aspect.LATENCY if cells[0].better is Better.LOWER else Aspect.BANDWIDTH
        grouped[aspect, Sizes.ALL] = list(cells)
    if sum(map(len, grouped.values())) == len(cells) and len(grouped) == 1:  # every size is covered
        ((aspect, _), chosen), *_ = grouped.items()
        grouped = {(aspect, Sizes.ALL): chosen}
    return [(aspect, sizes, chosen) for (aspect, sizes), chosen in grouped.items()]


def _sizes_of(cell: Cell, aspect: Aspect) -> Sizes:
    if not is_number(dict(cell.at).get("bytes")):
        return Sizes.ALL
    if aspect in (Aspect.BANDWIDTH, Aspect.TIME):
        return Sizes.LARGE
    return Sizes.SMALL if aspect is Aspect.LATENCY else Sizes.ALL
