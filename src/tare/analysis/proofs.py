"""Find comparisons of networks that show less than they seem to.

Either no data crossed the network, or it is not proven which network carried the data.
"""

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
"""The reason why networks are not compared."""


class Weakness(enum.StrEnum):
    """Why a comparison shows less about a network than it seems to."""

    ONE_NODE = "one node"
    """The sides differ in their network, and the ranks of both are on one node."""
    NOT_PROVEN = "not proven"
    """For some runs it is not known which network carried their data."""


class Uncrossed(msgspec.Struct, frozen=True, kw_only=True):
    """A weakness of a case that is compared or is the reference.

    Of its `n_measured` runs that had to prove their network, `n_runs` did not.
    """

    case: str
    weakness: Weakness
    n_runs: int = 0
    n_measured: int = 0


def is_on_one_node(plan: Plan, case: Case) -> bool:
    """Return whether all ranks of `case` are on one node, so that no network carries their messages.

    It is False for workloads that send no messages between ranks, such as those of storage.
    """
    is_sending = plan.sending is None or case.workload in plan.sending
    return is_sending and case.layout.nodes == 1 and "nodes" not in case.unknown


def nothing_crosses(plan: Plan, pair: Pair) -> bool:
    """Return whether two sides differ only in the network, and neither side used it.

    Any difference between them is noise or other costs of the network's software, and not the network's
    performance. Returns False for campaigns that do not record which workloads send messages.
    """
    if plan.sending is None or {*pair.reference, *pair.contender} != {"network"}:
        return False
    return all(is_on_one_node(plan, case) for case in (pair.reference_case, pair.contender_case))


def uncrossed(campaign: Campaign, reference: Settings | None = None) -> tuple[Uncrossed, ...]:
    """Return the weaknesses of each case, in the order of the plan; `reference` replaces the study's."""
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
