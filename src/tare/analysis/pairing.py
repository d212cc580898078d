"""Decide which runs a session has to make, so that compared cases run together.

`Outstanding` takes the attempts of a campaign and returns, for each block, the cases that are still to run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tare.analysis.lines import cases_by_workload, lines, wanted_scalings
from tare.core.attempt import Attempt, State
from tare.core.case import Pass, Run
from tare.core.plan import Plan


class Passing(NamedTuple):
    """The cases of a block that a session runs, in order, and those of them that succeeded before (`again`).

    `parted` is the subset of `again` that succeeded in one session with the cases they are compared with, but
    with an interruption in between, such as a night (see `tare.analysis.trust.interrupted_blocks`).
    """

    order: list[str]
    again: list[str]
    parted: list[str]


class _Result(NamedTuple):
    is_settled: bool
    is_done: bool
    part: int = 0


def compared(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the pairs of cases that are compared, the reference first.

    These are each contender with its reference, and each scale with the smallest scale of its line.
    """
    found: dict[tuple[str, str], None] = {}
    for case in plan.cases:
        reference = plan.reference_of(case)
        if reference is not None:
            found[reference.id, case.id] = None
    for alike in cases_by_workload(plan).values():
        for kind, names in wanted_scalings(plan):
            for line in lines(alike, kind, names):
                (_, base), *larger = line.cases
                found |= dict.fromkeys((base.id, case.id) for _, case in larger)
    return tuple(found)


class Outstanding:
    """Decides for each block what session `session` still has to run, updated with each attempt.

    A run with a settled result is repeated for one reason only: a run that is still to be made must run
    together with the cases it is compared with. So if one side of a pair runs in this session, and the two
    sides have not both succeeded in any one session, then the other side runs once more. If an interruption
    within the block, such as a night, separated the two sides, then the next session repeats both. `promised`
    are the cases that an earlier pass was to repeat; those that it did not reach are still to run. Warm-up
    runs (block 0 and below) are due in every session.
    """

    def __init__(
        self, plan: Plan, session: int, promised: Mapping[Pass, Collection[str]] | None = None
    ) -> None:
        self._session = session
        self._compared = compared(plan)
        self._results: dict[Run, dict[int, _Result]] = {}
        self._promised: dict[int, tuple[int, Collection[str]]] = {}
        for one, cases in sorted((promised or {}).items()):
            self._promised[one.block] = (one.session, cases)

    def take(self, attempt: Attempt, *, is_settled: bool) -> None:
        """Add the result of an attempt; `is_settled` says that its run needs no further attempt."""
        result = _Result(is_settled, attempt.state is State.DONE, attempt.part)
        self._keep(Run(attempt.block, attempt.case), attempt.session, result)

    def take_under_way(self, run: Run, session: int) -> None:
        """Add an attempt that has not ended yet; it is expected to succeed."""
        self._keep(run, session, _Result(is_settled=True, is_done=True))

    def is_settled_now(self, run: Run) -> bool:
        """Return whether the present session has a settled result for `run`."""
        result = self._results.get(run, {}).get(self._session)
        return result is not None and result.is_settled

    def of_block(self, block: int, cases: Sequence[str]) -> Passing:
        """Return which of `cases` are still to run in `block`, in their order."""
        left = {case for case in cases if self._is_left(Run(block, case))}
        parted = self._parted(block, frozenset(cases)) - left if block >= 1 else set()
        left |= parted
        if block >= 1 and left:
            self._add_partners(block, left, frozenset(cases))
        order = [case for case in cases if case in left]
        again = [case for case in order if block >= 1 and self._is_well(Run(block, case))]
        return Passing(order, again, [case for case in again if case in parted])

    def _keep(self, run: Run, session: int, result: _Result) -> None:
        by_session = self._results.setdefault(run, {})
        by_session.pop(session, None)  # so that the latest session comes last
        by_session[session] = result

    def _is_left(self, run: Run) -> bool:
        by_session = self._results.get(run, {})
        if run.block < 1:
            return not self.is_settled_now(run)
        if not by_session or not next(reversed(by_session.values())).is_settled:
            return True
        session, promised = self._promised.get(run.block, (0, ()))
        return run.case in promised and not any(
            result.is_settled for number, result in by_session.items() if number >= session
        )

    def _parted(self, block: int, cases: frozenset[str]) -> set[str]:
        """Return the cases of pairs whose sides both succeeded in one session, but not together."""
        found: set[str] = set()
        for pair in self._compared:
            runs = [Run(block, case) for case in pair]
            if cases >= set(pair) and all(map(self._may_run_again, runs)) and self._is_parted(runs):
                found.update(pair)
        return found

    def _is_parted(self, runs: Sequence[Run]) -> bool:
        latest = [next(reversed(self._results[run].values())) for run in runs]
        sessions = [{session for session, _ in self._passes_of(run)} for run in runs]
        return (
            all(result.is_done for result in latest)
            and bool(set.intersection(*sessions))
            and not set.intersection(*map(self._passes_of, runs))
        )

    def _passes_of(self, run: Run) -> set[tuple[int, int]]:
        """Return the sessions in which a run succeeded, each with the part of its block."""
        results = self._results.get(run, {}).items()
        return {(session, result.part) for session, result in results if result.is_done}

    def _add_partners(self, block: int, left: set[str], cases: frozenset[str]) -> None:
        """Add to `left` the cases that succeeded before, but not together with the cases in `left`."""
        n_before = -1
        while n_before < len(left):
            n_before = len(left)
            for pair in self._compared:
                if left.isdisjoint(pair) or not cases >= set(pair) or self._were_together(block, pair):
                    continue
                others = [case for case in pair if case not in left]
                if all(self._may_run_again(Run(block, case)) for case in others):
                    left.update(others)

    def _may_run_again(self, run: Run) -> bool:
        return self._has_come_out(run) and self._session not in self._results[run]

    def _were_together(self, block: int, pair: Collection[str]) -> bool:
        return bool(set.intersection(*(self._passes_of(Run(block, case)) for case in pair)))

    def _is_well(self, run: Run) -> bool:
        """Return whether the last attempt of a run counts; if it failed, the run is only tried again."""
        results = self._results.get(run)
        return results is not None and next(reversed(results.values())).is_done

    def _has_come_out(self, run: Run) -> bool:
        return any(result.is_done for result in self._results.get(run, {}).values())
