"""Campaigns of an application at several scales, with a known law: for tests of scaling and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from support.synthetic import make_case, make_plan
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.study import Scaling
from tare.core.workload import Better, Fom

NS_PER_DAY = Fom(name="ns_per_day", unit="ns/day", better=Better.HIGHER, is_primary=True)
SECONDS = Fom(name="elapsed", unit="s", better=Better.LOWER, is_primary=True)

Law = Callable[[Case], float]
"""Takes a case and returns its true value."""


def usl(gamma: float = 6.0, sigma: float = 0.03, kappa: float = 0.001) -> Law:
    """Return the Universal Scalability Law in nodes: a rate."""

    def rate(case: Case) -> float:
        p = case.layout.nodes
        return gamma * p / (1 + sigma * (p - 1) + kappa * p * (p - 1))

    return rate


def make_application(
    laws: Mapping[str, Law],
    scales: Sequence[int] = (1, 2, 4, 8, 16),
    *,
    fom: Fom = NS_PER_DAY,
    scaling: Scaling | None = None,
    blocks: int = 5,
    noise: float = 0.01,
    missing: Sequence[tuple[str, int]] = (),
    cases: Sequence[Case] | None = None,
    seed: int = 1,
) -> Campaign:
    """Return a finished campaign of an application whose truth is a law a network.

    Each block as a whole is off by 5 %, on all sides alike, and each run by `noise` more. The runs at
    `missing`, (network, nodes), failed.
    """
    workload = "synthetic.application"
    cases = cases or [make_case(name, workload=workload, nodes=nodes) for name in laws for nodes in scales]
    plan = msgspec.structs.replace(
        make_plan(cases, blocks=blocks), foms={workload: (fom,)}, scaling=scaling or Scaling()
    )
    random = np.random.default_rng(seed)
    attempts = []
    for block in range(1, blocks + 1):
        drift = np.exp(random.normal(0, 0.05))
        for case in plan.order(block):
            value = laws[case.network or ""](case) * drift * np.exp(random.normal(0, noise))
            is_missing = (case.network, case.layout.nodes) in missing
            attempts.append(_attempt(case, block, fom, float(value), is_missing=is_missing))
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, blocks + 1)}
    return Campaign(folder=Path("synthetic"), plan=plan, attempts=tuple(attempts), orders=orders)


def _attempt(case: Case, block: int, fom: Fom, value: float, *, is_missing: bool) -> Attempt:
    series = Series(fom=fom.name, unit=fom.unit, better=fom.better, values=[value])
    return Attempt(
        case=case.id,
        block=block,
        attempt=1,
        state=State.FAILED if is_missing else State.DONE,
        reason="out of memory" if is_missing else "",
        started_at=1e9,
        elapsed_s=1.0,
        exit_code=1 if is_missing else 0,
        series=[] if is_missing else [series],
    )
