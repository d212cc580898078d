"""How logs say that a run came to a bad end: the words of MPI libraries and of schedulers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from tare.plugins.workloads.common.benchmark import Findings
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
"""One of these words is in every line that matches."""
_BATCH = 256
"""How many lines are looked through for words at once."""


class AbortMessage:
    """What a log says about a bad end, if anything.

    An abort is a problem whatever else the log holds. Words about a kill may be those of another job
    step, so they only explain why an output is not complete.
    """

    def __init__(self) -> None:
        self._abort = ""
        self._kill = ""

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of a log as they are, and take in those that speak of an end."""
        source = iter(lines)
        while batch := list(islice(source, _BATCH)):
            self.look(batch, "".join(batch))
            yield from batch

    def look(self, batch: list[str], text: str) -> None:
        """Take in those of a log's lines that speak of an end; `text` is all of them together.

        Few do, so that a batch without any of the words goes by unread.
        """
        sought = (() if self._abort else _ABORT_WORDS) + (() if self._kill else _KILL_WORDS)
        if words := [word for word in sought if word in text]:
            for line in batch:
                if any(word in line for word in words):
                    for part in plain([line]):
                        self.read(part)

    def read(self, line: str) -> None:
        """Take in a line of the log."""
        if any(word in line for word in _ABORT_WORDS):
            if not self._abort and (aborts(line) or _ABORT.search(line)):
                self._abort = line.strip()[:200]
        elif not self._kill and any(word in line for word in _KILL_WORDS) and _KILL.search(line):
            self._kill = line.strip()[:200]

    def report(self, findings: Findings, *, is_complete: bool) -> None:
        """Add what was read to `findings`."""
        if self._abort:
            findings.problem(f"the run was aborted: {self._abort}")
        if self._kill and not is_complete:
            findings.problem(f"the run was ended from outside: {self._kill}")
