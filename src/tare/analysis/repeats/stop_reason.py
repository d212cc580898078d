"""Find out why a campaign stopped where it did, and what is still open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tare.analysis.repeats.budget import Spending
from tare.core.campaign import Campaign
from tare.core.study import Budget

if TYPE_CHECKING:
    from tare.analysis.repeats.stopping import CasePrecision


class StopReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a campaign stopped.

    `unsettled` are the cases that are not known as precisely as `until` asks; `n_settled` counts the others.
    `is_budget_spent` says that the next run is not expected to fit into the budget.
    """

    is_budget_spent: bool = False
    n_settled: int = 0
    unsettled: tuple[CasePrecision, ...] = ()


def stop_reason(campaign: Campaign) -> StopReason:
    """Return why `campaign` stopped, as the loop that ran it decided."""
    repeats = campaign.plan.repeats
    if repeats.until is None and repeats.budget == Budget():
        return StopReason()
    wanted = {case.id for case in campaign.plan.cases}
    judged: list[CasePrecision] = []
    if repeats.until is not None:
        from tare.analysis.repeats.stopping import StoppingRule  # it brings NumPy

        rule = StoppingRule(campaign.plan)
        for attempt in campaign.measured():
            rule.add(attempt)
        judged = rule.precisions()
        wanted = rule.wanted()
    unsettled = tuple(one for one in judged if not one.is_settled)
    return StopReason(
        is_budget_spent=_is_spent(campaign, wanted),
        n_settled=len(judged) - len(unsettled),
        unsettled=unsettled,
    )


def _is_spent(campaign: Campaign, wanted: set[str]) -> bool:
    """Return whether the budget prevents the next run; the cases in `wanted` need another block."""
    repeats = campaign.plan.repeats
    spent = Spending(repeats.budget)
    for attempt in campaign.attempts:
        spent.add(attempt, is_settled=attempt.is_settled)
    latest = campaign.latest()
    open_runs = (run for run in campaign.planned() if run not in latest or not latest[run].is_settled)
    following = next(open_runs, None)
    if following is not None:
        return not spent.can_afford([following.case])
    n_blocks = max([repeats.min, *campaign.orders])
    return n_blocks < repeats.max and bool(wanted) and not spent.can_afford(wanted)
