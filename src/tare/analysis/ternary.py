"""Implement Kleene's three-valued logic, for statements that may be unknown.

S. C. Kleene, "Introduction to Metamathematics" (1952), § 64. An unknown statement may turn out true or false.
So a conclusion from it is known only where both lead to the same result.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Ternary(enum.Enum):
    """Whether a statement holds, as far as the evidence shows."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


def inverse(one: Ternary) -> Ternary:
    """Return whether `one` does not hold."""
    return {Ternary.TRUE: Ternary.FALSE, Ternary.FALSE: Ternary.TRUE, Ternary.UNKNOWN: Ternary.UNKNOWN}[one]


def every(truths: Iterable[Ternary]) -> Ternary:
    """Return whether all of `truths` hold: false if any is false, even if others are unknown."""
    found = set(truths)
    if Ternary.FALSE in found:
        return Ternary.FALSE
    return Ternary.UNKNOWN if Ternary.UNKNOWN in found else Ternary.TRUE


def some(truths: Iterable[Ternary]) -> Ternary:
    """Return whether any of `truths` holds: true if any is true, even if others are unknown."""
    return inverse(every(inverse(one) for one in truths))
