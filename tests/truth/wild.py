"""Studies at random, of every kind that can be measured: what holds of them, and what their runs print."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from tare.analysis.repeats.stopping import StoppingRule
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.study import Repeats
from tare.core.values import Scalar, Settings
from tare.core.workload import Better
from truth.campaigns import TIME, Figure, Truth, campaign, without
from truth.noise import (
    Noise,
    autocorrelated,
    bimodal,
    exponential,
    lognormal,
    normal,
    sometimes_slow,
    t3,
)
from truth.told_campaigns import HPCC, NAMD, OSU, WRF

NOISES: Mapping[str, Noise] = {
    "log-normal 0.3 %": lognormal(0.003),
    "log-normal 1 %": lognormal(0.01),
    "log-normal 3 %": lognormal(0.03),
    "normal": normal(),
    "t3": t3(),
    "exponential": exponential(),
    "bimodal": bimodal(),
    "one in ten slow": sometimes_slow(),
}
WANDERING = "each side wanders"
LASTING, SLOW_AT_TIMES = autocorrelated(), sometimes_slow()
TOGETHER = autocorrelated(0.05)
BLOCKS = (3, 4, 5, 6, 8, 10, 12, 20)
WATCHED = {"cpu_user": 40.0, "cpu_system": 5.0, "network_sent": 1e9, "tcp_segments": 5e5, "disk_busy": 20.0}
"""Figures of telemetry and their levels."""

_IOR = Figure(name="bandwidth", unit="MiB/s", better=Better.HIGHER, at={"operation": ("read", "write")})
_SUITES: Sequence[Mapping[str, Sequence[Figure]]] = [
    {"wrf.x": WRF},
    {"namd.x": NAMD},
    {"hpcc": HPCC},
    OSU,
    {"wrf.x": WRF, "ior": (_IOR,), "osu.latency": OSU["osu.latency"]},
]
_FACTORS: Sequence[tuple[str, tuple[Scalar, ...]]] = [
    ("network", ("a", "b")),
    ("network", ("a", "b", "c")),
    ("storage", ("a", "b", "c")),
    ("platform", ("a", "b")),
    ("compiler", ("a", "b", "c")),
    ("pinned", ("a", "b")),
]
_OTHERS: Sequence[tuple[str, tuple[Scalar, ...]]] = [
    ("nodes", (1, 4)),
    ("io", ("none", "heavy")),
    ("nodes", (2, 4, 8)),
    ("cells", (100, 400)),
]
_EFFECTS = (1.0, 1.0, 1.005, 1.02, 1.05, 0.8, 1.3, 20.0)
_SIZES = {"bytes": (1, 16, 256, 1024, 4096, 16384, 65536, 262144, 1048576)}
_NODES: tuple[Scalar, ...] = (1, 2, 4, 8, 16)


@dataclasses.dataclass(frozen=True)
class Wild:
    """A study with the names of its noise and of what else is special, and the share of its runs it loses.

    `until` is the width at which its blocks stop. `rises` is by what each figure of telemetry differs
    in the second level of its first factor; None where nothing is watched. What is `promised` of errors does
    not hold of the sides of a study that is `special`.
    """

    truth: Truth
    noise: str
    special: str = ""
    lost: float = 0.0
    until: float | None = None
    rises: Mapping[str, float] | None = None

    @property
    def factor(self) -> str:
        """Return the factor whose first level is the reference."""
        return next(iter(self.truth.factors))

    def measured(self, seed: int) -> Campaign:
        """Return what its runs leave behind."""
        random = np.random.default_rng(seed)
        found = without(campaign(self.truth, seed=seed), self.lost, random)
        if self.until is not None:
            found = stopped(found, self.until)
        return found if self.rises is None else self._watched(found, random)

    def _watched(self, found: Campaign, random: np.random.Generator) -> Campaign:
        rises, levels = self.rises or {}, next(iter(self.truth.factors.values()))
        second = {case.id for case in found.plan.cases if case.settings.get(self.factor) == levels[1]}

        def meanwhile(one: Attempt) -> dict[str, float]:
            noise = self.truth.noise(random, (len(WATCHED),)).tolist()
            return {
                name: level * spread * (rises.get(name, 1.0) if one.case in second else 1.0)
                for (name, level), spread in zip(WATCHED.items(), noise, strict=True)
            }

        attempts = tuple(
            msgspec.structs.replace(one, telemetry=meanwhile(one)) if one.series else one
            for one in found.attempts
        )
        return msgspec.structs.replace(found, attempts=attempts)


def stopped(found: Campaign, until: float) -> Campaign:
    """Return a campaign whose cases ran until their ratios were known to `until`, as those of the runner."""
    repeats = Repeats(min=min(5, found.plan.repeats.max), max=found.plan.repeats.max, until=until)
    plan = msgspec.structs.replace(found.plan, repeats=repeats)
    rule, kept = StoppingRule(plan), list[Attempt]()
    wanted = {case.id for case in plan.cases}
    for block in range(1, repeats.max + 1):
        if block > repeats.min:
            wanted = rule.wanted()
        for one in found.attempts:
            if one.block == block and one.case in wanted:
                kept.append(one)
                if one.series:
                    rule.add(one)
    return msgspec.structs.replace(found, plan=plan, attempts=tuple(kept))


def wild(random: np.random.Generator) -> Wild:
    """Return a study of nothing or of mixed effects; one in six of scales, and one in six of curves."""
    kind = random.random()
    truth = (
        _of_scales(random) if kind < 1 / 6 else _of_curves(random) if kind < 1 / 3 else _of_figures(random)
    )
    name = str(random.choice([*NOISES]))
    truth = dataclasses.replace(truth, noise=NOISES[name], blocks=int(random.choice(BLOCKS)))
    truth, special = _as_measured(truth, random)
    is_plain = not special and truth.late is None and not truth.ended
    return Wild(
        truth,
        name,
        special,
        lost=float(random.choice([0.0, 0.0, 0.1])),
        until=0.02 if is_plain and truth.blocks > 5 and random.random() < 0.15 else None,
        rises=_rises(random) if random.random() < 0.3 else None,
    )


def _rises(random: np.random.Generator) -> Mapping[str, float]:
    return {} if random.random() < 0.5 else {"cpu_system": 1.5}


def _as_measured(truth: Truth, random: np.random.Generator) -> tuple[Truth, str]:
    """Return a study with what becomes of its runs, and what is special of its sides: mostly nothing."""
    first, levels = next(iter(truth.factors.items()))
    chance = random.random()
    changes: dict[str, object] = {
        "together": TOGETHER if random.random() < 0.3 else None,
        "retried": float(random.choice([0.0, 0.1])),
        "decimals": int(random.choice([0, 1, 3])) if random.random() < 0.3 else None,
        "zeros": 0.02 if random.random() < 0.05 else 0.0,
        "drift": 0.0005 if random.random() < 0.1 else 0.0,
        "step": (float(random.uniform(0.2, 0.8)), 1.2) if random.random() < 0.1 else None,
    }
    if chance < 0.2:
        changes |= {"late": (first, levels[1]), "late_slower": float(random.choice([1.0, 1.2]))}
    elif chance < 0.35 and truth.blocks > 4:
        changes |= {"ended": (truth.blocks // 2,)}
    special = ""
    if random.random() < 0.06:
        special, changes["noise"], changes["together"] = WANDERING, LASTING, None
    elif random.random() < 0.06:
        special, changes["contender_noise"] = "slow runs on one side", SLOW_AT_TIMES
        changes["noise"] = NOISES["log-normal 1 %"]
    return dataclasses.replace(truth, **changes), special  # type: ignore[arg-type]


def _of_figures(random: np.random.Generator) -> Truth:
    """Return a study of suites: each figure slower, faster or the same at each of the other levels."""
    workloads = _SUITES[int(random.integers(len(_SUITES)))]
    factor, contenders = _FACTORS[int(random.integers(len(_FACTORS)))]
    other, levels = _OTHERS[int(random.integers(len(_OTHERS)))]
    has_effects = random.random() < 0.6
    effects = {
        (fom.name, level): float(random.choice(_EFFECTS)) if has_effects else 1.0
        for figures in workloads.values()
        for fom in figures
        for level in levels
    }

    def slower(settings: Settings, fom: str) -> float:
        return effects[fom, settings[other]] if settings[factor] == "b" else 1.0

    return Truth(factors={factor: contenders, other: levels}, workloads=workloads, slowing=slower)


def _of_scales(random: np.random.Generator) -> Truth:
    """Return a study of one program at more and more nodes, by the USL of either side."""
    laws = {
        level: (float(random.choice([0.0, 0.01, 0.05, 0.2])), float(random.choice([0.0, 0.0, 0.01])))
        for level in ("a", "b")
    }

    def slower(settings: Settings, _: str) -> float:
        sigma, kappa = laws[str(settings["network"])]
        p = float(settings["nodes"])
        return (1 + sigma * (p - 1) + kappa * p * (p - 1)) / p

    return Truth(
        factors={"network": ("a", "b"), "nodes": _NODES},
        workloads={"solver": (dataclasses.replace(TIME, level=1000.0),)},
        slowing=slower,
    )


def _of_curves(random: np.random.Generator) -> Truth:
    """Return a study of messages: t = t₀ + m/r on either side, where one may have less of both."""
    lines = {
        "a": (1.0, 1.0),
        "b": (float(random.choice([1.0, 0.5, 0.9, 2.0])), float(random.choice([1.0, 2.0, 0.5]))),
    }

    def slower(settings: Settings, point: Mapping[str, Scalar]) -> float:
        start, share = lines[str(settings["network"])]
        return start + share * float(point["bytes"]) / BYTES_OF_LATENCY

    def per_byte(settings: Settings, point: Mapping[str, Scalar]) -> float:
        return slower(settings, point) * 1024 / float(point["bytes"])

    figures = (
        Figure(name="latency", unit="us", at=_SIZES, curve=slower, noise=POINT_NOISE),
        Figure(
            name="bandwidth", unit="MB/s", better=Better.HIGHER, at=_SIZES, curve=per_byte, noise=POINT_NOISE
        ),
    )
    return Truth(factors={"network": ("a", "b"), "nodes": (2,)}, workloads={"pingpong": figures})


BYTES_OF_LATENCY = 20_000
"""What a message of the reference carries in the time in which an empty one arrives."""

POINT_NOISE = lognormal(0.005)
