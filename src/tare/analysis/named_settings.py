"""Settings that a user names, with the values that cases have: ``64KiB`` becomes 65536."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.plan import Plan
from tare.core.values import Scalar, is_written


def values_of_cases(plan: Plan, named: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return `named` with the values of the plan's cases; what no case has stays as it is written."""
    return {name: _value(plan, name, value) for name, value in named.items()}


def _value(plan: Plan, name: str, value: Scalar) -> Scalar:
    if not isinstance(value, str):
        return value
    levels = dict.fromkeys(case.settings[name] for case in plan.cases if name in case.settings)
    return next((level for level in levels if is_written(level, value)), value)
