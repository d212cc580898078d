"""The section on the recorded facts about the hosts: those that all share, and those that differ."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from tare.analysis.confounding import confounders
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.report.section import SectionFacts, own_section
from tare.report.words.numbers import visible


@dataclasses.dataclass(frozen=True)
class Difference:
    """One fact that is not the same everywhere, with its values for each variant."""

    fact: str
    by_variant: dict[str, tuple[str, ...]]

    @property
    def is_between_variants(self) -> bool:
        """Return whether the variants have different values, and not only hosts or runs within each."""
        return len(set(self.by_variant.values())) > 1


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """The facts that are the same for every host of every run, and those that differ.

    `unexplained` names the facts that differ between variants although no varied setting explains it.
    """

    shared: dict[str, str]
    differences: tuple[Difference, ...]
    n_hosts: int
    n_environments: int
    unexplained: tuple[str, ...] = ()


def _made(facts: SectionFacts) -> Surroundings:
    return surroundings(
        facts.campaign, {case: variant.name for case, variant in facts.variants.variant_of.items()}
    )


SECTION = own_section(
    __file__, "Where did it run, and what differs between the sides?", after="methods", make=_made
)


def surroundings(campaign: Campaign, variants: Mapping[str, str]) -> Surroundings:
    """Return the recorded facts; `variants` maps each case id to the name of its variant."""
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    hosts: set[str] = set()
    n_facts: dict[str, Counter[str]] = defaultdict(Counter)
    n_seen: Counter[str] = Counter()
    for variant, host, facts in _facts(campaign, campaign.attempts, variants):
        hosts.add(host)
        n_seen[variant] += 1
        for fact, value in facts.items():
            values[fact][variant].add(visible(value))
            n_facts[fact][variant] += 1
    shared, differences = {}, []
    for fact, by_variant in sorted(values.items()):
        distinct = set().union(*by_variant.values())
        if len(distinct) == 1 and n_facts[fact] == n_seen:
            shared[visible(fact)] = distinct.pop()
        else:
            row = {
                variant: _shown(by_variant.get(variant, set()), n_seen[variant] - n_facts[fact][variant])
                for variant in _order(variants)
            }
            differences.append(Difference(visible(fact), row))
    differences.sort(key=lambda one: (not one.is_between_variants, one.fact))
    unexplained = dict.fromkeys(visible(one.difference.fact) for one in confounders(campaign))
    return Surroundings(
        shared, tuple(differences), len(hosts), len(campaign.environments), tuple(unexplained)
    )


def _shown(values: Collection[str], n_without: int) -> tuple[str, ...]:
    """Return the values of a fact on a side, and whether hosts or runs of it lack the fact."""
    return (*sorted(values), *([] if values and not n_without else ["not recorded"]))


def _order(variants: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(variants.values()))


def _facts(
    campaign: Campaign, attempts: Iterable[Attempt], variants: Mapping[str, str]
) -> Iterable[tuple[str, str, Mapping[str, str]]]:
    seen = set()
    for attempt in attempts:
        key = (attempt.environment, variants.get(attempt.case))
        if attempt.environment is None or key[1] is None or key in seen:
            continue
        seen.add(key)
        for host, facts in campaign.environments.get(attempt.environment, {}).items():
            yield key[1], host, facts
