"""Kleene's logic of three values: what can be said when some of it is not known.

S. C. Kleene, "Introduction to Metamathematics" (1952), § 64. A statement that is not known may yet turn out
either way, so what follows from it is known only where both ways lead to the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Ternary(enum.Enum):
    """Whether a statement holds, as far as the evidence tells."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


def inverse(one: Ternary) -> Ternary:
    """Return whether `one` does not hold."""
    return {Ternary.TRUE: Ternary.FALSE, Ternary.FALSE: Ternary.TRUE, Ternary.UNKNOWN: Ternary.UNKNOWN}[one]


def every(truths: Iterable[Ternary]) -> Ternary:
    """Return whether all of `truths` hold: false where one is false, whatever is not known of the rest."""
    found = set(truths)
    if Ternary.FALSE in found:
        return Ternary.FALSE
    return Ternary.UNKNOWN if Ternary.UNKNOWN in found else Ternary.TRUE


def some(truths: Iterable[Ternary]) -> Ternary:
    """Return whether any of `truths` holds: true where one is true, whatever is not known of the rest."""
    return inverse(every(inverse(one) for one in truths))
