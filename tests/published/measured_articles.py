"""Campaigns of the studies of articles, with figures of which the truth is known."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.articles.article import Article, LocalStudy, keys, read_article
from bench.articles.judging import judge
from bench.articles.results import Verdict
from tare.app import planning
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import Better, Fom

ARTICLES = {key: read_article(key) for key in keys()}


PARTS = [(article, part) for article in ARTICLES.values() for part in article.parts]


HOLDS, DOES_NOT, UNDECIDED = Verdict.HOLDS, Verdict.DOES_NOT, Verdict.UNDECIDED


COORDINATES: dict[str, list[Scalar]] = {
    "bytes": [1, 1024, 1048576],
    "operation": ["read"],
    "direction": ["client to server", "server to client"],
}


TELEMETRY = {
    "cpu_system": "%",
    "network_rate": "B/s",
    "network_packet_size": "B",
    "network_packet_rate": "1/s",
}


Truth = Callable[[Case, str, Scalar], float]
"""The true factor on a figure of a case, at the value of its coordinate."""


def plan_of(article: Article, study: LocalStudy) -> Plan:
    return planning.load(article.path_of(study)).plan


def made(plan: Plan, truth: Truth, *, noise: float = 0.002) -> Campaign:
    """Return a campaign of `plan`, without a file, in which each figure is 100 times its truth."""
    attempts: list[Attempt] = []
    blocks = range(1, plan.repeats.min + 1)
    for block in blocks:
        for case in plan.order(block):
            random = np.random.default_rng(zlib.crc32(f"{block} {case.id}".encode()))
            foms = [*plan.foms[case.workload], *_telemetry()]
            series = [_series(fom, case, truth, noise, random) for fom in foms]
            attempts.append(
                Attempt(
                    case=case.id,
                    block=block,
                    attempt=1,
                    state=State.DONE,
                    started_at=1e9 + len(attempts),
                    elapsed_s=1.0,
                    exit_code=0,
                    hosts=[f"n{number}" for number in range(1, case.layout.nodes + 1)],
                    series=series,
                )
            )
    orders = {block: [case.id for case in plan.order(block)] for block in blocks}
    return Campaign(folder=Path(plan.study), plan=plan, attempts=tuple(attempts), orders=orders)


def _telemetry() -> list[Fom]:
    return [
        Fom(name=f"telemetry.{name}", unit=unit, better=Better.LOWER, by=())
        for name, unit in TELEMETRY.items()
    ]


def _series(fom: Fom, case: Case, truth: Truth, noise: float, random: np.random.Generator) -> Series:
    name = fom.by[0] if fom.by else ""
    points: list[Scalar] = COORDINATES.get(name, ["one"]) if name else [""]
    values = [100 * truth(case, fom.name, point) * float(np.exp(random.normal(0, noise))) for point in points]
    at = {name: points} if name else {}
    return Series(fom=fom.name, unit=fom.unit, better=fom.better, at=at, values=values)


def campaigns(article: Article, truth: Truth, *, noise: float = 0.002) -> dict[str, Campaign]:
    return {study.name: made(plan_of(article, study), truth, noise=noise) for study in article.studies}


def verdicts(key: str, truth: Truth, *, noise: float = 0.002) -> dict[str, Verdict]:
    article = ARTICLES[key]
    return {one.part: one.verdict for one in judge(article, campaigns(article, truth, noise=noise)).parts}


def same(_case: Case, _fom: str, _at: Scalar) -> float:
    return 1.0


RATES = {"tcp-8g": 8.0, "tcp-4g": 4.0, "tcp-2g": 2.0, "tcp-1400m": 1.4, "tcp-800m": 0.8}
RATES |= {"delay-25us": 8.0, "delay-50us": 4.0, "delay-100us": 2.0, "delay-200us": 1.0, "delay-400us": 0.5}
"""What a link does, next to one of 1 Gbit/s: a delay keeps messages back as a low rate does."""


def of_rates(case: Case, fom: str, _at: Scalar) -> float:
    """Return a truth in which all but FFTs within a node follow the rate of the link."""
    rate = RATES.get(case.network or "", 1.0)
    if fom in ("StarFFT_Gflops", "SingleFFT_Gflops"):
        return 1.0
    return 1 / rate if fom.endswith("usec") else rate
