"""Which runs a session has to make, so that what is compared has run together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tare.analysis.lines import lines
from tare.analysis.scaling import wanted_scalings
from tare.core.attempt import Attempt, State
from tare.core.case import Pass, Run
from tare.core.plan import Plan


class Passing(NamedTuple):
    """What a session runs of a block: cases in their order, and those of them that had come out at last.

    Of the latter, those of `parted` had come out in one session with what they are compared with, but
    something lay between, as a night (see parting).
    """

    order: list[str]
    again: list[str]
    parted: list[str]


class _Answer(NamedTuple):
    is_settled: bool
    is_done: bool
    part: int = 0


def compared(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the pairs of cases that are held against each other, the reference first.

    Each contender with its reference, and each scale with the smallest of its line.
    """
    found: dict[tuple[str, str], None] = {}
    for case in plan.cases:
        reference = plan.reference_of(case)
        if reference is not None:
            found[reference.id, case.id] = None
    for workload in dict.fromkeys(case.workload for case in plan.cases):
        alike = [case for case in plan.cases if case.workload == workload]
        for kind, names in wanted_scalings(plan):
            for line in lines(alike, kind, names):
                (_, base), *larger = line.cases
                found |= dict.fromkeys((base.id, case.id) for _, case in larger)
    return tuple(found)


class Outstanding:
    """Says of each block what is still to be run in session `session`, as attempts come in.

    What has its answer is not run again, but for one reason: a run that is left has to have run beside what
    it is compared with. So where one side of a pair is run in this session, and the sides have not both come
    out well in any one session, the other side is run once more. Two sides that something parted, as a night
    within their block, are both run once more by the next session. `promised` are the cases that an earlier
    pass was to run once more; those that it did not come to are left, too. Warm-up runs, of block 0 and
    below, are left in every session.
    """

    def __init__(
        self, plan: Plan, session: int, promised: Mapping[Pass, Collection[str]] | None = None
    ) -> None:
        self._session = session
        self._compared = compared(plan)
        self._answers: dict[Run, dict[int, _Answer]] = {}
        self._promised: dict[int, tuple[int, Collection[str]]] = {}
        for one, cases in sorted((promised or {}).items()):
            self._promised[one.block] = (one.session, cases)

    def take(self, attempt: Attempt, *, is_settled: bool) -> None:
        """Take in what came of an attempt; `is_settled` says that its run needs no other."""
        answer = _Answer(is_settled, attempt.state is State.DONE, attempt.part)
        self._keep(Run(attempt.block, attempt.case), attempt.session, answer)

    def take_under_way(self, run: Run, session: int) -> None:
        """Take in an attempt that has not ended yet, and is expected to come out."""
        self._keep(run, session, _Answer(is_settled=True, is_done=True))

    def is_answered_now(self, run: Run) -> bool:
        """Return whether the present session has an answer for `run`."""
        answer = self._answers.get(run, {}).get(self._session)
        return answer is not None and answer.is_settled

    def of_block(self, block: int, cases: Sequence[str]) -> Passing:
        """Return which of `cases` are to be run in `block`, in their order."""
        left = {case for case in cases if self._is_left(Run(block, case))}
        parted = self._parted(block, frozenset(cases)) - left if block >= 1 else set()
        left |= parted
        if block >= 1 and left:
            self._add_partners(block, left, frozenset(cases))
        order = [case for case in cases if case in left]
        again = [case for case in order if block >= 1 and self._is_well(Run(block, case))]
        return Passing(order, again, [case for case in again if case in parted])

    def _keep(self, run: Run, session: int, answer: _Answer) -> None:
        by_session = self._answers.setdefault(run, {})
        by_session.pop(session, None)  # the latest is the last
        by_session[session] = answer

    def _is_left(self, run: Run) -> bool:
        by_session = self._answers.get(run, {})
        if run.block < 1:
            return not self.is_answered_now(run)
        if not by_session or not next(reversed(by_session.values())).is_settled:
            return True
        session, promised = self._promised.get(run.block, (0, ()))
        return run.case in promised and not any(
            answer.is_settled for number, answer in by_session.items() if number >= session
        )

    def _parted(self, block: int, cases: frozenset[str]) -> set[str]:
        """Return the cases of pairs whose sides both came out well in one session, but not together."""
        found: set[str] = set()
        for pair in self._compared:
            runs = [Run(block, case) for case in pair]
            if cases >= set(pair) and all(map(self._may_run_again, runs)) and self._is_parted(runs):
                found.update(pair)
        return found

    def _is_parted(self, runs: Sequence[Run]) -> bool:
        latest = [next(reversed(self._answers[run].values())) for run in runs]
        sessions = [{session for session, _ in self._passes_of(run)} for run in runs]
        return (
            all(answer.is_done for answer in latest)
            and bool(set.intersection(*sessions))
            and not set.intersection(*map(self._passes_of, runs))
        )

    def _passes_of(self, run: Run) -> set[tuple[int, int]]:
        """Return the sessions in which a run came out well, each with the part of its block."""
        answers = self._answers.get(run, {}).items()
        return {(session, answer.part) for session, answer in answers if answer.is_done}

    def _add_partners(self, block: int, left: set[str], cases: frozenset[str]) -> None:
        """Add to `left` the cases that came out well before, but not together with what is left."""
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
        return self._has_come_out(run) and self._session not in self._answers[run]

    def _were_together(self, block: int, pair: Collection[str]) -> bool:
        return bool(set.intersection(*(self._passes_of(Run(block, case)) for case in pair)))

    def _is_well(self, run: Run) -> bool:
        """Return whether what a run came to at last counts; what is tried again did not."""
        answers = self._answers.get(run)
        return answers is not None and next(reversed(answers.values())).is_done

    def _has_come_out(self, run: Run) -> bool:
        return any(answer.is_done for answer in self._answers.get(run, {}).values())
