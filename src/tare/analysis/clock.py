"""Compute the wall-clock time that several intervals cover together, counting each moment once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Covered:
    """The total time that intervals cover; they may be apart, overlap, or lie inside one another."""

    def __init__(self) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []
        self.seconds = 0.0

    def add(self, begin: float, end: float) -> None:
        """Add the interval from `begin` to `end`, in seconds of one clock; an empty one adds nothing."""
        if end <= begin:
            return
        first = bisect_left(self._ends, begin)
        last = bisect_right(self._begins, end)
        self.seconds -= sum(self._ends[one] - self._begins[one] for one in range(first, last))
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]
        self.seconds += end - begin
