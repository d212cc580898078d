"""Campaigns of microbenchmarks that were never measured: messages cost latency + bytes / bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from support.synthetic import make_case, make_plan
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.workload import Better


class Wire(NamedTuple):
    """A network: the latency of a message in seconds, and its bytes per second."""

    latency_s: float
    bytes_per_s: float

    def seconds(self, n_bytes: float) -> float:
        """Return the time of a message."""
        return self.latency_s + n_bytes / self.bytes_per_s


SIZES = (0, *(1 << power for power in range(21)))


def curves_campaign(
    networks: Mapping[str, Wire],
    *,
    blocks: int = 5,
    noise: float = 0.01,
    seed: int = 1,
    with_collectives: int = 0,
) -> Campaign:
    """Return a campaign of tare.p2p, and of tare.collectives on as many ranks as asked, on each network."""
    random = np.random.default_rng(seed)
    cases = [make_case(name, workload="tare.p2p") for name in networks]
    if with_collectives:
        cases += [make_case(name, workload="tare.collectives", nodes=with_collectives) for name in networks]
    plan = make_plan(cases, blocks=blocks)
    attempts = tuple(
        _attempt(case, block, networks[case.network or ""], random, noise)
        for block in range(1, blocks + 1)
        for case in cases
    )
    orders = {block: [case.id for case in cases] for block in range(1, blocks + 1)}
    return Campaign(folder=Path("curves"), plan=plan, attempts=attempts, orders=orders)


def _attempt(case: Case, block: int, wire: Wire, random: np.random.Generator, noise: float) -> Attempt:
    run = float(np.exp(random.normal(0, noise)))
    if case.workload == "tare.p2p":
        values = [wire.seconds(size) * 1e6 * run for size in SIZES]
        series = Series(
            fom="latency_mean", unit="us", better=Better.LOWER, at={"bytes": [*SIZES]}, values=values
        )
    else:
        depth = int(np.ceil(np.log2(case.layout.ranks)))
        values = [wire.seconds(size) * depth * 1e6 * run for size in SIZES[1:]]
        series = Series(
            fom="time_mean",
            unit="us",
            better=Better.LOWER,
            at={"op": ["allreduce"] * len(values), "bytes": [*SIZES[1:]]},
            values=values,
        )
    return Attempt(
        case=case.id,
        block=block,
        attempt=1,
        state=State.DONE,
        started_at=1e9 + block,
        elapsed_s=1.0,
        series=[series],
    )


def joined(one: Campaign, other: Campaign) -> Campaign:
    """Return one campaign with the cases and runs of both, in the folder of the first."""
    plan = msgspec.structs.replace(
        one.plan, cases=one.plan.cases + other.plan.cases, foms={**one.plan.foms, **other.plan.foms}
    )
    return msgspec.structs.replace(one, plan=plan, attempts=one.attempts + other.attempts)


def with_sizes(campaign: Campaign, least: int, most: int) -> Campaign:
    """Return `campaign` with the sizes from `least` to `most` alone."""
    attempts = []
    for one in campaign.attempts:
        series = []
        for each in one.series:
            kept = [at for at, size in enumerate(each.at["bytes"]) if least <= int(size) <= most]
            coordinates = {name: [values[at] for at in kept] for name, values in each.at.items()}
            series.append(
                msgspec.structs.replace(each, at=coordinates, values=[each.values[at] for at in kept])
            )
        attempts.append(msgspec.structs.replace(one, series=series))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def with_exchanges(campaign: Campaign, factors: Mapping[str, float]) -> Campaign:
    """Return `campaign` with exchanges on some networks: so many times as long as a message one way."""
    networks = {case.id: case.network or "" for case in campaign.plan.cases}
    attempts = []
    for one in campaign.attempts:
        series = list(one.series)
        factor = factors.get(networks[one.case])
        for each in one.series if factor else ():
            if each.fom == "latency_mean":
                values = [value * (factor or 0.0) for value in each.values]
                series.append(msgspec.structs.replace(each, fom="exchange_mean", values=values))
        attempts.append(msgspec.structs.replace(one, series=series))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))
