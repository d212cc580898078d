"""Find the programs whose messages are known: profiled cases of the reference that span nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tare.analysis.causes.profiles import Profiled, profiles
from tare.analysis.predictions.network_costs import Side, is_curve, side_of
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.core.case import Case

_SIDE = frozenset({"platform", "network"})
"""The settings in which two cases may differ whose difference is that of their networks."""


class ProfiledProgram(NamedTuple):
    """A case and its profiled runs."""

    case: Case
    runs: list[Profiled]


def profiled_programs(campaign: Campaign) -> list[ProfiledProgram]:
    """Return the profiled cases of the reference that span nodes, in the plan's order; of all if none is.

    Microbenchmarks are no programs: they tell what calls cost.
    """
    found = profiles(campaign).by_case
    plan = campaign.plan
    return [
        ProfiledProgram(case, list(found[case.id].values()))
        for case in plan.cases
        if case.id in found
        and (not plan.reference or plan.is_reference(case))
        and case.layout.nodes > 1
        and not is_curve(case)
    ]


def measured_on(
    campaign: Campaign, found: Sequence[Attribution], case: Case, side: Side
) -> Attribution | None:
    """Return what was measured between a case and the same one on another side; None if nothing was."""
    for one in found:
        is_same = {*one.reference, *one.contender} <= _SIDE
        if is_same and one.reference_case == case.id and side_of(campaign.cases[one.contender_case]) == side:
            return one if one.ratio is not None else None
    return None


def why_no_programs(campaign: Campaign) -> str:
    """Return why a campaign has no profiled program, without a full stop."""
    found = profiles(campaign)
    if not found.by_case:
        if reason := found.why_missing(*found.missing):
            return f"no profiled run counts ({reason})"
        if campaign.plan.profiled:
            return "no profiled run has ended yet"
        return (
            "no run of this campaign has a profile; run it with 'tare run --profile', or set 'profile: true' "
            "in the study"
        )
    programs = [case for case in campaign.plan.cases if case.id in found.by_case and not is_curve(case)]
    if not programs:
        return "its profiled runs are of microbenchmarks alone, which tell what calls cost"
    if all(case.layout.nodes == 1 for case in programs):
        return "all profiled runs are on one node, where nothing crosses a network"
    return "none of its profiled runs on several nodes is of the reference"
