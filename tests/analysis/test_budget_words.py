"""Budgets in words."""

from __future__ import annotations

import pytest

from tare.analysis.repeats.budget import describe_budget
from tare.core.counting import node_hours
from tare.core.study import Budget


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(runs=1), "1 run"),
        (Budget(runs=2_000_000, hours=12), "2000000 runs or 12 h"),
        (Budget(node_hours=1), "1 node-hour"),
        (Budget(node_hours=1234567.5), "1234567.5 node-hours"),
    ],
)
def test_a_budget_is_said_exactly(budget: Budget, words: str) -> None:
    assert describe_budget(budget) == words


def test_an_estimate_is_said_to_three_digits_without_an_exponent() -> None:
    assert node_hours(12345.6, digits=3) == "12300 node-hours"
    assert node_hours(0.99999, digits=3) == "1 node-hour"
