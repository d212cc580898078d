"""How much of one output is kept: a log that is appended to for ever must not fill the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sized

MOST_FIGURES = 50_000
"""Of one output. The longest real one that is known holds 7310: perftest, a report every 12 s for a day."""


class OutputLimit:
    """The room that a parser has for what it finds, and the lines for which there was none.

    A figure takes one place. What holds none yet, such as a table of which there is only the head, takes some
    too, because a log may be made of nothing else.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._n_taken = 0
        self._n_read = 0
        self._n_left_out = 0

    def take(self, n_places: int = 1) -> None:
        """Take places for something that is kept until the end of the output."""
        self._n_taken += n_places

    def is_full_after(self, read: Sized, rest: Iterable[str]) -> bool:
        """Return whether more was taken than there is; then the `rest` of the lines is counted, not read."""
        self._n_read += len(read)
        if self._n_taken <= self._most:
            return False
        self._n_left_out = sum(1 for _ in rest)
        return True

    @property
    def fault(self) -> str | None:
        """Return what was left out, and the cure; None where everything was read."""
        if not self._n_left_out:
            return None
        n_lines = self._n_read + self._n_left_out
        return (
            f"the output holds more than any run prints, over {self._most} figures with the frames of their "
            f"tables: it was read to line {self._n_read} of {n_lines}, as if it ended there; split it into "
            "files of fewer runs"
        )
