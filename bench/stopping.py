"""Measure the time that the stopping rule takes after each block to decide which cases continue."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.rows import Row
from tare.analysis.repeats.stopping import StoppingRule
from tare.core.attempt import Attempt, Series, State
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.values import Scalar

_N_PAIRS = 500
_N_BLOCKS = 10
_SIZES: list[Scalar] = [2**power for power in range(24)]


def measure() -> Iterator[Row]:
    """Give a stopping rule 10,000 runs, each with two figures of merit at 24 sizes."""
    plan = _plan()
    rule = StoppingRule(plan)
    random = np.random.default_rng(1)
    adding, asking = 0.0, []
    for block in range(1, _N_BLOCKS + 1):
        attempts = [_attempt(case, block, random) for case in plan.cases]
        started = time.perf_counter()
        for attempt in attempts:
            rule.add(attempt)
        added = time.perf_counter()
        rule.wanted()
        adding += added - started
        asking.append(time.perf_counter() - added)
    n_runs = len(plan.cases) * _N_BLOCKS
    yield Row(f"stopping rule, {n_runs:,} runs taken in", f"{adding / n_runs * 1e6:.0f} µs each", "", "")
    yield Row(
        f"stopping rule, asked after block {_N_BLOCKS}", f"{asking[-1] * 1e3:.0f} ms", "", "under 100 ms"
    )


def _plan() -> Plan:
    cases = tuple(
        Case(id=f"{number}-{network}", workload=f"synthetic.w{number}", platform="bare", network=network)
        for number in range(_N_PAIRS)
        for network in ("host", "overlay")
    )
    repeats = Repeats(min=3, max=_N_BLOCKS, until=0.02)
    return Plan(study="s", site="nowhere", cases=cases, reference={"network": "host"}, repeats=repeats)


def _attempt(case: Case, block: int, random: np.random.Generator) -> Attempt:
    latency = np.exp(random.normal(0, 0.05, len(_SIZES)))
    series = [
        Series(fom="latency", unit="us", at={"bytes": _SIZES}, values=latency.tolist()),
        Series(fom="bandwidth", unit="MB/s", at={"bytes": _SIZES}, values=(1 / latency).tolist()),
    ]
    return Attempt(
        case=case.id, block=block, attempt=1, state=State.DONE, started_at=0.0, elapsed_s=1.0, series=series
    )
