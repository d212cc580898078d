"""The figures that a program prints without a value, such as times of 0.00, and why they are not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tare.core.values import Scalar

_MOST_KINDS = 100
"""How many pairs of a figure and a reason are kept; a parser knows fewer."""


ZERO = "it is printed as zero: it is too small for its decimals, or nothing was measured"
UNKNOWN_COLUMN = "this version of Tare does not know what it is"
UNFINISHED = "its run did not come to its end, and another one follows in the output"


def too_small(printed: str) -> str:
    """Return why a figure that is printed as zero, such as ``0.00``, is no measurement."""
    return f"it is printed as {printed}, which only says that it is too small for its decimals"


def where(at: Mapping[str, Scalar]) -> str:
    """Return coordinates in words: `` at bytes 8 at ranks 4``."""
    return "".join(f" at {name} {coordinate}" for name, coordinate in at.items())


class LeftOut:
    """Counts such figures, and remembers the first place of each kind."""

    def __init__(self) -> None:
        """Create an empty count."""
        self._first: dict[tuple[str, str], str] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, fom: str, why: str, at: Mapping[str, Scalar]) -> None:
        """Count the figure `fom` with the coordinates `at`."""
        kind = fom, why
        if kind not in self._counts:
            if len(self._counts) >= _MOST_KINDS:
                return
            self._first[kind], self._counts[kind] = where(at), 0
        self._counts[kind] += 1

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each figure and reason: which one it is, where, and why it is left out."""
        for (fom, why), first in self._first.items():
            others = self._counts[fom, why] - 1
            more = f" and {others} further place{'s' if others > 1 else ''}" if others else ""
            yield f"{fom} is left out{first}{more}: {why}"
