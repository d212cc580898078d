"""Write levels as a study writes them, for sentences about a plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.study import Factor, Level
from tare.core.values import Scalar
from tare.core.workload import ParameterKind, written


class Writer:
    """Writes settings with their units; `kinds` holds the kinds of the parameters by workload."""

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
        """Return a level's name or, without one, its settings: ``nodes=2``."""
        if level.name:
            return level.name
        return " ".join(f"{name}={self.setting(name, value)}" for name, value in level.settings.items())

    def value(self, factor: Factor, level: Level) -> str:
        """Return a level without its setting's name where that is the factor's own name: ``2``."""
        if level.name is None and tuple(level.settings) == (factor.name,):
            return self.setting(factor.name, level.settings[factor.name])
        return self.level(level)
