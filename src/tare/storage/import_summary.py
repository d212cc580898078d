"""What is known about a file to import, and where each setting comes from."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from tare.core.case import LAYOUT
from tare.core.values import Scalar, Settings
from tare.storage.trees import natural

_NO_SETTINGS = frozenset({"mtu", "processors", "connection", "thread_mpi_ranks"})
"""Values that programs print and that follow from the platform or other settings: these are not settings."""


class Origin(enum.StrEnum):
    """Where a setting comes from."""

    SET = "told by --set"
    PATTERN = "told by the path"
    TABLE = "told by the table"
    PRINTED = "printed by the program"
    INFERRED = "inferred from the others"
    UNKNOWN = "unknown"


class Understood(NamedTuple):
    """The settings of one file, and the origin of each."""

    settings: dict[str, Scalar]
    origins: dict[str, Origin]


def understand(
    given: Settings, origins: Mapping[str, Origin], printed: Mapping[str, tuple[Scalar, ...]]
) -> Understood:
    """Return the settings of a file: those given, those its program printed, and those that follow from both.

    A printed name with several values is not a setting of the whole file: its figures carry it as a
    coordinate. Two of nodes, ranks and ranks per node give the third, where the division has no remainder.
    Nothing else is invented.
    """
    settings, found = dict(given), dict(origins)
    for name, values in printed.items():
        if len(values) == 1 and name not in settings and name not in _NO_SETTINGS:
            settings[name], found[name] = values[0], Origin.PRINTED
    for name, value in _following(settings):
        settings[name], found[name] = value, Origin.INFERRED
    found |= {name: Origin.UNKNOWN for name in LAYOUT if name not in settings}
    return Understood(settings, found)


def _following(settings: Settings) -> Iterable[tuple[str, int]]:
    """Yield the third of nodes, ranks and ranks per node, where two are known and determine it."""
    nodes, ranks, per_node = (settings.get(name) for name in ("nodes", "ranks", "ranks_per_node"))
    if isinstance(nodes, int) and isinstance(ranks, int) and per_node is None:
        yield from [("ranks_per_node", ranks // nodes)] if nodes and ranks and ranks % nodes == 0 else []
    elif isinstance(nodes, int) and isinstance(per_node, int) and ranks is None:
        yield "ranks", nodes * per_node
    elif isinstance(ranks, int) and isinstance(per_node, int) and nodes is None:
        yield from [("nodes", ranks // per_node)] if per_node and ranks and ranks % per_node == 0 else []


class Summary(msgspec.Struct, frozen=True):
    """A setting that comes from one origin in several files: its distinct values, and the number of files."""

    setting: str
    origin: Origin
    values: tuple[Scalar, ...]
    n_files: int


def summarised(files: Iterable[Understood]) -> list[Summary]:
    """Return every setting, also unknown ones, with its origin and values; layout settings come first."""
    values: dict[tuple[str, Origin], dict[Scalar, None]] = {}
    counts: dict[tuple[str, Origin], int] = {}
    for one in files:
        for name, origin in one.origins.items():
            known = values.setdefault((name, origin), {})
            counts[name, origin] = counts.get((name, origin), 0) + 1
            if name in one.settings:
                known.setdefault(one.settings[name])
    return [
        Summary(name, origin, tuple(sorted(known, key=lambda one: natural(str(one)))), counts[name, origin])
        for (name, origin), known in sorted(values.items(), key=lambda item: _order_of(*item[0]))
    ]


def _order_of(name: str, origin: Origin) -> tuple[int, str, int]:
    order = (*LAYOUT, "platform", "network", "storage", "io")
    return (order.index(name) if name in order else len(order), name, list(Origin).index(origin))
