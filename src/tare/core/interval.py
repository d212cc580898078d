"""A number with its interval."""

from __future__ import annotations

import msgspec


class Bounded(msgspec.Struct, frozen=True, gc=False):
    """A value with its interval. An end is None if it is not known (too few blocks) or does not exist."""

    value: float
    low: float | None = None
    high: float | None = None
