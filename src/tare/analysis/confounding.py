"""What differs between two sides besides what was varied: facts of their nodes that may be the real cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.values import Scalar, Settings

_OF_THE_HOST_ITSELF = ("hostname", "variables.not_recorded", "nic.vx-")
"""Facts by which hosts always differ, or that say nothing about how a program runs."""

_MPI = ("mpi.", "platform.", "program.", "library.", "variable.", "version.", "limit.", "cgroup.", "modules")
_EXPLAINED = {
    "network": ("nic.", "rdma.", "variable."),
    "platform": (*_MPI, "container.", "distribution", "nic."),
    "workload": ("program.", "library."),
    **dict.fromkeys(("nodes", "ranks", "ranks_per_node", "threads"), ("variable.SLURM_",)),
}
"""Facts that a setting is there to vary, by the setting's name and the beginning of the fact's."""


class Difference(msgspec.Struct, frozen=True):
    """One fact that is not the same on two sides: the values that hosts of each have; none: not recorded."""

    fact: str
    left: tuple[str, ...]
    right: tuple[str, ...]


class Confounder(msgspec.Struct, frozen=True):
    """A fact that differs between a contender and its reference, though nothing that was varied says why.

    `settings` are those that were varied, as the contender has them.
    """

    difference: Difference
    settings: Settings
    cases: tuple[str, ...]


Values = Mapping[str, frozenset[str]]
"""The values of each fact over the hosts of one side."""


def values_of(hosts: Iterable[Mapping[str, str]]) -> Values:
    """Return what the facts of several hosts are together."""
    found: dict[str, set[str]] = {}
    for facts in hosts:
        for fact, value in facts.items():
            found.setdefault(fact, set()).add(value)
    return {fact: frozenset(values) for fact, values in found.items()}


def differences(left: Values, right: Values) -> tuple[Difference, ...]:
    """Return the facts that are not the same on both sides, by name."""
    nothing: frozenset[str] = frozenset()
    return tuple(
        Difference(fact, tuple(sorted(left.get(fact, nothing))), tuple(sorted(right.get(fact, nothing))))
        for fact in sorted({*left, *right})
        if left.get(fact, nothing) != right.get(fact, nothing)
    )


def confounders(campaign: Campaign, reference: Settings | None = None) -> tuple[Confounder, ...]:
    """Return what differs between contenders and their references besides what was varied.

    `reference` takes the place of the study's own. Runs without a recorded environment say nothing.
    """
    plan = campaign.plan
    if reference is not None:
        plan = msgspec.structs.replace(plan, reference=dict(reference))
    environments = _environments(campaign)
    values = {names: _values(campaign, names) for names in set(environments.values())}
    found: dict[tuple[Difference, tuple[tuple[str, Scalar], ...]], list[str]] = {}
    for case in plan.cases:
        other = plan.reference_of(case)
        if other is None or case.id not in environments or other.id not in environments:
            continue
        varied = _varied(case, other)
        for one in differences(values[environments[other.id]], values[environments[case.id]]):
            if not _is_explained(one.fact, varied):
                found.setdefault((one, tuple(varied.items())), []).append(case.id)
    return tuple(Confounder(one, dict(settings), tuple(cases)) for (one, settings), cases in found.items())


def _environments(campaign: Campaign) -> dict[str, frozenset[str]]:
    """Return the environments that the runs of each case had, by case."""
    found: dict[str, set[str]] = {}
    for attempt in campaign.measured():
        if attempt.environment in campaign.environments:
            found.setdefault(attempt.case, set()).add(attempt.environment or "")
    return {case: frozenset(names) for case, names in found.items()}


def _values(campaign: Campaign, names: Iterable[str]) -> Values:
    return values_of(facts for name in names for facts in campaign.environments[name].values())


def _varied(case: Case, other: Case) -> Settings:
    """Return the settings of `case` that `other` has otherwise."""
    theirs = other.settings
    return {name: value for name, value in case.settings.items() if theirs.get(name) != value}


def _is_explained(fact: str, varied: Settings) -> bool:
    prefixes = [prefix for name in varied for prefix in _EXPLAINED.get(name, ())]
    return fact.startswith((*_OF_THE_HOST_ITSELF, *prefixes))
