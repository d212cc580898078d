"""Turn published figures into the runs of a campaign, so that Tare analyses them like its own."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, Source, State, gather_series
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.study import DESIGN_SETTINGS, Repeats
from tare.core.workload import Fom, Measurement
from tare.plan import identified, lay_out, varied_settings
from tare.published.tables import Figure, Publication

NO_PLATFORM = "unknown"


class PublishedRun(msgspec.Struct, frozen=True):
    """One published run, and its case."""

    case: Case
    attempt: Attempt


class _RunKey(NamedTuple):
    case: str
    number: int


def as_campaign(publication: Publication) -> Campaign:
    """Return the publication as a campaign; its folder does not exist."""
    runs = as_runs(publication)
    cases = {run.case.id: run.case for run in runs}
    orders: dict[int, list[str]] = {}
    for run in runs:
        orders.setdefault(run.attempt.block, []).append(run.case.id)
    plan = Plan(
        study=publication.name,
        question=publication.what,
        site="published",
        cases=tuple(cases.values()),
        varied=varied_settings(cases.values()),
        reference=publication.reference,
        repeats=Repeats(min=0, max=max(orders)),
        foms=_foms(publication.figures),
    )
    attempts = tuple(run.attempt for run in runs)
    return Campaign(folder=Path(publication.name), plan=plan, attempts=attempts, orders=orders)


def as_runs(publication: Publication) -> tuple[PublishedRun, ...]:
    """Return one run for each repetition in the table, as far as the table shows repetitions.

    Repeated runs do not form blocks: each has its own block, so that no runs are paired. If every figure
    occurs once, all runs are in block 1.
    """
    grouped: dict[_RunKey, list[Figure]] = {}
    cases: dict[str, Case] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    for figure in publication.figures:
        case = _case(figure)
        cases[case.id] = case
        place = (case.id, figure.kind.fom, repr(figure.kind.at))
        grouped.setdefault(_RunKey(case.id, seen[place]), []).append(figure)
        seen[place] += 1
    is_repeated = any(key.number for key in grouped)
    source = Source(
        f"published:{publication.name}", hashlib.sha256(publication.file.read_bytes()).hexdigest()
    )
    return tuple(
        PublishedRun(cases[key.case], _attempt(key, index if is_repeated else 1, figures, source))
        for index, (key, figures) in enumerate(grouped.items(), 1)
    )


def _attempt(key: _RunKey, block: int, figures: list[Figure], source: Source) -> Attempt:
    measurements = (
        Measurement(fom=one.kind.fom, value=one.value, unit=one.kind.unit, at=one.kind.at) for one in figures
    )
    started = figures[0].started
    return Attempt(
        case=key.case,
        block=block,
        attempt=1,
        state=State.DONE,
        started_at=datetime.fromisoformat(started).replace(tzinfo=UTC).timestamp() if started else None,
        series=gather_series(measurements, {one.kind.fom: one.kind.better for one in figures}),
        source=source,
    )


def _case(figure: Figure) -> Case:
    settings = figure.settings
    layout = lay_out(settings.get("nodes"), settings.get("ranks"), None, None)
    if isinstance(layout, str):
        raise ValueError(layout)  # the table or its mapping is wrong; a test reads all tables
    network = settings.get("network")
    case = Case(
        id="",
        workload=figure.kind.workload,
        platform=str(settings.get("platform", NO_PLATFORM)),
        network=None if network is None else str(network),
        layout=layout,
        parameters={name: value for name, value in settings.items() if name not in DESIGN_SETTINGS},
    )
    return identified(case, None)


def _foms(figures: Iterable[Figure]) -> dict[str, tuple[Fom, ...]]:
    found: dict[str, dict[str, Fom]] = {}
    for figure in figures:
        kind = figure.kind
        fom = Fom(name=kind.fom, unit=kind.unit, better=kind.better, by=tuple(kind.at), is_primary=True)
        found.setdefault(kind.workload, {})[kind.fom] = fom
    return {workload: tuple(foms.values()) for workload, foms in found.items()}
