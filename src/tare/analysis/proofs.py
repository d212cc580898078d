"""What is not known of networks that are compared: where nothing crosses one, and where none is proven."""

from __future__ import annotations

import enum
from collections import Counter

import msgspec

from tare.analysis.pairs import Pair
from tare.core.attempt import Proof
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.values import Settings

NOTHING_CROSSED = "all ranks on one node: nothing that they send each other crosses the network"
"""Why networks are not compared."""


class Weakness(enum.StrEnum):
    """Why a comparison says less of a network than it seems to."""

    ONE_NODE = "one node"
    """The sides differ in their network, and the ranks of both are on one node."""
    NOT_PROVEN = "not proven"
    """Of some runs it is not known which network carried their data."""


class Uncrossed(msgspec.Struct, frozen=True, kw_only=True):
    """What weakens a case that is compared, or is the reference.

    Of its `n_measured` runs that had to prove their network, `n_runs` did not.
    """

    case: str
    weakness: Weakness
    n_runs: int = 0
    n_measured: int = 0


def is_on_one_node(plan: Plan, case: Case) -> bool:
    """Return whether one node has all ranks of `case`, so that no network carries what they send each other.

    Of a workload whose data are no such messages, as those of storage, it is not.
    """
    is_sending = plan.sending is None or case.workload in plan.sending
    return is_sending and case.layout.nodes == 1 and "nodes" not in case.unknown


def nothing_crosses(plan: Plan, pair: Pair) -> bool:
    """Return whether only the network tells two sides apart, and neither side used its own.

    What differs there is noise, or what the network's software costs otherwise, and nothing that the network
    carries. Campaigns that do not tell which workloads send messages are given the benefit of the doubt.
    """
    if plan.sending is None or {*pair.reference, *pair.contender} != {"network"}:
        return False
    return all(is_on_one_node(plan, case) for case in (pair.reference_case, pair.contender_case))


def uncrossed(campaign: Campaign, reference: Settings | None = None) -> tuple[Uncrossed, ...]:
    """Return what weakens each case, in the order of the plan; `reference` takes the place of the study's."""
    plan = campaign.plan
    if reference is not None:
        plan = msgspec.structs.replace(plan, reference=dict(reference))
    unproven = unproven_cases(campaign)
    found = []
    for case in plan.cases:
        other = plan.reference_of(case)
        if other is not None and other.network != case.network and is_on_one_node(plan, case):
            found.append(Uncrossed(case=case.id, weakness=Weakness.ONE_NODE))
        if unproven[case.id].n_runs:
            found.append(unproven[case.id])
    return tuple(found)


def unproven_cases(campaign: Campaign) -> dict[str, Uncrossed]:
    """Return, by case, how many runs had to prove which network carried their data, and how many did not."""
    proofs: dict[str, Counter[Proof]] = {case.id: Counter() for case in campaign.plan.cases}
    for one in campaign.measured():
        if one.proof is not None and one.case in proofs:
            proofs[one.case][one.proof] += 1
    return {
        case: Uncrossed(
            case=case, weakness=Weakness.NOT_PROVEN, n_runs=seen[Proof.NOT_PROVEN], n_measured=seen.total()
        )
        for case, seen in proofs.items()
    }
