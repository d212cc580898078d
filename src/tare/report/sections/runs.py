"""The section with the table of all runs: the result, the state and the evidence folder of each."""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import UTC, datetime
from typing import NamedTuple

from tare.analysis.accounting import state_of
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Run
from tare.report.charts.panels import shown_by_case
from tare.report.listing import Column, Listing, ListingCell, ListingRow
from tare.report.section import SectionFacts, own_section
from tare.report.variants import Variants
from tare.report.words.accounting import Account
from tare.report.words.numbers import NARROW, number, quantity, visible, words


class Runs(NamedTuple):
    """The table of runs, and their number by state."""

    rows: Listing
    account: Account


def _made(facts: SectionFacts) -> Runs:
    return Runs(run_listing(facts.campaign, facts.variants), facts.account)


SECTION = own_section(__file__, "What did every run give?", after="verdicts", make=_made)


_COLUMNS = (
    Column("Block", "n", "number"),
    Column("Session", "n wide", "number"),
    Column("Where", "", "text"),
    Column("Side", "", "text"),
    Column("State", "", "text"),
    Column("Result", "n", "number"),
    Column("Took", "n wide", "number"),
    Column("Load", "n wide", "number"),
    Column("Started", "wide", "text"),
    Column("Remark", "wide remark", "text"),
)


class _Place(NamedTuple):
    """The parts of a row that all runs of a case share."""

    cases: tuple[str, ...]
    where: ListingCell
    side: ListingCell


def _place(case: str, variants: Variants) -> _Place:
    where, side = variants.configuration_of[case].label, variants.variant_of[case].name
    return _Place((case,), ListingCell(where), ListingCell(side))


def run_listing(campaign: Campaign, variants: Variants) -> Listing:
    """Return a row for every attempt and every planned run without one, sorted by block."""
    tried = {Run(one.block, one.case) for one in campaign.attempts}
    places = {case: _place(case, variants) for case in variants.variant_of}
    rows = []
    for one, found in zip(campaign.attempts, _results(campaign), strict=True):
        if one.case in places:
            started = _started(one)
            row = _attempt_row(
                one, state_of(one, is_running=campaign.is_running), started, found, places[one.case]
            )
            rows.append(((one.block, started or "9", one.attempt), row))
    pending = (run for run in campaign.planned() if run not in tried)
    rows += [((run.block, "9", 0), _pending_row(run, places[run.case])) for run in pending]
    rows.sort(key=lambda row: row[0])
    return Listing(_COLUMNS, tuple(row for _, row in rows))


def by_urgency(campaign: Campaign) -> list[Attempt]:
    """Return the attempts in the order in which their evidence matters to a critical reader.

    Attempts that are not done come first, then those that are not the first of their run. The others follow
    by the distance of their result from the average of their case, as a factor, the farthest first.
    """
    logs: dict[str, list[float]] = defaultdict(list)
    results: list[float | None] = []
    for one, found in zip(campaign.attempts, _results(campaign), strict=True):
        log = math.log(found[1]) if found and one.state is State.DONE else None
        results.append(log)
        if log is not None:
            logs[one.case].append(log)
    means = {case: math.fsum(found) / len(found) for case, found in logs.items()}

    def urgency(index: int) -> tuple[bool, bool, float]:
        one, log = campaign.attempts[index], results[index]
        farness = 0.0 if log is None else abs(log - means[one.case])
        return one.state is State.DONE, one.attempt == 1, -farness

    return [campaign.attempts[index] for index in sorted(range(len(results)), key=urgency)]


def _attempt_row(
    one: Attempt, state: State, started: str, found: _Result | None, place: _Place
) -> ListingRow:
    result = ListingCell(quantity(found[1], found[2]), words(found[0]), found[1]) if found else _BLANK
    block = f"{one.block}, try {one.attempt}" if one.attempt > 1 else f"{one.block}"
    cells = (
        ListingCell(block, value=one.block),
        ListingCell(str(one.session)) if one.session > 0 else _BLANK,
        place.where,
        place.side,
        _STATES[state],
        result,
        _BLANK if one.source else ListingCell(f"{number(one.elapsed_s)}{NARROW}s", value=one.elapsed_s),
        _BLANK if one.load is None else ListingCell(number(one.load, 2)),
        ListingCell(started) if started else _BLANK,
        ListingCell(visible(one.remark if one.state is State.DONE else _why(one))),
    )
    return ListingRow(place.cases, state.value, one.folder, "", cells)


def _pending_row(run: Run, place: _Place) -> ListingRow:
    cells = (
        ListingCell(str(run.block), value=run.block),
        _BLANK,
        place.where,
        place.side,
        _STATES[State.PENDING],
        *[_BLANK] * 4,
        _NOT_RUN,
    )
    return ListingRow(place.cases, State.PENDING.value, "", "", cells)


_BLANK, _NOT_RUN = ListingCell(""), ListingCell("not run yet")
_STATES = {state: ListingCell(state.value, paint=f"state {state.value}") for state in State}


def _started(one: Attempt) -> str:
    return "" if one.started_at is None else moment(one.started_at).isoformat(" ", "seconds")[:19]


def _why(one: Attempt) -> str:
    return f"{one.reason} (check: {one.check})" if one.check else one.reason


_Result = tuple[str, float, str]
"""The name of a figure of merit, its value, and its unit."""


def _results(campaign: Campaign) -> list[_Result | None]:
    """Return the result of each attempt; cached, since a campaign does not change."""
    shown = shown_by_case(campaign)
    nothing = frozenset[str]()
    return campaign.memo.get(
        _results, lambda: [_result(one, shown.get(one.case, nothing)) for one in campaign.attempts]
    )


def _result(one: Attempt, shown: frozenset[str]) -> _Result | None:
    """Return the geometric mean of a run's first primary FOM over its sizes, with name and unit."""
    for series in one.series:
        if series.fom in shown and series.values and min(series.values) > 0:
            mean = math.exp(math.fsum(map(math.log, series.values)) / len(series.values))
            return series.fom, mean, series.unit
    return None


def moment(seconds: float) -> datetime:
    """Return seconds since the epoch as a datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
