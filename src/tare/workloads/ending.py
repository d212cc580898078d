"""How logs say that a run came to a bad end: the words of MPI libraries and of schedulers."""

from __future__ import annotations

import re

from tare.workloads.benchmark import Findings
from tare.workloads.text import aborts

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


class Ending:
    """What a log says about a bad end, if anything.

    An abort is a problem whatever else the log holds. Words about a kill may be those of another job
    step, so they only explain why an output is not complete.
    """

    def __init__(self) -> None:
        self._abort = ""
        self._kill = ""

    def read(self, line: str) -> None:
        """Take in a line of the log."""
        if "MPI_A" in line or "TERMINATION" in line or "signal" in line or "forrtl" in line:
            is_abort = aborts(line) or _ABORT.search(line)
            self._abort = self._abort or (line.strip()[:200] if is_abort else "")
        elif (
            "CANCEL" in line or "LIMIT" in line or "kill" in line or "Kill" in line or "fault" in line
            or "exception" in line or "Bus" in line
        ):  # fmt: skip
            self._kill = self._kill or (line.strip()[:200] if _KILL.search(line) else "")

    def report(self, findings: Findings, *, is_complete: bool) -> None:
        """Add what was read to `findings`."""
        if self._abort:
            findings.problem(f"the run was aborted: {self._abort}")
        if self._kill and not is_complete:
            findings.problem(f"the run was ended from outside: {self._kill}")
