"""Why a campaign stopped: what `status` tells is what the loop decided."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.doubles import MemoryLog
from support.synthetic import SIZES, make_attempt, make_campaign, make_case
from tare.analysis.repeats.stop_reason import stop_reason
from tare.analysis.repeats.stopping import StoppingRule
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Case, Run
from tare.core.study import Budget, Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop

CASES = [make_case(network) for network in ("host", "overlay", "macvlan")]
NOISE = {"host": 0.001, "overlay": 0.03, "macvlan": 0.001}


def simulate(budget: Budget, *, until: float | None = 0.02, most: int = 12) -> Campaign:
    """Run a campaign whose overlay is noisy; each run takes a second on two nodes."""
    repeats = Repeats(min=3, max=most, until=until, budget=budget)
    plan = msgspec.structs.replace(make_campaign(CASES).plan, repeats=repeats)
    random = np.random.default_rng(7)

    def execute(case: Case, run: Run, number: int) -> Attempt:
        factor = float(np.exp(random.normal(0, NOISE[str(case.network)])))
        began_at = 1e9 + len(log.ended)
        return make_attempt(case, run.block, [20 * factor] * len(SIZES), started_at=began_at)

    log = MemoryLog()
    rule = StoppingRule(plan) if until is not None else None
    Loop(plan, log, SerialExecutor(execute), rule=rule).run()
    return Campaign(folder=Path("c"), plan=plan, attempts=tuple(log.ended), orders=dict(log.blocks))


def test_a_campaign_that_reached_its_precision_left_nothing_open() -> None:
    end = stop_reason(simulate(Budget(runs=500), most=60))
    assert (end.is_budget_spent, end.n_settled, end.unsettled) == (False, 2, ())


def test_a_campaign_that_came_to_its_last_block_names_what_is_open() -> None:
    campaign = simulate(Budget(), most=6)
    end = stop_reason(campaign)
    assert end.is_budget_spent is False
    assert [(one.case, one.against, one.n_blocks) for one in end.unsettled] == [(CASES[1].id, CASES[0].id, 6)]


@pytest.mark.parametrize(
    "budget", [Budget(runs=14), Budget(runs=5), Budget(hours=10 / 3600), Budget(node_hours=10 / 3600)]
)
@pytest.mark.parametrize("until", [0.02, None])
def test_a_spent_budget_is_what_ended_it(budget: Budget, until: float | None) -> None:
    assert stop_reason(simulate(budget, until=until)).is_budget_spent


def test_a_budget_that_is_used_up_exactly_at_the_end_stopped_nothing() -> None:
    assert not stop_reason(simulate(Budget(runs=9), until=None, most=3)).is_budget_spent


def test_a_study_without_limits_has_no_stop_reason() -> None:
    end = stop_reason(simulate(Budget(), until=None, most=3))
    assert (end.is_budget_spent, end.n_settled, end.unsettled) == (False, 0, ())
