"""Make every combination of a study's levels, each as one set of settings. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from tare.core.study import Factor, Level, Study
from tare.core.values import Scalar, Settings

CASES = "cases"
"""The name of the list of cases, where it is treated as one more factor."""


class Combination(NamedTuple):
    """One level of every factor, and the settings that they make together.

    `numbers` are the indices of the levels in their factors. Where several levels make a setting, the most
    special factor wins (see `speciality`).
    """

    settings: dict[str, Scalar]
    levels: tuple[Level, ...]
    numbers: tuple[int, ...]
    ranking: tuple[int, ...] = ()
    """The indices of the factors, the most special one last."""

    @property
    def ranked(self) -> tuple[Level, ...]:
        """Return the levels, that of the most special factor last."""
        return tuple(self.levels[index] for index in self.ranking)


def all_factors(study: Study) -> tuple[Factor, ...]:
    """Return the factors of `study`; the list of its cases, if it has one, is the last factor."""
    return (*study.factors, Factor(CASES, study.cases)) if study.cases else study.factors


def combinations(study: Study) -> Iterator[Combination]:
    """Yield the combinations of `study`; the levels of the last factor change fastest."""
    factors = all_factors(study)
    ranking = tuple(sorted(range(len(factors)), key=lambda index: speciality(factors[index])))
    all_numbers = itertools.product(*(range(len(factor.levels)) for factor in factors))
    all_levels = itertools.product(*(factor.levels for factor in factors))
    for numbers, levels in zip(all_numbers, all_levels, strict=True):
        settings = dict(study.common)
        for index in ranking:
            special = levels[index].settings
            settings.update(special)
            if "ranks" in special:
                _lower_nodes(settings, special)
        yield Combination(settings, levels, numbers, ranking)


def _lower_nodes(settings: dict[str, Scalar], special: Settings) -> None:
    """Lower `nodes` to the number of ranks where `special`, merged last, sets `ranks` but not `nodes`."""
    if "nodes" in settings and "nodes" not in special:
        settings["nodes"] = min(int(settings["nodes"]), int(special["ranks"]))


def speciality(factor: Factor) -> int:
    """Return how special a factor is: where two factors make the same setting, the larger number wins."""
    if factor.name == "workload":
        return 3
    if factor.name == CASES:
        return 2
    is_plain = all(tuple(level.settings) == (factor.name,) for level in factor.levels)
    return 0 if is_plain else 1
