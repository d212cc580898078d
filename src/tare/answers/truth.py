"""Kleene's logic of three values: what can be said when some of it is not known.

S. C. Kleene, "Introduction to Metamathematics" (1952), § 64. A statement that is not known may yet turn out
either way, so what follows from it is known only where both ways lead to the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Truth(enum.Enum):
    """Whether a statement holds, as far as the evidence tells."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


def inverse(one: Truth) -> Truth:
    """Return whether `one` does not hold."""
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE, Truth.UNKNOWN: Truth.UNKNOWN}[one]


def every(truths: Iterable[Truth]) -> Truth:
    """Return whether all of `truths` hold: false where one is false, whatever is not known of the rest."""
    found = set(truths)
    if Truth.FALSE in found:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in found else Truth.TRUE


def some(truths: Iterable[Truth]) -> Truth:
    """Return whether any of `truths` holds: true where one is true, whatever is not known of the rest."""
    return inverse(every(inverse(one) for one in truths))
