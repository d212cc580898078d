"""Find programs that fail in the same way every time, so that no more of their runs begin.

A program is stopped after all its runs in a whole block failed alike. A program that could not be started is
stopped after one run. This replaces the rehearsal where Tare does not look for programs before the first run:
in containers, in pods and under Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tare.core.attempt import Attempt, State
from tare.core.case import Case

_LEAST = 2
"""How many runs must have failed alike; a single failure may be an accident."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+|\b[\w.-]*\d[\w.-]*\b")
"""The parts of a reason that differ between failures of one kind: ranks, hosts, addresses, process ids."""

Program = tuple[str, str, bool]
"""A workload, a platform, and whether the profiling library is loaded into it."""


class StoppedPrograms:
    """The programs of which no more runs begin, according to the results of their runs so far.

    Only settled failures count, and only if no measured run of the program ended in another state. `started`
    gives the programs that each case starts, by case id. If one of these could not be started, no case of
    this workload and platform that starts it begins. If `started` is empty, such runs count as other failures
    do.
    """

    def __init__(self, cases: Mapping[str, Case], started: Mapping[str, Sequence[str]] | None = None) -> None:
        self._cases = cases
        self._started = started or {}
        self._unstarted: dict[Program, dict[str, str]] = {}
        self._failed: dict[Program, dict[int, set[str]]] = {}
        self._reasons: dict[Program, list[str]] = {}
        self._not_failed: set[Program] = set()
        self._reported: set[Program] = set()

    def take(self, attempt: Attempt, *, is_settled: bool) -> None:
        """Add the result of an attempt."""
        case = self._cases.get(attempt.case)
        if case is None or not is_settled:
            return
        program = _program(case)
        for name in self._started.get(case.id, ()) if attempt.state is State.FAILED else ():
            if re.search(rf"(?:^|[\s:])(?:\S*/)?{re.escape(name)} could not be started: ", attempt.reason):
                self._unstarted.setdefault(program, {}).setdefault(name, attempt.reason)
        if attempt.block < 1:
            return
        if attempt.state is not State.FAILED:
            self._not_failed.add(program)
            return
        self._failed.setdefault(program, {}).setdefault(attempt.block, set()).add(case.id)
        self._reasons.setdefault(program, []).append(attempt.reason)

    def is_stopped(self, case: Case) -> bool:
        """Return whether no more runs of `case` begin.

        Its program could not be started, or all its runs failed alike in at least one whole block.
        """
        program = _program(case)
        reasons = self._reasons.get(program, [])
        if self._start_failure(case):
            return True
        if program in self._not_failed or len(reasons) < _LEAST or len(set(map(_kind, reasons))) > 1:
            return False
        own = {one.id for one in self._cases.values() if _program(one) == program}
        return any(own <= failed for failed in self._failed[program].values())

    def _start_failure(self, case: Case) -> str:
        """Return why a program of `case` could not be started earlier; empty if that did not happen."""
        program = _program(case)
        found = self._unstarted.get(program, {}) if program not in self._not_failed else {}
        return next((found[name] for name in self._started.get(case.id, ()) if name in found), "")

    def newly_stopped(self, cases: Iterable[Case]) -> list[str]:
        """Return a sentence for each stopped program of `cases` that was not reported yet."""
        sentences = []
        for case in cases:
            program = _program(case)
            if program not in self._reported and self.is_stopped(case):
                self._reported.add(program)
                if why := self._start_failure(case):
                    sentences.append(
                        f"{case.workload} could not be started on platform {case.platform}, so that no more "
                        f"of its runs begin: {why}; tare run --no-rehearsal runs all the same"
                    )
                    continue
                reasons = self._reasons[program]
                profiled = "profiled " if case.profile_of else ""
                sentences.append(
                    f"all {len(reasons)} {profiled}runs of {case.workload} on platform {case.platform} "
                    f"failed in the same way, so that no more of them begin: {reasons[0]}"
                )
        return sentences


def _program(case: Case) -> Program:
    return case.workload, case.platform, case.profile_of is not None


def _kind(reason: str) -> str:
    return _NUMBERS.sub("#", reason)
