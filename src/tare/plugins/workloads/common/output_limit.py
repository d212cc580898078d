"""Limit how much of one output a parser keeps, so that an ever-growing log cannot fill the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sized

MOST_FIGURES = 50_000
"""Limit for one output. The longest known real one has 7310: perftest, a report every 12 s for a day."""


class OutputLimit:
    """A limit on the number of figures that a parser keeps, and a count of the lines that it did not read.

    Each figure counts as one. Objects without figures, such as a table with only a head, count too,
    because a log may contain nothing else.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._n_taken = 0
        self._n_read = 0
        self._n_left_out = 0

    def take(self, n_figures: int = 1) -> None:
        """Count `n_figures` for something that is kept until the end of the output."""
        self._n_taken += n_figures

    def is_full_after(self, read: Sized, rest: Iterable[str]) -> bool:
        """Return whether the limit is exceeded after the lines `read`; if so, only count those of `rest`."""
        self._n_read += len(read)
        if self._n_taken <= self._most:
            return False
        self._n_left_out = sum(1 for _ in rest)
        return True

    @property
    def fault(self) -> str | None:
        """Return a message about the lines left out, with the cure; None if everything was read."""
        if not self._n_left_out:
            return None
        n_lines = self._n_read + self._n_left_out
        return (
            f"the output holds more than any run prints, over {self._most} figures with the frames of their "
            f"tables: it was read to line {self._n_read} of {n_lines}, as if it ended there; split it into "
            "files of fewer runs"
        )
