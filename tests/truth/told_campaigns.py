"""Campaigns whose truth is known, for what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from tare.analysis.verdicts.compare import aggregates, overview_of
from tare.analysis.verdicts.headline import headlines
from tare.core.campaign import Campaign
from tare.core.values import Scalar, Settings
from tare.core.workload import ALL_BUT_STORAGE, Better, QuestionKind
from tare.report.variants import lay_out
from tare.report.words.answer import Answer, answer_all
from truth.campaigns import Figure, Slowing, Truth
from truth.noise import lognormal

QUIET = lognormal(0.003)


SIZES = {"bytes": (1, 64, 1024, 65536, 1048576)}


WRF = (
    Figure(name="step_time", answers=ALL_BUT_STORAGE),
    Figure(name="steps_per_s", unit="steps/s", better=Better.HIGHER),
    Figure(name="integration_time", is_primary=False, level=100.0, answers=(QuestionKind.STORAGE,)),
)


NAMD = (
    Figure(name="days_per_ns", unit="days/ns", answers=ALL_BUT_STORAGE),
    Figure(name="wall_time", level=300.0, answers=(QuestionKind.STORAGE,)),
)


HPCC = (
    Figure(name="HPL_Tflops", unit="Tflop/s", better=Better.HIGHER),
    Figure(name="MPIRandomAccess_GUPs", unit="GUP/s", better=Better.HIGHER),
    Figure(name="StarFFT_Gflops", unit="Gflop/s", better=Better.HIGHER),
)


OSU = {
    "osu.latency": (Figure(name="latency", unit="us", at=SIZES),),
    "osu.alltoall": (Figure(name="latency", unit="us", at=SIZES),),
    "osu.bw": (Figure(name="bandwidth", unit="MB/s", better=Better.HIGHER, at=SIZES),),
}


def said(found: Campaign) -> list[Answer]:
    rows = aggregates(found)
    heads = headlines(found)
    return answer_all(heads, overview_of(rows), lay_out(found, rows), found.plan.margin)


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def slowed(setting: str, level: str, by: Mapping[str, float]) -> Slowing:
    """Return a slowing of some figures wherever a setting has a level."""
    return lambda settings, fom: by.get(fom, 1.0) if settings.get(setting) == level else 1.0


def gateway(settings: Settings, fom: str) -> float:
    """Return WRF behind a gateway that writes slowly: heavy runs on four nodes take 44 % longer."""
    is_slow = settings["storage"] == "gateway" and settings["io"] == "heavy" and settings["nodes"] == 4
    return 1.44 if is_slow and fom == "integration_time" else 1.0


PATHS: Mapping[str, Sequence[Scalar]] = {
    "storage": ("direct", "gateway"),
    "io": ("none", "heavy"),
    "nodes": (1, 4),
}


def mixed(random: np.random.Generator) -> Truth:
    """Return a study of mixed effects: of each figure and scale none, within the margin, or large."""
    kinds: Sequence[Mapping[str, Sequence[Figure]]] = [{"wrf.x": WRF}, {"namd.x": NAMD}, {"hpcc": HPCC}, OSU]
    workloads = kinds[int(random.integers(len(kinds)))]
    factor = ("network", "storage")[int(random.integers(2))]
    effects = {
        (fom.name, nodes): float(random.choice([1.0, 1.0, 1.005, 0.8, 1.3, 20.0]))
        for figures in workloads.values()
        for fom in figures
        for nodes in (1, 4)
    }

    def slower(settings: Settings, fom: str) -> float:
        return effects[fom, int(settings["nodes"])] if settings[factor] == "b" else 1.0

    return Truth(
        factors={factor: ("a", "b"), "nodes": (1, 4)},
        workloads=workloads,
        slowing=slower,
        noise=lognormal(float(random.choice([0.003, 0.01, 0.03]))),
        blocks=int(random.choice([5, 8, 12])),
    )
