"""Campaigns as they would be measured if a given truth held."""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from tare import __version__
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.values import Scalar, Settings
from tare.core.workload import Better, Fom, QuestionKind
from tare.stats.intervals import Floats
from tare.storage.campaign import JOURNAL, freeze
from tare.storage.journal import AttemptEnded, BlockBegan, Journal, SessionBegan
from truth.noise import Noise, lognormal

_PLACES = ("network", "storage", "io", "twin")
_OWN = (*_PLACES, "platform", "nodes", "ranks", "ranks_per_node", "threads")
"""Settings of a case that are no parameters of its workload."""

_RUN_S = 60.0
_DAY_S = 86400.0


Curve = Callable[[Settings, Mapping[str, Scalar]], float]
"""How many times slower than its level a point is, by the settings of its case and its coordinates."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of merit with what it measures at slowing 1: `level` at each of its points.

    `at` names the coordinates of its points, of which it has the product; `noise` is that of each value, in
    addition to that of its run. `curve` says how many times slower each point is, by the settings of its
    case: times up, rates down.
    """

    name: str = "time"
    unit: str = "s"
    better: Better = Better.LOWER
    is_primary: bool = True
    level: float = 10.0
    at: Mapping[str, Sequence[Scalar]] = dataclasses.field(default_factory=dict)
    noise: Noise | None = None
    answers: tuple[QuestionKind, ...] = ()
    curve: Curve | None = None

    @property
    def points(self) -> list[tuple[Scalar, ...]]:
        return list(itertools.product(*self.at.values()))

    def slower(self, settings: Settings, point: Sequence[Scalar]) -> float:
        """Return how many times slower than `level` a point is by the curve: 1 without one."""
        return 1.0 if self.curve is None else self.curve(settings, dict(zip(self.at, point, strict=True)))


TIME = Figure()
RATE = Figure(name="rate", unit="MB/s", better=Better.HIGHER, level=1000.0)

Slowing = Callable[[Settings, str], float]
"""How many times slower a case is, by its settings and the name of a figure: times up, rates down."""


def by_level(factor: str, slower: Mapping[Scalar, float]) -> Slowing:
    """Return a slowing that only the level of one factor decides, 1 for those not named."""
    return lambda settings, _: slower.get(settings.get(factor, ""), 1.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Truth:
    """What holds of a study, and how it is measured.

    `factors` are the levels by name: those of a case (network, nodes …), and any other name is a parameter
    of the workloads. The first level of the first factor is the reference unless `reference` says otherwise.
    `noise` is that of each run, and `contender_noise` that of runs that are not the reference's. `together`
    is noise that all runs of a block share. What changes in time: `drift` slows each run by that share over
    the one before; `step` slows all runs after a share of the study by a factor, (0.5, 1.1) from half on.
    `ended` are the blocks after which a session ended, and somebody looked.
    `late` is a level, factor and value, that is run in a second session, a day later, on a machine slower by
    `late_slower`, and the reference beside it again if `late_reference`. A share `retried` of the runs fails
    for its infrastructure and is run again after its block. What is printed has `decimals`, and is 0 in a
    share `zeros` of the values.
    """

    factors: Mapping[str, Sequence[Scalar]] = dataclasses.field(
        default_factory=lambda: {"network": ("host", "overlay")}
    )
    reference: Settings | None = None
    workloads: Mapping[str, Sequence[Figure]] = dataclasses.field(
        default_factory=lambda: {"synthetic.solver": (TIME,)}
    )
    slowing: Slowing = lambda settings, fom: 1.0
    noise: Noise = dataclasses.field(default_factory=lognormal)
    contender_noise: Noise | None = None
    together: Noise | None = None
    blocks: int = 5
    margin: float = 0.02
    drift: float = 0.0
    step: tuple[float, float] | None = None
    late: tuple[str, Scalar] | None = None
    late_slower: float = 1.0
    late_reference: bool = True
    ended: tuple[int, ...] = ()
    retried: float = 0.0
    decimals: int | None = None
    zeros: float = 0.0

    def plan(self, seed: int = 1) -> Plan:
        """Return the plan of every combination of levels, for each workload."""
        cases = tuple(
            _case(workload, dict(zip(self.factors, levels, strict=True)))
            for workload in self.workloads
            for levels in itertools.product(*self.factors.values())
        )
        first, levels = next(iter(self.factors.items()))
        varied = [name for name, levels in self.factors.items() if len(levels) > 1]
        return Plan(
            study="truth",
            question="What does it cost?",
            site="nowhere",
            cases=cases,
            varied=("workload", *varied) if len(self.workloads) > 1 else tuple(varied),
            reference={first: levels[0]} if self.reference is None else self.reference,
            repeats=Repeats(min=self.blocks, max=self.blocks),
            margin=self.margin,
            seed=seed,
            foms={
                workload: tuple(_fom(figure) for figure in figures)
                for workload, figures in self.workloads.items()
            },
        )

    def ratio(
        self,
        reference: Case,
        contender: Case,
        fom: str,
        better: Better | None,
        at: Callable[[Mapping[str, Scalar]], bool] = lambda point: True,
    ) -> float:
        """Return what contender / reference of a figure truly is, the geometric mean over its points `at`.

        Noise of the contender's own counts with the mean of its logarithm; of a rate it is the inverse.
        """
        slower = self.slowing(contender.settings, fom) / self.slowing(reference.settings, fom)
        if self.contender_noise is not None and reference.id != contender.id:
            slower *= math.exp(middle(self.contender_noise) - middle(self.noise))
        sides = [(case, self.figure(case, fom)) for case in (reference, contender)]
        if any(figure.curve is not None for _, figure in sides):
            logs = [
                np.mean(
                    [
                        math.log(figure.slower(case.settings, point))
                        for point in figure.points
                        if at(dict(zip(figure.at, point, strict=True)))
                    ]
                )
                for case, figure in sides
            ]
            slower *= math.exp(logs[1] - logs[0])
        return 1 / slower if better is Better.HIGHER else slower

    def figure(self, case: Case, fom: str) -> Figure:
        """Return a figure of the workload of a case, by its name."""
        return next(one for one in self.workloads[case.workload] if one.name == fom)


@functools.cache
def middle(noise: Noise) -> float:
    """Return the mean logarithm of a noise: where the geometric mean of many runs lies."""
    return float(np.log(noise(np.random.default_rng(1), (200, 2000))).mean())


def campaigns(truth: Truth, n: int = 1, *, seed: int = 1) -> Iterator[Campaign]:
    """Yield `n` campaigns of `truth`, each measured anew; their noise is drawn for all of them at once."""
    plan = truth.plan(seed)
    runs = list(_schedule(truth, plan))
    random = np.random.default_rng(seed)
    own = _factors_of_runs(truth, plan, runs, random, n)
    retried = random.random((n, len(runs))) < truth.retried
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, truth.blocks + 1)}
    for study in range(n):
        attempts = tuple(_attempts(truth, runs, own[:, study], retried[study], random))
        yield Campaign(folder=Path(f"truth-{study}"), plan=plan, attempts=attempts, orders=orders)


def campaign(truth: Truth, *, seed: int = 1) -> Campaign:
    """Return one campaign of `truth`."""
    return next(campaigns(truth, seed=seed))


def without(found: Campaign, share: float, random: np.random.Generator) -> Campaign:
    """Return a campaign that lost a `share` of its runs: killed before they ended, or never begun."""
    runs = dict.fromkeys((one.session, one.block, one.case) for one in found.attempts)
    lost = {run for run in runs if random.random() < share}
    kept = tuple(one for one in found.attempts if (one.session, one.block, one.case) not in lost)
    return msgspec.structs.replace(found, attempts=kept)


def write(truth: Truth, folder: Path, *, seed: int = 1) -> Path:
    """Write a campaign of `truth` as the runner leaves it, for the command line, and return its folder."""
    return write_campaign(campaign(truth, seed=seed), folder)


def write_campaign(found: Campaign, folder: Path) -> Path:
    """Write a campaign as the runner leaves it, and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    freeze(folder, found.plan, {})
    with Journal(folder / JOURNAL) as journal:
        session, blocks = 0, set[tuple[int, int]]()
        for one in found.attempts:
            if _session(one) > session:
                session = _session(one)
                journal.append(SessionBegan(_start_of(session), __version__), is_synced=False)
            if (session, one.block) not in blocks:
                blocks.add((session, one.block))
                journal.append(BlockBegan(one.block, found.orders[one.block]), is_synced=False)
            journal.append(AttemptEnded(one), is_synced=False)
    return folder


def _start_of(session: int) -> float:
    return 1e9 + (session - 1) * _DAY_S


def _session(attempt: Attempt) -> int:
    return attempt.session


@dataclasses.dataclass(frozen=True)
class _Run:
    case: Case
    block: int
    session: int
    at: float


def _schedule(truth: Truth, plan: Plan) -> Iterator[_Run]:
    """Yield the runs in the order of time: all levels but the late one, and that in a session of its own."""
    late = {
        case.id for case in plan.cases if truth.late and case.settings.get(truth.late[0]) == truth.late[1]
    }
    for session in (1, 2) if late else range(1, len(truth.ended) + 2):
        at = _start_of(session)
        for block in _blocks_of(truth, session):
            for case in plan.order(block):
                is_again = session == 2 and truth.late_reference and plan.is_reference(case)
                if not late or (case.id in late) == (session == 2) or is_again:
                    yield _Run(case, block, session, at)
                    at += _RUN_S
            if truth.retried:
                at += len(plan.cases) * _RUN_S  # for those that are run again


def _blocks_of(truth: Truth, session: int) -> range:
    """Return the blocks of a session: all of them where it is a late level that makes the second."""
    ends = (0, *truth.ended, truth.blocks)
    return range(ends[session - 1] + 1, ends[session] + 1) if truth.ended else range(1, truth.blocks + 1)


def _factors_of_runs(
    truth: Truth, plan: Plan, runs: Sequence[_Run], random: np.random.Generator, n: int
) -> Floats:
    """Return by how much each run is slower than its case, runs × studies."""
    factors = np.empty((len(runs), n))
    cases = [run.case.id for run in runs]
    for case in plan.cases:
        rows = [row for row, name in enumerate(cases) if name == case.id]
        noise = truth.noise if plan.is_reference(case) else truth.contender_noise or truth.noise
        factors[rows] = noise(random, (len(rows), n))  # by itself, so that autocorrelation is within a side
    order = np.arange(len(runs))[:, np.newaxis]
    factors *= (1 + truth.drift) ** order
    if truth.step is not None:
        share, slower = truth.step
        factors *= np.where(order >= share * len(runs), slower, 1.0)
    factors *= np.array([[truth.late_slower if run.session == 2 else 1.0] for run in runs])
    if truth.together is not None:
        shared = truth.together(random, (truth.blocks, n))
        factors *= shared[[run.block - 1 for run in runs]]
    return factors


def _attempts(
    truth: Truth,
    runs: Sequence[_Run],
    factors: Floats,
    retried: npt.NDArray[np.bool_],
    random: np.random.Generator,
) -> Iterator[Attempt]:
    """Yield the attempts in the order in which they end; runs to be repeated follow their block."""
    number = collections.Counter[tuple[str, int]]()
    rows = zip(runs, factors.tolist(), retried.tolist(), strict=True)
    for _, block in itertools.groupby(rows, key=lambda row: (row[0].session, row[0].block)):
        again, last = [], 0.0
        for run, factor, fails in block:
            last = run.at
            number[run.case.id, run.block] += 1
            if fails:
                again.append((run, factor))
                yield _attempt(truth, run, number, None, random)
            else:
                yield _attempt(truth, run, number, factor, random)
        for place, (run, factor) in enumerate(again, 1):
            number[run.case.id, run.block] += 1
            late = dataclasses.replace(run, at=last + place * _RUN_S)
            yield _attempt(truth, late, number, factor, random)


def _attempt(
    truth: Truth,
    run: _Run,
    number: Mapping[tuple[str, int], int],
    factor: float | None,
    random: np.random.Generator,
) -> Attempt:
    """Return a run that is done, or without a factor one that its node let down."""
    figures = truth.workloads[run.case.workload] if factor is not None else ()
    return Attempt(
        case=run.case.id,
        block=run.block,
        attempt=number[run.case.id, run.block],
        session=run.session,
        state=State.FAILED if factor is None else State.DONE,
        reason="the node was lost" if factor is None else "",
        is_infrastructure=factor is None,
        started_at=run.at,
        elapsed_s=_RUN_S,
        exit_code=None if factor is None else 0,
        hosts=[f"n{host + 1}" for host in range(run.case.layout.nodes)],
        series=[_series(truth, run.case, figure, factor or 1.0, random) for figure in figures],
    )


def _series(truth: Truth, case: Case, figure: Figure, factor: float, random: np.random.Generator) -> Series:
    points = figure.points
    own = factor * truth.slowing(case.settings, figure.name)
    slower = own * np.array([figure.slower(case.settings, point) for point in points])
    if figure.noise is not None:
        slower = slower * figure.noise(random, (len(points),))
    values = figure.level / slower if figure.better is Better.HIGHER else figure.level * slower
    values = np.where(random.random(len(points)) < truth.zeros, 0.0, values)
    if truth.decimals is not None:
        values = values.round(truth.decimals)
    at = {name: [point[place] for point in points] for place, name in enumerate(figure.at)}
    return Series(fom=figure.name, unit=figure.unit, better=figure.better, at=at, values=values.tolist())


def _fom(figure: Figure) -> Fom:
    return Fom(
        name=figure.name,
        unit=figure.unit,
        better=figure.better,
        by=tuple(figure.at),
        is_primary=figure.is_primary,
        answers=figure.answers,
    )


def _case(workload: str, levels: Mapping[str, Scalar]) -> Case:
    name = f"{workload} {sorted(levels.items())}"
    nodes = int(levels.get("nodes", 2))
    layout = Layout(
        nodes=nodes,
        ranks=int(levels.get("ranks", nodes)),
        ranks_per_node=int(levels.get("ranks_per_node", 1)),
        threads=int(levels.get("threads", 1)),
    )
    place = {key: str(levels[key]) if key in levels else None for key in _PLACES}
    return Case(
        id=hashlib.blake2b(name.encode(), digest_size=6).hexdigest(),
        workload=workload,
        platform=str(levels.get("platform", "bare")),
        network=place["network"],
        storage=place["storage"],
        io=place["io"],
        twin=place["twin"],
        layout=layout,
        parameters={key: level for key, level in levels.items() if key not in _OWN},
    )
