"""Profiled campaigns that were never measured, with a known truth: what each component costs on each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from support.synthetic import make_campaign, make_case, write_campaign
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.storage.campaign import JOURNAL

Component = tuple[str, int]
"""``("computation", 0)``, ``("files", 0)``, or an MPI function and its size class."""

Truth = Mapping[Component, float]
"""Seconds a run of each component."""

BASE: dict[Component, float] = {
    ("computation", 0): 8.0,
    ("MPI_Allreduce", 8): 0.5,
    ("MPI_Alltoall", 2048): 0.5,
    ("MPI_Alltoall", 4096): 0.5,
    ("MPI_Isend", 1 << 20): 0.4,
    ("files", 0): 0.1,
}


def profile(
    truth: Truth,
    random: np.random.Generator,
    *,
    ranks: int = 4,
    noise: float = 0.01,
    slow_rank_s: float = 0.0,
    calls: int = 10_000,
    uncovered_s: float = 0.0,
    locality: str = "mixed",
    scatter: Truth | None = None,
) -> dict[str, Any]:
    """Return a profile in the form of `profile.json`: `truth` × noise of each component and each rank.

    `slow_rank_s` is what the last rank computes longer, for which the others wait in their MPI_Allreduce.
    `uncovered_s` is time that no component covers. `scatter` is the noise of components from run to run that
    have another than `noise`.
    """

    def spread(seconds: float, component: Component) -> list[float]:
        common = np.exp(random.normal(0, (scatter or {}).get(component, noise)))
        return [float(one) for one in seconds * common * np.exp(random.normal(0, noise / 2, ranks))]

    computation = spread(truth["computation", 0], ("computation", 0))
    late = [0.0] * (ranks - 1) + [slow_rank_s * float(np.exp(random.normal(0, noise)))]
    computation = [one + more for one, more in zip(computation, late, strict=True)]
    waits = [max(computation) - one for one in computation]
    functions: list[dict[str, Any]] = []
    for (name, size), seconds in truth.items():
        if not name.startswith("MPI_"):
            continue
        inside = spread(seconds, (name, size))
        waiting = waits if name == "MPI_Allreduce" else [0.0] * ranks
        is_collective = name not in {"MPI_Isend", "MPI_Irecv", "MPI_Recv", "MPI_Send"}
        functions.append(
            {
                "function": name,
                "size_class": size,
                "comm_size": ranks,
                "locality": locality if is_collective else "inter",
                "calls": [calls] * ranks,
                "bytes": [calls * size] * ranks,
                "seconds": [one + wait for one, wait in zip(inside, waiting, strict=True)],
                "transfer_s": inside if is_collective else [0.0] * ranks,
                "waiting_s": waiting,
            }
        )
    written = spread(truth["files", 0], ("files", 0))
    wall = [
        computation[rank] + written[rank] + sum(row["seconds"][rank] for row in functions) + uncovered_s
        for rank in range(ranks)
    ]
    return {
        "version": 1,
        "mpi": "Open MPI 4.1.4",
        "ranks": ranks,
        "nodes": [f"n{1 + rank * 2 // ranks}" for rank in range(ranks)],
        "wall_s": wall,
        "computation_s": computation,
        "functions": functions,
        "files": [
            {
                "operation": "write",
                "file_system": "ext4",
                "path_prefix": "/scratch",
                "calls": [10] * ranks,
                "bytes": [1 << 20] * ranks,
                "seconds": written,
            }
        ],
        "instances_kept": 100,
        "instances_dropped": 0,
        "overhead_s": [0.001] * ranks,
        "complete": True,
    }


def profiled_campaign(
    folder: Path,
    reference: Truth,
    contender: Truth,
    *,
    blocks: int = 6,
    seed: int = 1,
    noise: float = 0.01,
    slow_rank_s: float = 0.0,
    uncovered_s: float = 0.0,
    cases: Sequence[Case] | None = None,
    workload: str = "synthetic.program",
    scatter: Truth | None = None,
) -> Campaign:
    """Return a written campaign with a plain and a profiled run of each case in each block.

    `slow_rank_s`, `uncovered_s` and `scatter` are those of the contender.
    """
    random = np.random.default_rng(seed)
    chosen = tuple(cases or (make_case(one, workload=workload) for one in ("host", "overlay")))
    campaign = make_campaign(chosen, blocks=blocks, seed=seed, folder=folder, ratio=1.0)
    attempts = []
    for plain in campaign.attempts:
        is_reference = _is_reference(campaign.plan, plain.case)
        made = profile(
            reference if is_reference else contender,
            random,
            noise=noise,
            slow_rank_s=0.0 if is_reference else slow_rank_s,
            uncovered_s=0.0 if is_reference else uncovered_s,
            scatter=None if is_reference else scatter,
        )
        wall = float(np.mean(made["wall_s"]))
        attempts.append(msgspec.structs.replace(plain, elapsed_s=wall + 0.3))
        own = msgspec.structs.replace(plain, elapsed_s=wall * 1.002 + 0.3, is_profiled=True, attempt=2)
        attempts.append(own)
        place = folder / own.folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "profile.json").write_bytes(msgspec.json.encode(made))
    found = msgspec.structs.replace(campaign, attempts=tuple(attempts))
    write_campaign(found, folder)
    return found


def with_more(truth: Truth, component: Component, seconds: float) -> dict[Component, float]:
    """Return `truth` with `seconds` more of one component."""
    return {**truth, component: truth[component] + seconds}


def _is_reference(plan: Plan, case: str) -> bool:
    return plan.is_reference(next(one for one in plan.cases if one.id == case))


def as_recorded(campaign: Campaign) -> Campaign:
    """Return `campaign` with profiled runs as `tare run` records them: attempts of cases of their own.

    Their profiles move to where these attempts have them. The folder holds the new plan and journal.
    """
    own = {
        case.id: msgspec.structs.replace(case, id=f"{case.id}p", profile_of=case.id)
        for case in campaign.plan.cases
    }
    plan = msgspec.structs.replace(campaign.plan, is_profiled=True, profiled=tuple(own.values()))
    attempts = []
    for one in campaign.attempts:
        recorded = one
        if one.is_profiled:
            recorded = msgspec.structs.replace(one, case=own[one.case].id, attempt=1, is_profiled=False)
            place = campaign.folder / recorded.folder
            place.parent.mkdir(parents=True, exist_ok=True)
            (campaign.folder / one.folder).rename(place)
        attempts.append(recorded)
    orders = {
        block: [each for case in order for each in (case, own[case].id)]
        for block, order in campaign.orders.items()
    }
    found = msgspec.structs.replace(campaign, plan=plan, attempts=tuple(attempts), orders=orders)
    (campaign.folder / JOURNAL).unlink()
    write_campaign(found, campaign.folder)
    return found
