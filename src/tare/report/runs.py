"""Every run as a row: what it gave, what became of it, and where its evidence lies."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime

from tare.model.attempt import Attempt, State
from tare.model.campaign import Campaign
from tare.model.case import Run
from tare.report.accounting import state_of
from tare.report.panels import is_shown
from tare.report.sides import Sides
from tare.report.wording import NARROW, number, quantity, visible, words


@dataclasses.dataclass(frozen=True)
class RunRow:
    """One attempt, or a planned run that has none yet (`attempt` is 0)."""

    case: str
    block: int
    attempt: int
    side: str
    place: str
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


def run_rows(campaign: Campaign, sides: Sides) -> list[RunRow]:
    """Return a row for every attempt and every run without one, block by block."""
    tried = {Run(one.block, one.case) for one in campaign.attempts}
    rows = [_attempt_row(one, campaign, sides) for one in campaign.attempts if one.case in sides.side_of]
    rows += [_pending_row(run, sides) for run in campaign.planned() if run not in tried]
    return sorted(rows, key=lambda row: (row.block, row.started or "9", row.attempt))


def _attempt_row(one: Attempt, campaign: Campaign, sides: Sides) -> RunRow:
    fom, value, unit = _result(one, campaign)
    is_done = one.state is State.DONE
    return RunRow(
        case=one.case,
        block=one.block,
        attempt=one.attempt,
        side=sides.side_of[one.case].name,
        place=sides.place_of[one.case].label,
        state=state_of(one, campaign.is_running),
        result=quantity(value, unit) if value is not None else "",
        result_name=words(fom),
        sort_value=value,
        elapsed="" if one.source else f"{number(one.elapsed_s)}{NARROW}s",
        elapsed_s=None if one.source else one.elapsed_s,
        load="" if one.load is None else number(one.load, 2),
        started="" if one.started_at is None else moment(one.started_at).strftime("%Y-%m-%d %H:%M:%S"),
        remark=visible(one.transport if is_done else _why(one)),
        folder=one.folder,
    )


def _pending_row(run: Run, sides: Sides) -> RunRow:
    return RunRow(
        case=run.case,
        block=run.block,
        attempt=0,
        side=sides.side_of[run.case].name,
        place=sides.place_of[run.case].label,
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


def _why(one: Attempt) -> str:
    return f"{one.reason} (check: {one.check})" if one.check else one.reason


def _result(one: Attempt, campaign: Campaign) -> tuple[str, float | None, str]:
    """Return the geometric mean of a run's first primary FOM over its sizes, with name and unit."""
    for series in one.series:
        if is_shown(campaign, one.case, series.fom) and series.values and min(series.values) > 0:
            mean = math.exp(math.fsum(map(math.log, series.values)) / len(series.values))
            return series.fom, mean, series.unit
    return "", None, ""


def moment(seconds: float) -> datetime:
    """Return seconds since the epoch as a moment in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
