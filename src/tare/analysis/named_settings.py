"""Settings that a user names, with the values that cases have: ``64KiB`` becomes 65536."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.values import Scalar, is_written


def values_of_cases(plan: Plan, named: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return `named` with the values of the plan's cases; what no case has stays as it is written."""
    return {name: _value(plan, name, value) for name, value in named.items()}


def no_reference(plan: Plan, given_as: str) -> UsageError:
    """Return the error of a comparison without a reference; `given_as` shows how to name one."""
    if not plan.varied:
        return UsageError(
            f"nothing varies in study {plan.study}, so there is nothing to compare; 'tare report' shows what "
            "was measured"
        )
    return UsageError(
        f"study {plan.study} names no reference; give one {given_as}, where KEY is one of what varies: "
        f"{', '.join(plan.varied)}"
    )


def _value(plan: Plan, name: str, value: Scalar) -> Scalar:
    if not isinstance(value, str):
        return value
    levels = dict.fromkeys(case.settings[name] for case in plan.cases if name in case.settings)
    return next((level for level in levels if is_written(level, value)), value)
