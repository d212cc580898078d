"""A number and how surely it is known."""

from __future__ import annotations

import msgspec


class Bounded(msgspec.Struct, frozen=True, gc=False):
    """A value with its interval. An end that is None is not known: too few blocks, or no such end."""

    value: float
    low: float | None = None
    high: float | None = None
