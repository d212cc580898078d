"""Small values that the other nouns are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from tare.core.units import parse_bytes

Scalar = str | int | float | bool
"""One value of a setting, as a study writes it and as a table shows it."""

Settings = Mapping[str, Scalar]
"""Setting names to values: a level, a case seen flat, the coordinates of a measurement."""

CaseId = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")]
"""The id of a case. It names a folder, so no file that is read may hold one that leads elsewhere."""

Ordinal = Annotated[int, msgspec.Meta(ge=-1_000_000, le=1_000_000_000)]
"""The number of a block, a session or an attempt."""

EpochSeconds = Annotated[float, msgspec.Meta(ge=-58_000_000_000, le=250_000_000_000)]
"""Seconds since the epoch (time(2)), which calendars can show, also after a while from then."""

Elapsed = Annotated[float, msgspec.Meta(ge=-3_000_000_000, le=3_000_000_000)]
"""Seconds that something took, no more than a century; below zero where a clock was set back meanwhile."""


def is_written(value: Scalar, text: str) -> bool:
    """Return whether `text` writes `value`: as it is printed, or as another spelling of the same number."""
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
