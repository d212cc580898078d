"""Estimate the cost of a plan: its runs and hours.

The hours come from the time-outs (at most) and from an earlier campaign (expected), if there is one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import TypeVar

import msgspec

from tare.analysis.repeats.budget import Spending
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.plan import Plan
from tare.core.study import Budget

_Number = TypeVar("_Number", int, float)


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """A number of measured runs, and the hours and node-hours of them and their warm-up; None if unknown.

    `program_hours` are the hours of the programs alone; the other two include the overhead of a batch system.
    """

    runs: int
    hours: float | None = None
    node_hours: float | None = None
    program_hours: float | None = None


class CaseCost(msgspec.Struct, frozen=True, kw_only=True):
    """The expected cost of one case. `is_measured` says that the earlier campaign ran this very case."""

    case: str
    blocks: int
    elapsed_s: float
    is_measured: bool


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The least and the greatest cost of a plan, and the expected cost based on an earlier campaign.

    The hours of `most` assume that every run reaches its time-out. None of the amounts considers the budget.
    """

    least: Amount
    most: Amount
    expected: Amount | None = None
    cases: tuple[CaseCost, ...] = ()

    @property
    def n_guessed(self) -> int:
        """Return how many cases the earlier campaign did not run."""
        return sum(not one.is_measured for one in self.cases)


def cost(plan: Plan, n_hosts: Mapping[str, int], like: Campaign | None = None) -> Cost:
    """Return the cost of `plan`; `n_hosts` gives the number of hosts of each case.

    With `like`, an earlier campaign with some of the same cases, each case is expected to take its median
    time in that campaign, and as many blocks as its noise there requires. A case that is not in `like` is
    expected to take the median of the cases of its workload, or else of all cases.
    """
    repeats = plan.repeats
    ids = [case.id for case in plan.cases]
    hosts = [n_hosts[case] for case in ids]
    most = _sum(plan, hosts, [repeats.max] * len(ids), [plan.timeout_s] * len(ids))
    past = _past(plan, like) if like else {}
    if like is None or not past:
        return Cost(least=Amount(runs=len(ids) * repeats.min), most=most)

    def known(of: Callable[[Attempt], float]) -> list[float]:
        own = {case: statistics.median(map(of, found)) for case, found in past.items()}
        return [*_completed(plan, own, statistics.median).values()]

    taken_s, held_s, program_s = (
        known(lambda one: one.taken_s),
        known(lambda one: one.held_s),
        known(lambda one: one.elapsed_s),
    )
    past_blocks = _past_blocks(plan, like) or dict.fromkeys(ids, repeats.max)
    blocks = [*_with_references(plan, _completed(plan, past_blocks, statistics.median_high)).values()]
    return Cost(
        least=_sum(plan, hosts, [repeats.min] * len(ids), taken_s, held_s, program_s, _pace(like)),
        most=most,
        expected=_sum(plan, hosts, blocks, taken_s, held_s, program_s, _pace(like)),
        cases=tuple(
            CaseCost(case=case, blocks=n_blocks, elapsed_s=elapsed_s, is_measured=case in past)
            for case, n_blocks, elapsed_s in zip(ids, blocks, taken_s, strict=True)
        ),
    )


def _sum(
    plan: Plan,
    n_hosts: Sequence[int],
    blocks: Sequence[int],
    taken_s: Sequence[float],
    held_s: Sequence[float] | None = None,
    program_s: Sequence[float] | None = None,
    pace: float = 1.0,
) -> Amount:
    """Return the cost of this many blocks of each case of `plan`, in the order of its cases.

    `held_s` is how long a run holds its nodes, if not all the time. `pace` is the wall-clock time per second
    of a run: less than 1 where other runs go on at the same time.
    """
    n_runs = [n + plan.warmup for n in blocks]
    return Amount(
        runs=sum(blocks),
        hours=sum(map(mul, n_runs, taken_s)) * pace / 3600,
        node_hours=sum(map(mul, map(mul, n_runs, held_s or taken_s), n_hosts)) / 3600,
        program_hours=sum(map(mul, n_runs, program_s)) * pace / 3600 if program_s else None,
    )


def _pace(like: Campaign) -> float:
    spent = Spending(Budget())
    for one in like.attempts:
        spent.add(one, is_settled=one.is_settled)
    return spent.pace


def _past(plan: Plan, like: Campaign) -> dict[str, list[Attempt]]:
    """Return the runs of each case that `like` made itself; imported runs have no known time."""
    known = {case.id for case in plan.cases}
    found: dict[str, list[Attempt]] = {}
    for one in like.measured():
        if one.case in known and one.source is None:
            found.setdefault(one.case, []).append(one)
    return found


def _past_blocks(plan: Plan, like: Campaign) -> dict[str, int]:
    """Return the blocks that the noise of each case in `like` requires, where there are enough data."""
    if plan.repeats.until is None:
        return {case.id: plan.repeats.max for case in plan.cases}
    from tare.analysis.repeats.stopping import case_precisions, expected_blocks

    found = {one.case: expected_blocks(one, plan) for one in case_precisions(plan, like.measured())}
    return {case: n_blocks for case, n_blocks in found.items() if n_blocks is not None}


def _completed(
    plan: Plan, known: Mapping[str, _Number], middle: Callable[[Iterable[_Number]], _Number]
) -> dict[str, _Number]:
    """Return `known`, completed for every case with the median of its workload, or else of all cases."""
    by_workload: dict[str, list[_Number]] = {}
    for case in plan.cases:
        if case.id in known:
            by_workload.setdefault(case.workload, []).append(known[case.id])
    return {
        case.id: known[case.id]
        if case.id in known
        else middle(by_workload.get(case.workload) or list(known.values()))
        for case in plan.cases
    }


def _with_references(plan: Plan, blocks: Mapping[str, int]) -> dict[str, int]:
    """Return `blocks`, with at least as many blocks for each reference as for its contenders."""
    held: dict[str, int] = {}
    for case in plan.cases:
        reference = plan.reference_of(case)
        if reference is not None:
            held[reference.id] = max(held.get(reference.id, 0), blocks[case.id])
    return {**blocks, **held}
