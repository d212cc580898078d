"""Programs that fail each time in the same way: after a whole block of that, no more of their runs begin.

Of one that could not even be started, the first run tells enough: it is the rehearsal of what is looked for
nowhere else, as in containers, in pods and under Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tare.core.attempt import Attempt, State
from tare.core.case import Case

_LEAST = 2
"""How many runs must have failed alike: one may be an accident."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+|\b[\w.-]*\d[\w.-]*\b")
"""What differs between failures of one kind: ranks, hosts, addresses, process ids."""

Program = tuple[str, str]
"""A workload and a platform."""


class Stopped:
    """The programs of which no more runs begin, by what became of their runs so far.

    Only runs that settled as failed count, and only where no run of the program ever did anything else.
    `started` names what each case starts, by its id: where one of these could not be started, no case that
    starts the same begins. Empty, such runs are failures as others.
    """

    def __init__(self, cases: Mapping[str, Case], started: Mapping[str, Sequence[str]] | None = None) -> None:
        self._cases = cases
        self._started = started or {}
        self._unstarted: dict[Program, dict[str, str]] = {}
        self._failed: dict[Program, dict[int, set[str]]] = {}
        self._reasons: dict[Program, list[str]] = {}
        self._alive: set[Program] = set()
        self._told: set[Program] = set()

    def take(self, attempt: Attempt, *, is_settled: bool) -> None:
        """Take in what came of an attempt."""
        case = self._cases.get(attempt.case)
        if case is None or not is_settled:
            return
        program = (case.workload, case.platform)
        for name in self._started.get(case.id, ()) if attempt.state is State.FAILED else ():
            if re.search(rf"(?:^|[\s:])(?:\S*/)?{re.escape(name)} could not be started: ", attempt.reason):
                self._unstarted.setdefault(program, {}).setdefault(name, attempt.reason)
        if attempt.block < 1:
            return
        if attempt.state is not State.FAILED:
            self._alive.add(program)
            return
        self._failed.setdefault(program, {}).setdefault(attempt.block, set()).add(case.id)
        self._reasons.setdefault(program, []).append(attempt.reason)

    def is_stopped(self, case: Case) -> bool:
        """Return whether every run of the program of `case` failed alike, in a whole block at least."""
        program = (case.workload, case.platform)
        reasons = self._reasons.get(program, [])
        if self._lacking(case):
            return True
        if program in self._alive or len(reasons) < _LEAST or len(set(map(_kind, reasons))) > 1:
            return False
        own = {one.id for one in self._cases.values() if (one.workload, one.platform) == program}
        return any(own <= failed for failed in self._failed[program].values())

    def _lacking(self, case: Case) -> str:
        """Return why what `case` starts could not be started before; empty where that is not known."""
        program = (case.workload, case.platform)
        found = self._unstarted.get(program, {}) if program not in self._alive else {}
        return next((found[name] for name in self._started.get(case.id, ()) if name in found), "")

    def news(self, cases: Iterable[Case]) -> list[str]:
        """Return a sentence for each program of `cases` that is stopped and was not told yet."""
        said = []
        for case in cases:
            program = (case.workload, case.platform)
            if program not in self._told and self.is_stopped(case):
                self._told.add(program)
                if why := self._lacking(case):
                    said.append(
                        f"{case.workload} could not be started on platform {case.platform}, so that no more "
                        f"of its runs begin: {why}; tare run --no-rehearsal runs all the same"
                    )
                    continue
                reasons = self._reasons[program]
                said.append(
                    f"all {len(reasons)} runs of {case.workload} on platform {case.platform} failed in the "
                    f"same way, so that no more of them begin: {reasons[0]}"
                )
        return said


def _kind(reason: str) -> str:
    return _NUMBERS.sub("#", reason)
