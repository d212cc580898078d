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

    def __add__(self, other: Bounded) -> Bounded:
        """Return the sum; its interval is as wide as both together."""
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Bounded(self.value + other.value, low, high)

    def over(self, other: Bounded) -> Bounded:
        """Return the quotient by a positive number; its interval holds those of all pairs of ends."""
        if None in (self.low, self.high, other.low, other.high):
            return Bounded(self.value / other.value)
        ends = [a / b for a in (self.low, self.high) for b in (other.low, other.high) if a is not None and b]
        return Bounded(self.value / other.value, min(ends), max(ends))

    def times(self, factor: float) -> Bounded:
        """Return it in another unit."""
        low, high = (None if end is None else end * factor for end in (self.low, self.high))
        return Bounded(self.value * factor, low, high)
