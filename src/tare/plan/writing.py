"""Levels as a study writes them, for sentences about a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.study import Factor, Level
from tare.core.values import Scalar
from tare.core.workload import ParameterKind, written


class Writer:
    """Writes settings in their units; `kinds` tells by workload of what kind its parameters are."""

    def __init__(self, kinds: Mapping[str, Mapping[str, ParameterKind]]) -> None:
        found: dict[str, set[ParameterKind]] = {}
        for own in kinds.values():
            for name, kind in own.items():
                found.setdefault(name, set()).add(kind)
        self._kinds = {name: next(iter(among)) for name, among in found.items() if len(among) == 1}

    def setting(self, name: str, value: Scalar) -> str:
        """Return a setting's value as a study writes it."""
        return written(value, self._kinds.get(name))

    def level(self, level: Level) -> str:
        """Return a level with what it sets: its name, or ``nodes=2``."""
        if level.name:
            return level.name
        return " ".join(f"{name}={self.setting(name, value)}" for name, value in level.settings.items())

    def value(self, factor: Factor, level: Level) -> str:
        """Return a level of `factor` without the name that both share: ``2``."""
        if level.name is None and tuple(level.settings) == (factor.name,):
            return self.setting(factor.name, level.settings[factor.name])
        return self.level(level)
