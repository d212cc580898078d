"""Find facts of the nodes that differ between two sides besides what was varied.

Such a fact may be the real cause of a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tare.analysis.pairs import differing_settings
from tare.core.campaign import Campaign
from tare.core.values import Scalar, Settings

_OF_THE_HOST_ITSELF = ("hostname", "variables.not_recorded", "nic.vx-", "input.")
"""Facts that always differ between hosts, or that say nothing about how a program runs.

Inputs of a campaign never change, so that they differ between its cases only as its study says.
"""

_MPI = ("mpi.", "platform.", "program.", "library.", "variable.", "version.", "limit.", "cgroup.", "modules")
_EXPLAINED = {
    "network": ("nic.", "rdma.", "variable."),
    "platform": (*_MPI, "container.", "distribution", "nic."),
    "workload": ("program.", "library."),
    **dict.fromkeys(("nodes", "ranks", "ranks_per_node", "threads"), ("variable.SLURM_",)),
}
"""The facts that a setting is expected to change: setting name → prefixes of fact names."""


class Difference(msgspec.Struct, frozen=True):
    """One fact that differs between two sides, with the values on the hosts of each; empty: not recorded."""

    fact: str
    left: tuple[str, ...]
    right: tuple[str, ...]


class Confounder(msgspec.Struct, frozen=True):
    """A fact that differs between a contender and its reference, and that no varied setting explains.

    `settings` are those that were varied, with the contender's values.
    """

    difference: Difference
    settings: Settings
    cases: tuple[str, ...]


Values = Mapping[str, frozenset[str]]
"""The values of each fact over the hosts of one side."""


def values_of(hosts: Iterable[Mapping[str, str]]) -> Values:
    """Return the values of each fact over several hosts."""
    found: dict[str, set[str]] = {}
    for facts in hosts:
        for fact, value in facts.items():
            found.setdefault(fact, set()).add(value)
    return {fact: frozenset(values) for fact, values in found.items()}


def differences(left: Values, right: Values) -> tuple[Difference, ...]:
    """Return the facts that differ between the two sides, sorted by name."""
    nothing: frozenset[str] = frozenset()
    return tuple(
        Difference(fact, tuple(sorted(left.get(fact, nothing))), tuple(sorted(right.get(fact, nothing))))
        for fact in sorted({*left, *right})
        if left.get(fact, nothing) != right.get(fact, nothing)
    )


def confounders(campaign: Campaign, reference: Settings | None = None) -> tuple[Confounder, ...]:
    """Return the facts that differ between contenders and their references besides what was varied.

    `reference` replaces that of the study. Runs without a recorded environment are ignored.
    """
    plan = campaign.plan
    if reference is not None:
        plan = msgspec.structs.replace(plan, reference=dict(reference))
    environments = environments_of(campaign)
    values = {names: _values(campaign, names) for names in set(environments.values())}
    found: dict[tuple[Difference, tuple[tuple[str, Scalar], ...]], list[str]] = {}
    for case in plan.cases:
        other = plan.reference_of(case)
        if other is None or case.id not in environments or other.id not in environments:
            continue
        varied = differing_settings(case, other)
        for one in differences(values[environments[other.id]], values[environments[case.id]]):
            if not _is_explained(one.fact, varied):
                found.setdefault((one, tuple(varied.items())), []).append(case.id)
    return tuple(Confounder(one, dict(settings), tuple(cases)) for (one, settings), cases in found.items())


def environments_of(campaign: Campaign) -> dict[str, frozenset[str]]:
    """Return the environments in which the runs of each case ran, by case id.

    The result is cached, since a campaign does not change.
    """
    return campaign.memo.get(environments_of, lambda: _environments(campaign))


def _environments(campaign: Campaign) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for attempt in campaign.measured():
        if attempt.environment in campaign.environments:
            found.setdefault(attempt.case, set()).add(attempt.environment or "")
    return {case: frozenset(names) for case, names in found.items()}


def _values(campaign: Campaign, names: Iterable[str]) -> Values:
    return values_of(facts for name in names for facts in campaign.environments[name].values())


def _is_explained(fact: str, varied: Settings) -> bool:
    prefixes = [prefix for name in varied for prefix in _EXPLAINED.get(name, ())]
    return fact.startswith((*_OF_THE_HOST_ITSELF, *prefixes))
