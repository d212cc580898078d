"""Campaigns whose every value is planned: for tests of what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from support.synthetic import make_case, make_plan
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.workload import Better, Fom

ELAPSED = Fom(name="elapsed", unit="s", better=Better.LOWER, is_primary=True)
RATE = Fom(name="rate", unit="GB/s", better=Better.HIGHER, is_primary=True)

WORKLOAD = "planned"

NOISE = (1.0, 1.0007, 0.9994, 1.0003, 0.9998, 1.0011)


def about(value: float, blocks: int = 6) -> list[float]:
    """Return values about `value`, with little noise and many digits."""
    return [value * NOISE[block % len(NOISE)] for block in range(blocks)]


def make_planned(
    values: Mapping[str, Mapping[Fom, Sequence[float | None]]],
    *,
    margin: float = 0.02,
    check: str = "",
    folder: Path = Path("planned"),
) -> Campaign:
    """Return a finished campaign with these values of each network and figure, one for each block.

    The reference is the network ``host``. A run with None failed, at this `check`.
    """
    foms = tuple(dict.fromkeys(fom for figures in values.values() for fom in figures))
    blocks = max(len(series) for figures in values.values() for series in figures.values())
    cases = {network: make_case(network, workload=WORKLOAD) for network in values}
    plan = make_plan(tuple(cases.values()), blocks=blocks, margin=margin)
    plan = msgspec.structs.replace(plan, foms={WORKLOAD: foms})
    attempts = [
        _attempt(cases[network].id, block, {fom: series[block - 1] for fom, series in figures.items()}, check)
        for block in range(1, blocks + 1)
        for network, figures in values.items()
    ]
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, blocks + 1)}
    return Campaign(folder=folder, plan=plan, attempts=tuple(attempts), orders=orders)


def _attempt(case: str, block: int, values: Mapping[Fom, float | None], check: str) -> Attempt:
    series = [
        Series(fom=fom.name, unit=fom.unit, better=fom.better, values=[value])
        for fom, value in values.items()
        if value is not None
    ]
    has_failed = len(series) < len(values)
    return Attempt(
        case=case,
        block=block,
        attempt=1,
        state=State.FAILED if has_failed else State.DONE,
        reason="out of memory" if has_failed else "",
        check=check if has_failed else "",
        started_at=1e9 + 60 * block,
        elapsed_s=1.0,
        exit_code=int(has_failed),
        hosts=["n1", "n2"],
        series=[] if has_failed else series,
    )
