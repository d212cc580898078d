"""Find messages in a log that report an aborted or killed run: those of MPI libraries and schedulers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.plugins.workloads.common.text import aborts, plain

_ABORT = re.compile(
    r"""BAD\ TERMINATION\ OF\ ONE\ OF\ YOUR\ APPLICATION\ PROCESSES  # Hydra
      | \b(?:mpirun|mpiexec|prterun)\b.*\ noticed\ that\ process\ rank  # Open MPI, PRRTE
      | \bexited\ on\ signal\ [0-9]
      | \bforrtl:\ (?:severe|error)                                  # Intel Fortran run time
      | Program\ received\ signal\ SIG                               # GNU Fortran run time
    """,
    re.VERBOSE,
)
_KILL = re.compile(
    r"""\*\*\*\ .*\ CANCELLED\ AT\b   # slurmstepd
      | \bDUE\ TO\ TIME\ LIMIT\b
      | \boom[-_]kill
      | \bjob\.exception\ type=       # Flux
      | \bSegmentation\ fault\b
      | \bBus\ error\b
      | \bKilled$
    """,
    re.VERBOSE,
)


_ABORT_WORDS = ("MPI_A", "TERMINATION", "signal ", "forrtl")
_KILL_WORDS = (
    "CANCELLED", "TIME LIMIT", "kill", "exception type=", "Segmentation fault", "Bus error", "Killed",
)  # fmt: skip
"""Every line that matches a pattern above contains one of these words, so other lines are skipped quickly."""


class AbortMessage:
    """The first abort message and the first kill message of a log, if there are any.

    An abort message is always a problem. A kill message may belong to another job step, so it is reported
    only to explain why an output is not complete.
    """

    def __init__(self) -> None:
        self._abort = ""
        self._kill = ""

    def watch(self, batch: list[str], text: str) -> None:
        """Record the abort and kill messages among the lines of `batch`.

        `text` is the batch as one string. Such messages are rare: a batch without their words is skipped.
        """
        sought = (() if self._abort else _ABORT_WORDS) + (() if self._kill else _KILL_WORDS)
        if words := [word for word in sought if word in text]:
            for line in batch:
                if any(word in line for word in words):
                    for part in plain([line]):
                        self.read(part)

    def read(self, line: str) -> None:
        """Record `line` if it is the first abort message or the first kill message."""
        if any(word in line for word in _ABORT_WORDS):
            if not self._abort and (aborts(line) or _ABORT.search(line)):
                self._abort = line.strip()[:200]
        elif not self._kill and any(word in line for word in _KILL_WORDS) and _KILL.search(line):
            self._kill = line.strip()[:200]

    def problems(self, *, is_complete: bool) -> Iterator[str]:
        """Yield the recorded messages as problems of an output."""
        if self._abort:
            yield f"the run was aborted: {self._abort}"
        if self._kill and not is_complete:
            yield f"the run was ended from outside: {self._kill}"
