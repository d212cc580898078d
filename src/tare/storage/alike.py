"""Keep equal values of a campaign's attempts once in memory.

Runs of a case have the same coordinates, hosts and sentences. Read line by line, each attempt has copies of
its own, which are most of what a campaign of 100,000 runs would take.
"""

from __future__ import annotations

import sys

from msgspec.structs import force_setattr

from tare.core.attempt import Attempt
from tare.core.values import Scalar

_TEXTS = ("case", "reason", "check", "transport", "chosen", "placement", "environment", "ran_as")
_MAPPINGS = ("traffic", "telemetry", "imported", "printed")


class Alike:
    """The values seen so far. What it shares must never be changed in place, as nothing of an attempt is."""

    def __init__(self) -> None:
        self._columns: dict[
            tuple[type, ...] | tuple[Scalar, ...], dict[tuple[Scalar, ...], list[Scalar]]
        ] = {}
        self._coordinates: dict[tuple[tuple[str, int], ...], dict[str, list[Scalar]]] = {}
        self._hosts: dict[tuple[str, ...], list[str]] = {}
        self._nothing: dict[str, object] = {}

    def share(self, attempt: Attempt) -> None:
        """Replace values of `attempt` by equal ones of earlier attempts."""
        for name in _TEXTS:
            text = getattr(attempt, name)
            if text:
                force_setattr(attempt, name, sys.intern(text))
        for name in _MAPPINGS:
            if not getattr(attempt, name):
                force_setattr(attempt, name, self._nothing)
        if attempt.left_out:
            force_setattr(attempt, "left_out", [*map(sys.intern, attempt.left_out)])
        force_setattr(attempt, "hosts", self._hosts.setdefault(tuple(attempt.hosts), attempt.hosts))
        for series in attempt.series:
            force_setattr(series, "fom", sys.intern(series.fom))
            force_setattr(series, "unit", sys.intern(series.unit))
            force_setattr(series, "at", self._at(series.at))

    def _at(self, at: dict[str, list[Scalar]]) -> dict[str, list[Scalar]]:
        columns = {name: self._column(column) for name, column in at.items()}
        key = tuple((name, id(column)) for name, column in columns.items())  # each is kept, so its id is too
        return self._coordinates.setdefault(key, columns)

    def _column(self, column: list[Scalar]) -> list[Scalar]:
        kinds = tuple(map(type, column))  # 1, 1.0 and True are equal, and are not the same coordinate
        return self._columns.setdefault(kinds, {}).setdefault(tuple(column), column)
