"""A number with its interval."""

from __future__ import annotations

import msgspec


class Bounded(msgspec.Struct, frozen=True, gc=False):
    """A value with its interval. An end is None if it is not known (too few blocks) or does not exist."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, low: float, high: float) -> Bounded:
        """Return a value with its interval; an end that is NaN does not exist."""
        return cls(value, None if low != low else low, None if high != high else high)

    def times(self, factor: float) -> Bounded:
        """Return it in another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Bounded(self.value * factor, low, high)
