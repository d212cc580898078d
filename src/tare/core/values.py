"""Small value types that the other types of this package are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec

from tare.core.units import parse_bytes

T = TypeVar("T")

Scalar = str | int | float | bool
"""One value of a setting, as a study writes it and as a table shows it."""

Settings = Mapping[str, Scalar]
"""Values by setting name: of a level, of a case as a flat row, or the coordinates of a measurement."""

CaseId = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")]
"""The id of a case. It names a folder, so the pattern excludes ids that lead to another folder."""

MOST_RUNS = 10_000_000
"""The most planned runs that fit in memory; at one second each they take four months."""

Ordinal = Annotated[int, msgspec.Meta(ge=-1_000_000, le=MOST_RUNS)]
"""The number of a block, a session or an attempt."""

LayoutCount = Annotated[int, msgspec.Meta(ge=1, le=10**18)]
"""A number of nodes, ranks or threads, with the most digits that a study may give."""

EARLIEST_S, LATEST_S = -58_000_000_000, 250_000_000_000
"""The range of times that calendars can show, with time to spare: the years 132 to 9892."""

EpochSeconds = Annotated[float, msgspec.Meta(ge=EARLIEST_S, le=LATEST_S)]
"""Seconds since the epoch (time(2)), in a range that calendars can show."""

MOST_FIGURE = 1e60
"""A figure beyond this is no measurement in any unit, and is not read: a ratio with it need not be finite."""

LEAST_FIGURE = 1e-60
"""A figure nearer to 0 than this is no measurement in any unit, and counts as 0: it may have no inverse."""

Figure = Annotated[float, msgspec.Meta(ge=-MOST_FIGURE, le=MOST_FIGURE)]
"""A measured figure of merit."""

Elapsed = Annotated[float, msgspec.Meta(ge=-3_000_000_000, le=3_000_000_000)]
"""A duration in seconds, at most a century; below zero where a clock was set back during it."""


def with_coordinates(settings: Mapping[str, T], coordinates: Mapping[str, T]) -> dict[str, T]:
    """Return settings and coordinates together; a coordinate named like a setting becomes ``at_…``."""
    found = dict(settings)
    for name, value in coordinates.items():
        while name in settings:
            name = f"at_{name}"
        found[name] = value
    return found


def is_written(value: Scalar, text: str) -> bool:
    """Return whether `text` is a way to write `value`: as printed, or another spelling of the same number."""
    if str(value) == text:
        return True
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return False
    try:
        return parse_bytes(text) == value
    except ValueError:
        return _is_number(text, value)


def _is_number(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False
