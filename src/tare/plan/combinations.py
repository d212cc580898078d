"""Every combination of a study's levels, each as one set of settings. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from tare.core.study import Factor, Level, Study
from tare.core.values import Scalar, Settings

CASES = "cases"
"""How the list of cases is called among the factors."""


class Combination(NamedTuple):
    """One level of every factor, by number, and their settings: the most special place has the last word."""

    settings: dict[str, Scalar]
    levels: tuple[Level, ...]
    numbers: tuple[int, ...]


def all_factors(study: Study) -> tuple[Factor, ...]:
    """Return the factors of `study`, the list of its cases as the last one."""
    return (*study.factors, Factor(CASES, study.cases)) if study.cases else study.factors


def combinations(study: Study) -> Iterator[Combination]:
    """Yield the combinations of `study`, the last factor's levels fastest."""
    factors = all_factors(study)
    ranking = sorted(range(len(factors)), key=lambda index: speciality(factors[index]))
    for numbers in itertools.product(*(range(len(factor.levels)) for factor in factors)):
        levels = tuple(factor.levels[number] for factor, number in zip(factors, numbers, strict=True))
        settings = dict(study.common)
        for index in ranking:
            _merge(settings, levels[index].settings)
        yield Combination(settings, levels, numbers)


def _merge(settings: dict[str, Scalar], special: Settings) -> None:
    """Let a more special place have the last word; so few ranks of its own take fewer nodes, too."""
    ranks, nodes = special.get("ranks"), settings.get("nodes")
    settings.update(special)
    if ranks is not None and nodes is not None and "nodes" not in special:
        settings["nodes"] = min(int(nodes), int(ranks))


def speciality(factor: Factor) -> int:
    """Return how special a factor is: of two that make the same setting, that of the larger number wins."""
    if factor.name == "workload":
        return 3
    if factor.name == CASES:
        return 2
    is_plain = all(tuple(level.settings) == (factor.name,) for level in factor.levels)
    return 0 if is_plain else 1
