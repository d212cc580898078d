"""Count what a campaign has spent, and decide whether a further run fits into its budget."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

from tare.core.attempt import Attempt
from tare.core.case import Pass
from tare.core.counting import count, node_hours
from tare.core.study import Budget
from tare.core.units import format_seconds

_HOUR = 3600.0


class Covered:
    """The total time that intervals cover; they may be apart, overlap, or lie inside one another."""

    def __init__(self) -> None:
        self._begins: list[float] = []
        self._ends: list[float] = []
        self.seconds = 0.0

    def add(self, begin: float, end: float) -> None:
        """Add the interval from `begin` to `end`, in seconds of one clock; an empty one adds nothing."""
        if end <= begin:
            return
        first = bisect_left(self._ends, begin)
        last = bisect_right(self._begins, end)
        self.seconds -= sum(self._ends[one] - self._begins[one] for one in range(first, last))
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]
        self.seconds += end - begin


class Spending:
    """What the attempts of a campaign have cost so far, and what the next ones are expected to cost.

    Every attempt takes time, including failed ones; only measured runs count as runs. `elapsed_s` is
    wall-clock time during which at least one attempt is under way: starting, running or ending, and also
    waiting in a queue if the budget counts that. Time at which several attempts overlap counts once. Tare's
    own work between attempts, and pauses, do not count.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._clock = Covered()
        self._untimed_s = 0.0
        self._taken_s = 0.0
        self.node_s = 0.0
        self._measured_s: dict[tuple[Pass, str], float] = {}
        self._all_measured_s = 0.0
        self._n_timed = 0  # measured runs whose time is known: one that never started has none
        self._durations: dict[str, list[float]] = {}  # sorted
        self._n_hosts: dict[str, int] = {}

    def add(self, attempt: Attempt, *, is_settled: bool) -> None:
        """Add the cost of an attempt; `is_settled` says that its run needs no further attempt."""
        taken_s = attempt.held_s + (attempt.queued_s if self._budget.counts_queue else 0.0)
        self._taken_s += taken_s
        if attempt.started_at is None:
            self._untimed_s += taken_s
        else:
            end = attempt.started_at + attempt.elapsed_s + attempt.ending_s
            self._clock.add(end - taken_s, end)
        self.node_s += attempt.held_s * len(attempt.hosts)
        if is_settled and attempt.block >= 1:
            which = (attempt.together, attempt.case)
            before_s = self._measured_s.get(which, 0.0)
            self._all_measured_s += taken_s - before_s
            self._n_timed += (taken_s > 0) - (before_s > 0)
            self._measured_s[which] = taken_s
        if is_settled and taken_s > 0:
            insort(self._durations.setdefault(attempt.case, []), taken_s)
            self._n_hosts[attempt.case] = len(attempt.hosts)

    @property
    def elapsed_s(self) -> float:
        """Return the wall-clock time spent so far, in seconds."""
        return self._clock.seconds + self._untimed_s

    @property
    def pace(self) -> float:
        """Return the wall-clock seconds per second of attempt: less than 1 if attempts overlap."""
        return self.elapsed_s / self._taken_s if self._taken_s > 0 else 1.0

    def can_afford(self, cases: Iterable[str], *, is_measured: bool = True) -> bool:
        """Return whether one more run of each of `cases` is expected to fit into the budget.

        A case is expected to take the median time of its runs so far. A case that never ran is expected to
        take no time, so it may start as long as anything of the budget is left.
        """
        budget = self._budget
        limits = (budget.runs, budget.hours, budget.node_hours)
        if all(limit is None for limit in limits):
            return True
        cases = list(cases)
        expected = {case: self.expected_s(case) or 0.0 for case in cases}
        more_s = sum(expected[case] for case in cases) * self.pace
        more_node_s = sum(expected[case] * self._n_hosts.get(case, 0) for case in cases)
        return (
            (budget.runs is None or self.n_runs + len(cases) * is_measured <= budget.runs)
            and _fits(self.elapsed_s, more_s, budget.hours)
            and _fits(self.node_s, more_node_s, budget.node_hours)
        )

    def expected_s(self, case: str) -> float | None:
        """Return the median time of the runs of `case` so far, in seconds; None before the first run."""
        durations = self._durations.get(case)
        if not durations:
            return None
        middle = len(durations) // 2
        return (durations[middle] + durations[~middle]) / 2

    @property
    def n_runs(self) -> int:
        """Return the number of settled measured runs; a run counts once per session that made it."""
        return len(self._measured_s)

    def left_s(self, n_runs: int) -> float | None:
        """Return the expected seconds of `n_runs` more runs, at most what the budget leaves.

        The mean time of the runs so far is used, and as many runs at a time. None before the first measured
        run that started.
        """
        if not self._n_timed:
            return None
        return max(min(self._expected_s(n_runs), self._allowed_s()), 0.0)

    def may_end_before(self, n_runs: int) -> bool:
        """Return whether the budget is expected to end the session before `n_runs` more runs."""
        if self._budget.runs is not None and self.n_runs + n_runs > self._budget.runs:
            return True
        return self._n_timed > 0 and self._expected_s(n_runs) > self._allowed_s()

    def _expected_s(self, n_runs: int) -> float:
        return self._all_measured_s / self._n_timed * n_runs * self.pace

    def _allowed_s(self) -> float:
        """Return the seconds that the budget leaves; infinite without one."""
        allowed = [math.inf]
        if self._budget.hours is not None:
            allowed.append(self._budget.hours * _HOUR - self.elapsed_s)
        if self._budget.node_hours is not None and self.node_s:
            allowed.append((self._budget.node_hours * _HOUR - self.node_s) * self.elapsed_s / self.node_s)
        return min(allowed)


def _fits(spent_s: float, more_s: float, hours: float | None) -> bool:
    return hours is None or (spent_s < hours * _HOUR and spent_s + more_s <= hours * _HOUR)


def describe_budget(budget: Budget) -> str:
    """Return a budget in words, such as ``500 runs or 12 h``."""
    words = []
    if budget.runs is not None:
        words.append(count(budget.runs, "run"))
    if budget.hours is not None:
        words.append(format_seconds(budget.hours * 3600))
    if budget.node_hours is not None:
        words.append(node_hours(budget.node_hours))
    return " or ".join(words)
