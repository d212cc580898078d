"""What the stopping rule costs, beside the best fixed design and an oracle that knows the noise.

Simulated campaigns of 8 references with 4 contenders each, whose noise is spread over 0.5 to 6 % by
the logarithm, as kernels and file systems differ. All of it runs through the real loop.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from support.doubles import MemoryLog
from support.synthetic import make_attempt, make_case, make_plan
from tare.analysis.repeats.stopping import StoppingRule
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Case, Run
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.execution.executor import SerialExecutor
from tare.execution.loop import Loop
from tare.stats.intervals import t_factors

UNTIL = 0.02
LEAST, MOST = 5, 100
TRUE_RATIO = 1.05
SIZES = range(8)
CONTENDERS = ("overlay", "macvlan", "tcp-1g", "ib")
N_STUDIES = 8


def study(seed: int) -> tuple[Plan, dict[str, float]]:
    """Return a plan, and the noise of each case as the standard deviation of a run's logarithm."""
    cases = [
        make_case(network, parameters={"size": size}) for size in SIZES for network in ("host", *CONTENDERS)
    ]
    random = np.random.default_rng(seed)
    noise = np.exp(random.uniform(math.log(0.005), math.log(0.06), len(cases)))
    plan = make_plan(cases, seed=seed)
    plan = msgspec.structs.replace(plan, repeats=Repeats(min=LEAST, max=MOST, until=UNTIL))
    return plan, {case.id: float(one) for case, one in zip(cases, noise, strict=True)}


def carry_out(seed: int) -> tuple[Campaign, dict[str, float]]:
    """Run the study by the rule; every block is slowed by a drift that all cases share."""
    plan, noise = study(seed)
    random = np.random.default_rng(seed + 100)

    def execute(case: Case, run: Run, number: int) -> Attempt:
        drift = 0.03 * math.sin(run.block)
        slower = 1.0 if plan.is_reference(case) else TRUE_RATIO
        return make_attempt(
            case, run.block, [slower * math.exp(drift + random.normal(0, noise[case.id]))], [1]
        )

    log = MemoryLog()
    Loop(plan, log, SerialExecutor(execute), rule=StoppingRule(plan)).run()
    campaign = Campaign(folder=Path("c"), plan=plan, attempts=tuple(log.ended), orders=dict(log.blocks))
    return campaign, noise


def deviations(plan: Plan, noise: dict[str, float]) -> dict[tuple[str, str], float]:
    """Return the true spread of each contender's log ratio to its reference, by block."""
    found = {}
    for case in plan.cases:
        reference = plan.reference_of(case)
        if reference is not None:
            found[case.id, reference.id] = math.hypot(noise[case.id], noise[reference.id])
    return found


def enough_blocks(deviation: float) -> int:
    """Return the blocks after which the interval is narrow enough, for somebody who knows the noise."""
    n_blocks = np.arange(LEAST, MOST + 1)
    half = t_factors(np.asarray(n_blocks - 1, np.float64), 0.95) * deviation / np.sqrt(n_blocks)
    return int(n_blocks[np.argmax(half <= math.log1p(UNTIL))])


def oracle_runs(plan: Plan, noise: dict[str, float]) -> int:
    """Return the runs of the best plan that knows all noise: each pair just as long as it must go on."""
    blocks = dict.fromkeys(noise, LEAST)
    for (contender, reference), deviation in deviations(plan, noise).items():
        blocks[contender] = enough_blocks(deviation)
        blocks[reference] = max(blocks[reference], blocks[contender])
    return sum(blocks.values())


def fixed_runs(plan: Plan, noise: dict[str, float]) -> int:
    """Return the runs of the best fixed design: as many blocks for all as 95 % of the pairs need."""
    needed = sorted(enough_blocks(one) for one in deviations(plan, noise).values())
    return needed[math.ceil(0.95 * len(needed)) - 1] * len(plan.cases)


@pytest.fixture(scope="module")
def carried_out() -> list[tuple[Campaign, dict[str, float]]]:
    """Return what became of each study, and its noise."""
    return [carry_out(seed) for seed in range(1, N_STUDIES + 1)]


def test_the_rule_costs_little_more_than_an_oracle_and_far_less_than_a_fixed_design(
    carried_out: list[tuple[Campaign, dict[str, float]]],
) -> None:
    """Taken together: a single study is luckier or not. Blocks that look alike by chance count as fewer."""
    n_runs = sum(len(campaign.attempts) for campaign, _ in carried_out)
    oracle = sum(oracle_runs(campaign.plan, noise) for campaign, noise in carried_out)
    fixed = sum(fixed_runs(campaign.plan, noise) for campaign, noise in carried_out)
    assert n_runs <= 1.2 * oracle
    assert n_runs <= 0.6 * fixed


def test_it_reaches_its_precision_and_its_intervals_contain_the_true_value(
    carried_out: list[tuple[Campaign, dict[str, float]]],
) -> None:
    answers = [one for campaign, _ in carried_out for one in aggregates(campaign) if one.fom == "latency"]
    ends = [(one.low, one.ratio, one.high) for one in answers if one.low and one.ratio and one.high]
    assert len(ends) == N_STUDIES * len(SIZES) * len(CONTENDERS)
    assert all(one.ratio and one.high and one.high / one.ratio - 1 <= UNTIL * (1 + 1e-9) for one in answers)
    n_missed = sum(not low <= TRUE_RATIO <= high for low, _, high in ends)
    assert n_missed <= 0.07 * len(ends)
