"""How long a campaign goes on: for its runs, or for as long as its budget lasts."""

from __future__ import annotations

import pytest

from tare.answers.budget import Spending
from tare.model.attempt import Attempt, State
from tare.model.study import Budget

RUN_S = 60.0


def spent(budget: Budget, n_runs: int) -> Spending:
    spending = Spending(budget)
    for block in range(1, n_runs + 1):
        attempt = Attempt(
            case="a",
            block=block,
            attempt=1,
            state=State.DONE,
            started_at=0.0,
            elapsed_s=RUN_S,
            hosts=["n1", "n2"],
        )
        spending.add(attempt, is_settled=True)
    return spending


def test_before_the_first_run_nobody_knows_how_long_it_takes() -> None:
    assert spent(Budget(), 0).left_s(100) is None


@pytest.mark.parametrize(
    ("budget", "left_s"),
    [
        (Budget(), 100 * RUN_S),
        (Budget(hours=1), 50 * RUN_S),
        (Budget(node_hours=1), 20 * RUN_S),  # of two nodes each
        (Budget(hours=10 / 60), 0.0),
        (Budget(hours=5 / 60), 0.0),  # it was overrun
    ],
)
def test_a_campaign_goes_on_no_longer_than_its_budget(budget: Budget, left_s: float) -> None:
    assert spent(budget, 10).left_s(100) == pytest.approx(left_s)
