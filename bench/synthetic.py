"""Write synthetic campaigns of many measurements to disk, in the form that the runner leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tare.core.attempt import Attempt, Series, State
from tare.core.case import Case, Layout
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.values import Scalar
from tare.core.workload import Better, Fom
from tare.storage.campaign import JOURNAL, freeze
from tare.storage.journal import AttemptEnded, BlockBegan, Journal

N_POINTS = 100
"""Measurements of one run: a latency and a bandwidth at each of 50 message sizes."""

_SIZES: list[Scalar] = [int(2 ** (power / 2)) for power in range(4, 54)]
_FOMS = (
    Fom(name="latency", unit="us", better=Better.LOWER, by=("bytes",), is_primary=True),
    Fom(name="bandwidth", unit="MB/s", better=Better.HIGHER, by=("bytes",), is_primary=True),
)
_COST = {"host": 1.0, "macvlan": 1.004, "overlay": 1.5, "rate-limited": 2.2}


class Shape(NamedTuple):
    """The size of a synthetic campaign: `n_blocks` runs of `n_workloads` × `n_levels` × `n_networks` cases.

    Each run has a latency and a bandwidth at each of `n_sizes` message sizes, at most 50. The levels are
    those of a parameter of the workload.
    """

    n_blocks: int
    n_workloads: int
    n_levels: int = 1
    n_networks: int = 4
    n_sizes: int = N_POINTS // 2

    @property
    def n_cases(self) -> int:
        """Return the number of cases."""
        return self.n_workloads * self.n_levels * self.n_networks

    @property
    def n_runs(self) -> int:
        """Return the number of runs."""
        return self.n_blocks * self.n_cases


def write_campaign(folder: Path, shape: Shape, *, has_evidence: bool = True) -> Path:
    """Write a campaign of this shape; one run in 200 failed.

    The folder of each run has its command and its output, if it `has_evidence`.
    """
    cases = tuple(
        _case(f"synthetic.w{number:03}", level if shape.n_levels > 1 else None, network)
        for number in range(shape.n_workloads)
        for level in range(shape.n_levels)
        for network in list(_COST)[: shape.n_networks]
    )
    plan = Plan(
        study="a million measurements",
        question="What do the networks cost?",
        site="nowhere",
        cases=cases,
        varied=("workload", "network") if shape.n_levels == 1 else ("workload", "level", "network"),
        reference={"network": "host"},
        repeats=Repeats(min=shape.n_blocks, max=shape.n_blocks),
        foms={case.workload: _FOMS for case in cases},
    )
    freeze(folder, plan, {})
    random = np.random.default_rng(1)
    with Journal(folder / JOURNAL) as journal:
        for block in range(1, shape.n_blocks + 1):
            order = plan.order(block)
            journal.append(BlockBegan(block, [case.id for case in order]), is_synced=False)
            for case in order:
                attempt = _attempt(case, block, _SIZES[: shape.n_sizes], random)
                journal.append(AttemptEnded(attempt), is_synced=False)
                if has_evidence:
                    _write_evidence(folder / attempt.folder, attempt)
    return folder


def _case(workload: str, level: int | None, network: str) -> Case:
    return Case(
        id=f"{workload}-{network}" if level is None else f"{workload}-{level}-{network}",
        workload=workload,
        platform="bare",
        network=network,
        layout=Layout(nodes=2, ranks=2),
        parameters={} if level is None else {"level": level},
    )


def _attempt(case: Case, block: int, all_sizes: list[Scalar], random: np.random.Generator) -> Attempt:
    sizes = np.array(all_sizes, np.float64)
    noise = np.exp(random.normal(0, 0.01) + random.normal(0, 0.01, len(sizes)))
    latency = (20 + sizes / 1000) * _COST[case.network or "host"] * noise
    is_done = bool(random.random() > 0.005)
    at = {"bytes": all_sizes}
    series = [
        Series(fom="latency", unit="us", better=Better.LOWER, at=at, values=latency.round(3).tolist()),
        Series(
            fom="bandwidth",
            unit="MB/s",
            better=Better.HIGHER,
            at=at,
            values=(sizes / latency).round(3).tolist(),
        ),
    ]
    return Attempt(
        case=case.id,
        block=block,
        attempt=1,
        state=State.DONE if is_done else State.FAILED,
        reason="" if is_done else "exit code 1",
        started_at=1.7e9 + block,
        elapsed_s=float(latency.sum() / 1000),
        exit_code=0 if is_done else 1,
        hosts=["n1", "n2"],
        series=series if is_done else [],
        load=float(random.random()),
    )


def _write_evidence(folder: Path, attempt: Attempt) -> None:
    folder.mkdir(parents=True)
    lines = [f"{series.fom} {series.values}" for series in attempt.series]
    (folder / "stdout").write_text("\n".join(lines))
    (folder / "stderr").write_text("")
    command = {"argv": ["mpirun", "-n", "2", attempt.case], "env": {}, "host": "n1"}
    (folder / "command.json").write_text(json.dumps([command]))
