"""Check figures of one row against each other, as far as their printed digits allow.

A rate × its time is what was moved, and a rate × its message size is a bandwidth. A row or a head that says
otherwise lost digits, is of two rows, or has another unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, Self

_SLACK = 1e-6
"""Programs calculate in floating point, some in single precision."""


class Rounded(NamedTuple):
    """The least and the most that a printed figure may have been before it was rounded."""

    least: float
    most: float

    def times(self, other: Rounded) -> Rounded:
        """Return the product of two figures that are not negative."""
        return Rounded(self.least * other.least, self.most * other.most)

    def scaled(self, factor: float) -> Self:
        """Return it in another unit, of which one of its own has `factor`."""
        return self._replace(least=self.least * factor, most=self.most * factor)

    def may_be(self, value: float) -> bool:
        """Return whether it may have been `value`."""
        return self.least * (1 - _SLACK) <= value <= self.most * (1 + _SLACK)

    def overlaps(self, other: Rounded) -> bool:
        """Return whether both may have been the same figure."""
        return self.least * (1 - _SLACK) <= other.most and other.least * (1 - _SLACK) <= self.most


def rounded(printed: str) -> Rounded | None:
    """Return what `printed` may stand for: half a unit of its last digit more or less; None if no number."""
    try:
        number = Decimal(printed)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or number < 0:
        return None
    half = Decimal((0, (5,), exponent - 1))
    return Rounded(max(float(number - half), 0.0), float(number + half))


def have_common(figures: Iterable[Rounded]) -> bool:
    """Return whether all may have been the same figure."""
    every = [*figures]
    least, most = (max(one.least for one in every), min(one.most for one in every)) if every else (0.0, 0.0)
    return least * (1 - _SLACK) <= most
