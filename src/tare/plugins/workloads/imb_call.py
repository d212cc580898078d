"""Read the command line of IMB, which it prints before its tables (``# Calling sequence was:``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_OTHER_SIZES = frozenset(
    {"-msglen", "-msgsize", "-input", "-load", "-data_type", "-red_data_type", "-contig_type"}
)
"""Options after which the sizes do not double from the one that -msglog begins with."""


class Call:
    """The words of the command line, as far as they were read; IMB wraps long ones over several lines."""

    def __init__(self) -> None:
        """Create a call without words; its options are unknown until `read` was called."""
        self._words: list[str] = []
        self._is_known = False

    def read(self, text: str) -> None:
        """Add the words of a line."""
        self._is_known = True
        self._words += text.split()

    @property
    def mode(self) -> str | None:
        """Return the mode of transfer that it asks for, as tables print it; None if it asks for none."""
        mode = _value(self._words, "-aggregate_mode")
        return mode.upper().replace("_", "-") if mode else None

    @property
    def least_bytes(self) -> int | None:
        """Return the size of the smallest message that is not empty; None if it is not known."""
        if not self._is_known or not _OTHER_SIZES.isdisjoint(self._words):
            return None
        least, colon, _ = (_value(self._words, "-msglog") or "").partition(":")
        if not colon:
            return 1
        return 1 << int(least) if least.isdecimal() and len(least) < 3 else None


def _value(words: Sequence[str], option: str) -> str | None:
    """Return the word after the first `option`, which is the one that counts; None without it."""
    return next((value for word, value in pairwise(words) if word == option), None)
