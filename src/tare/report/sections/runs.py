"""The section with the table of all runs: the result, the state and the evidence folder of each."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tare.analysis.accounting import state_of
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Run
from tare.report.charts.panels import is_shown
from tare.report.listing import Listing, PackedCell, PackedRow, split
from tare.report.section import LAST, Section, SectionFacts
from tare.report.variants import Variants
from tare.report.words.accounting import Account
from tare.report.words.numbers import NARROW, number, quantity, visible, words


@dataclasses.dataclass(frozen=True)
class RunRow:
    """One attempt, or a planned run without an attempt (`attempt` is 0)."""

    case: str
    block: int
    session: int | None
    attempt: int
    variant: str
    configuration: str
    state: State
    result: str
    result_name: str
    sort_value: float | None
    elapsed: str
    elapsed_s: float | None
    load: str
    started: str
    remark: str
    folder: str


class Runs(NamedTuple):
    """The table of runs, and their number by state."""

    rows: Listing[RunRow]
    account: Account


def _made(facts: SectionFacts) -> Runs:
    return Runs(run_listing(run_rows(facts.campaign, facts.variants)), facts.account)


SECTION = Section(
    "runs",
    "What did every run give?",
    after="verdicts",
    make=_made,
    order=LAST,
    template=Path(__file__).with_suffix(".html"),
)


def run_rows(campaign: Campaign, variants: Variants) -> list[RunRow]:
    """Return a row for every attempt and every planned run without one, sorted by block."""
    tried = {Run(one.block, one.case) for one in campaign.attempts}
    shown = _shown_foms(campaign)
    labels = {case: configuration.label for case, configuration in variants.configuration_of.items()}
    rows = [
        _attempt_row(one, campaign, variants.variant_of[one.case].name, labels[one.case], shown[one.case])
        for one in campaign.attempts
        if one.case in variants.variant_of
    ]
    rows += [_pending_row(run, variants) for run in campaign.planned() if run not in tried]
    return sorted(rows, key=lambda row: (row.block, row.started or "9", row.attempt))


def run_listing(rows: Sequence[RunRow]) -> Listing[RunRow]:
    """Return `rows` as a listing: the first as HTML rows, the others packed."""
    shown, rest = split(rows)
    return Listing(shown, tuple(map(_packed, rest)))


def by_urgency(campaign: Campaign) -> list[Attempt]:
    """Return the attempts in the order in which their evidence matters to a critical reader.

    Attempts that are not done come first, then those that are not the first of their run. The others follow
    by the distance of their result from the average of their case, as a factor, the farthest first.
    """
    shown = _shown_foms(campaign)
    logs: dict[str, list[float]] = defaultdict(list)
    results: list[float | None] = []
    for one in campaign.attempts:
        found = _result(one, shown.get(one.case, frozenset())) if one.state is State.DONE else None
        results.append(math.log(found[1]) if found else None)
        if found:
            logs[one.case].append(math.log(found[1]))
    means = {case: math.fsum(found) / len(found) for case, found in logs.items()}

    def urgency(index: int) -> tuple[bool, bool, float]:
        one, log = campaign.attempts[index], results[index]
        farness = 0.0 if log is None else abs(log - means[one.case])
        return one.state is State.DONE, one.attempt == 1, -farness

    return [campaign.attempts[index] for index in sorted(range(len(results)), key=urgency)]


def _shown_foms(campaign: Campaign) -> dict[str, frozenset[str]]:
    """Return the figures of merit that charts show, by case."""
    return {
        case: frozenset(
            fom.name
            for fom in campaign.plan.foms.get(found.workload, ())
            if is_shown(campaign, case, fom.name)
        )
        for case, found in campaign.cases.items()
    }


def _attempt_row(
    one: Attempt, campaign: Campaign, variant: str, configuration: str, shown: frozenset[str]
) -> RunRow:
    found = _result(one, shown)
    return RunRow(
        case=one.case,
        block=one.block,
        session=one.session if one.session > 0 else None,
        attempt=one.attempt,
        variant=variant,
        configuration=configuration,
        state=state_of(one, campaign.is_running),
        result=quantity(found[1], found[2]) if found else "",
        result_name=words(found[0]) if found else "",
        sort_value=found[1] if found else None,
        elapsed="" if one.source else f"{number(one.elapsed_s)}{NARROW}s",
        elapsed_s=None if one.source else one.elapsed_s,
        load="" if one.load is None else number(one.load, 2),
        started="" if one.started_at is None else moment(one.started_at).isoformat(" ", "seconds")[:19],
        remark=visible(one.transport_evidence if one.state is State.DONE else _why(one)),
        folder=one.folder,
    )


def _pending_row(run: Run, variants: Variants) -> RunRow:
    return RunRow(
        case=run.case,
        block=run.block,
        session=None,
        attempt=0,
        variant=variants.variant_of[run.case].name,
        configuration=variants.configuration_of[run.case].label,
        state=State.PENDING,
        result="",
        result_name="",
        sort_value=None,
        elapsed="",
        elapsed_s=None,
        load="",
        started="",
        remark="not run yet",
        folder="",
    )


def _packed(row: RunRow) -> PackedRow:
    """Return a row with the same cells as in the template."""
    return PackedRow(
        cases=(row.case,),
        state=row.state.value,
        run=row.folder,
        label="",
        cells=(
            PackedCell(str(row.block), f", try {row.attempt}" if row.attempt > 1 else "", row.block),
            PackedCell(str(row.session or ""), "", row.session),
            PackedCell(row.configuration),
            PackedCell(row.variant),
            PackedCell(row.state.value, paint=f"state {row.state.value}"),
            PackedCell(row.result, row.result_name, row.sort_value),
            PackedCell(row.elapsed, "", row.elapsed_s),
            PackedCell(row.load),
            PackedCell(row.started),
            PackedCell(row.remark),
        ),
    )


def _why(one: Attempt) -> str:
    return f"{one.reason} (check: {one.check})" if one.check else one.reason


def _result(one: Attempt, shown: frozenset[str]) -> tuple[str, float, str] | None:
    """Return the geometric mean of a run's first primary FOM over its sizes, with name and unit."""
    for series in one.series:
        if series.fom in shown and series.values and min(series.values) > 0:
            mean = math.exp(math.fsum(map(math.log, series.values)) / len(series.values))
            return series.fom, mean, series.unit
    return None


def moment(seconds: float) -> datetime:
    """Return seconds since the epoch as a datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
