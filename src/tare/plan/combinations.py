"""Make every combination of a study's levels, and the settings that they make together. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tare.core.study import Factor, Level, Study
from tare.core.values import Scalar, Settings

CASES = "cases"
"""The name of the list of cases, where it is treated as one more factor."""

Combination: TypeAlias = tuple[int, ...]
"""One level of every factor, each by its index in its factor."""


class Combinations:
    """The combinations of a study's levels.

    Where several levels make a setting, the most special factor wins (see `speciality`).
    """

    def __init__(self, study: Study) -> None:
        self.factors = all_factors(study)
        self._common = study.common
        self._ranking = sorted(range(len(self.factors)), key=lambda index: speciality(self.factors[index]))

    def __iter__(self) -> Iterator[Combination]:
        """Yield every combination; the levels of the last factor change fastest."""
        return itertools.product(*(range(len(factor.levels)) for factor in self.factors))

    def levels(self, combination: Combination) -> list[Level]:
        """Return the levels of a combination, in the order of the factors."""
        return [factor.levels[number] for factor, number in zip(self.factors, combination, strict=True)]

    def ranked(self, combination: Combination) -> list[Level]:
        """Return the levels of a combination, that of the most special factor last."""
        return [self.factors[index].levels[combination[index]] for index in self._ranking]

    def settings(self, combination: Combination) -> dict[str, Scalar]:
        """Return the settings that a combination makes, and those of all cases that it does not change."""
        settings = dict(self._common)
        for level in self.ranked(combination):
            settings.update(level.settings)
            if "ranks" in level.settings:
                _lower_nodes(settings, level.settings)
        return settings

    def columns(self, names: Mapping[str, object]) -> Columns:
        """Return what makes the settings `names`, none of which is one of a layout."""
        ranked = [(index, self.factors[index].levels) for index in self._ranking]
        own = [(index, [_only(names, level.settings) for level in levels]) for index, levels in ranked]
        return Columns(_only(names, self._common), [(index, levels) for index, levels in own if any(levels)])


class Columns:
    """Some of the settings that combinations make.

    `common` are those of all cases. `levels` are those of the levels of each factor that makes any, by the
    index of the factor; the most special factor is the last.
    """

    def __init__(self, common: Settings, levels: Sequence[tuple[int, Sequence[Settings]]]) -> None:
        self._common = common
        self._levels = levels

    def updated(
        self, settings: Mapping[str, Scalar | None], combination: Combination
    ) -> dict[str, Scalar | None]:
        """Return `settings`, in their order, with the values that `combination` gives them."""
        found = {**settings, **self._common}
        for index, levels in self._levels:
            found.update(levels[combination[index]])
        return found


def _only(names: Mapping[str, object], settings: Settings) -> Settings:
    return {name: value for name, value in settings.items() if name in names}


def all_factors(study: Study) -> tuple[Factor, ...]:
    """Return the factors of `study`; the list of its cases, if it has one, is the last factor."""
    return (*study.factors, Factor(CASES, study.cases)) if study.cases else study.factors


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
