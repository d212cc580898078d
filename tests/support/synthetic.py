"""Campaigns that were never measured, with a known truth: for tests of what comes after measuring."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.values import Scalar, Settings
from tare.core.workload import Better, Fom
from tare.storage.campaign import JOURNAL, freeze
from tare.storage.journal import AttemptEnded, BlockBegan, Journal

PINGPONG_FOMS = (
    Fom(name="latency", unit="us", better=Better.LOWER, by=("bytes",), is_primary=True),
    Fom(name="bandwidth", unit="MB/s", better=Better.HIGHER, by=("bytes",), is_primary=True),
)
SIZES = (1, 1024, 65536, 1048576)


def make_case(
    network: str = "host",
    *,
    workload: str = "synthetic.pingpong",
    nodes: int = 2,
    platform: str = "bare",
    parameters: Settings | None = None,
) -> Case:
    """Return a case of one rank a node."""
    parameters = parameters or {}
    name = f"{workload} {platform} {network} {nodes} {sorted(parameters.items())}"
    return Case(
        id=hashlib.blake2b(name.encode(), digest_size=6).hexdigest(),
        workload=workload,
        platform=platform,
        network=network,
        layout=Layout(nodes=nodes, ranks=nodes, ranks_per_node=1),
        parameters=parameters,
    )


def make_campaign(
    cases: Sequence[Case] | None = None,
    *,
    ratio: Mapping[str, float] | float = 1.5,
    noise: float = 0.02,
    drift: float = 0.0,
    blocks: int = 5,
    seed: int = 1,
    sizes: Sequence[int] = SIZES,
    reference: Settings | None = None,
    margin: float = 0.02,
    folder: Path = Path("synthetic"),
) -> Campaign:
    """Return a finished campaign of a ping-pong, without a file on any disk.

    The latency of n bytes is (20 + n/1000) µs on the reference, and its bandwidth n over that. On
    any other case it is `ratio` times that, a number or one for each network. `noise` is the standard
    deviation of the logarithm of each run as a whole and of each value in it; `drift` slows every
    block by that share over the block before, on both sides alike. By default the cases are one on
    the ``host`` network, the reference, and one on ``overlay``.
    """
    cases = tuple(cases or (make_case("host"), make_case("overlay")))
    plan = make_plan(cases, reference=reference, blocks=blocks, margin=margin, seed=seed)
    random = np.random.default_rng(seed)
    attempts: list[Attempt] = []
    for block in range(1, blocks + 1):
        for case in plan.order(block):
            slower = _ratio(ratio, case, is_reference=plan.is_reference(case))
            run = slower * (1 + drift) ** (block - 1) * np.exp(random.normal(0, noise))
            values = run * np.exp(random.normal(0, noise, len(sizes)))
            latency = (20 + np.array(sizes) / 1000) * values
            attempts.append(
                make_attempt(case, block, latency.tolist(), sizes, started_at=1e9 + len(attempts))
            )
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, blocks + 1)}
    return Campaign(folder=folder, plan=plan, attempts=tuple(attempts), orders=orders)


def write_campaign(campaign: Campaign, folder: Path) -> Path:
    """Write `campaign` into `folder` as the runner does, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    freeze(folder, campaign.plan, {})
    with Journal(folder / JOURNAL) as journal:
        for block, order in campaign.orders.items():
            journal.append(BlockBegan(block, order), is_synced=False)
        for attempt in campaign.attempts:
            journal.append(AttemptEnded(attempt), is_synced=False)
    return folder


def make_plan(
    cases: Sequence[Case],
    *,
    reference: Settings | None = None,
    blocks: int = 5,
    margin: float = 0.02,
    seed: int = 1,
) -> Plan:
    """Return the plan of `cases`, held against the ``host`` network unless told otherwise."""
    names = dict.fromkeys(name for case in cases for name in case.settings)
    levels: dict[str, set[Scalar | None]] = {
        name: {case.settings.get(name) for case in cases} for name in names
    }
    return Plan(
        study="synthetic",
        question="What does the overlay cost?",
        site="nowhere",
        cases=tuple(cases),
        varied=tuple(name for name, found in levels.items() if len(found) > 1),
        reference={"network": "host"} if reference is None else reference,
        repeats=Repeats(min=blocks, max=blocks),
        margin=margin,
        seed=seed,
        foms={case.workload: PINGPONG_FOMS for case in cases},
    )


def make_attempt(
    case: Case,
    block: int,
    latency: Sequence[float],
    sizes: Sequence[int] = SIZES,
    *,
    state: State = State.DONE,
    started_at: float = 1e9,
) -> Attempt:
    """Return an attempt with one latency in µs, and the bandwidth that follows from it, for each size."""
    at: dict[str, list[Scalar]] = {"bytes": list(sizes)}
    bandwidth = [size / time for size, time in zip(sizes, latency, strict=True)]
    return Attempt(
        case=case.id,
        block=block,
        attempt=1,
        state=state,
        started_at=started_at,
        elapsed_s=1.0,
        exit_code=0,
        hosts=[f"n{number}" for number in range(1, case.layout.nodes + 1)],
        series=[
            Series(fom="latency", unit="us", better=Better.LOWER, at=at, values=list(latency)),
            Series(fom="bandwidth", unit="MB/s", better=Better.HIGHER, at=at, values=bandwidth),
        ],
    )


def _ratio(ratio: Mapping[str, float] | float, case: Case, *, is_reference: bool) -> float:
    if isinstance(ratio, Mapping):
        return ratio.get(case.network or "", 1.0)
    return 1.0 if is_reference else ratio
