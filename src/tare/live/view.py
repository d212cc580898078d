"""The content of the pages, computed from a campaign state and its statistics; templates make HTML of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from tare.core.attempt import Attempt, State
from tare.core.case import Run
from tare.core.counting import count
from tare.core.units import format_seconds
from tare.live.campaign_state import CampaignState, RunCounts
from tare.report.sections.runs import moment
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import NARROW, number, visible

SIGNS = {
    State.DONE: "✓",
    State.FAILED: "✕",
    State.INVALID: "!",
    State.LOST: "◌",
    State.RUNNING: "▶",
    State.PENDING: "·",
}
"""A symbol for each state, so that no state is shown by colour alone."""

LETTERS = {
    State.DONE: "d",
    State.FAILED: "f",
    State.INVALID: "i",
    State.LOST: "l",
    State.RUNNING: "r",
    State.PENDING: "p",
}
"""The CSS class of a cell by state; it is short, since a page may hold ten thousand cells."""

_MOST_UNDER_WAY = 3

PAGE_ROWS = 50
"""The number of runs on one page of the list."""


@dataclasses.dataclass(frozen=True)
class Segment:
    """One segment of a progress bar; `start` and `width` are in percent of the bar's length."""

    state: State
    start: float
    width: float


@dataclasses.dataclass(frozen=True)
class Card:
    """The summary of a campaign."""

    name: str
    url: str
    study: str
    question: str
    site: str
    activity: str
    done: str
    eta: str
    segments: tuple[Segment, ...]
    counts: tuple[tuple[State, int], ...]
    under_way: tuple[tuple[str, str], ...]
    n_more_under_way: int
    started: str
    fault: str


@dataclasses.dataclass(frozen=True)
class MatrixRow:
    """One case of the matrix: for each block, the state and the number of the last attempt."""

    case: str
    label: str
    variant: Variant
    states: tuple[State | None, ...]
    attempts: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class MatrixGroup:
    """The cases of one configuration."""

    label: str
    rows: tuple[MatrixRow, ...]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """The matrix of cases × blocks."""

    blocks: tuple[int, ...]
    groups: tuple[MatrixGroup, ...]


@dataclasses.dataclass(frozen=True)
class RunLine:
    """One line in the list of runs: an attempt, or a planned run without an attempt."""

    url: str
    block: str
    label: str
    state: State
    elapsed: str
    started: str
    remark: str


@dataclasses.dataclass(frozen=True)
class RunList:
    """One page of the runs that pass the filter."""

    lines: tuple[RunLine, ...]
    n_found: int
    page: int
    n_pages: int


def campaign_url(name: str) -> str:
    """Return the URL of a campaign's page."""
    return f"/c/{quote(name, safe='')}"


def run_url(name: str, attempt: Attempt) -> str:
    """Return the URL of an attempt's page."""
    return f"{campaign_url(name)}/run/{quote(attempt.case, safe='')}/{attempt.block}.{attempt.attempt}"


def card(name: str, folder: str, campaign_state: CampaignState | None, fault: str) -> Card:
    """Return the summary of a campaign; `campaign_state` is None if its plan cannot be read."""
    if campaign_state is None:
        return Card(name, campaign_url(name), folder, "", "", "damaged", "", "", (), (), (), 0, "", fault)
    progress = campaign_state.progress()
    return Card(
        name=name,
        url=campaign_url(name),
        study=visible(campaign_state.plan.study),
        question=visible(campaign_state.plan.question),
        site=visible(campaign_state.plan.site),
        activity=activity(campaign_state, progress),
        done=f"{progress.counts[State.DONE]} of {count(progress.n_planned, 'run')} done",
        eta=_eta(progress),
        segments=segments(progress),
        counts=tuple((state, n) for state, n in progress.counts.items() if n and state is not State.DONE),
        under_way=tuple(
            (f"{block_name(one.block)} · {_case_label(campaign_state, one.case)}", run_url(name, one))
            for one in progress.under_way[:_MOST_UNDER_WAY]
        ),
        n_more_under_way=max(len(progress.under_way) - _MOST_UNDER_WAY, 0),
        started=when(progress.started_at),
        fault=fault,
    )


def activity(campaign_state: CampaignState, progress: RunCounts) -> str:
    """Return what a campaign is doing, in one or two words: running, finished, stopped or not begun."""
    if campaign_state.is_running:
        return "running"
    if progress.n_settled == progress.n_planned:
        return "finished"
    return "stopped" if campaign_state.attempts else "not begun"


def segments(progress: RunCounts) -> tuple[Segment, ...]:
    """Return the segments of the progress bar; settled runs come first, and pending ones have no segment."""
    shown = (State.DONE, State.INVALID, State.FAILED, State.LOST, State.RUNNING)
    found, at = [], 0.0
    for state in shown:
        width = 100 * progress.counts[state] / progress.n_planned if progress.n_planned else 0.0
        if width:
            found.append(Segment(state, round(at, 3), round(width, 3)))
        at += width
    return tuple(found)


def matrix(campaign_state: CampaignState, variants: Variants) -> Matrix:
    """Return the cases by configuration and variant, in the plan's order, over all planned or run blocks."""
    blocks = sorted(
        {run.block for run in campaign_state.planned} | {run.block for run in campaign_state.latest}
    )
    planned = set(campaign_state.planned)
    grouped: dict[str, list[MatrixRow]] = {
        configuration.label: [] for configuration in variants.configurations
    }
    for case in sorted(campaign_state.cases, key=lambda one: variants.variant_of[one].index):
        row = _row(campaign_state, planned, blocks, case, variants.variant_of[case])
        grouped[variants.configuration_of[case].label].append(row)
    groups = tuple(MatrixGroup(label, tuple(rows)) for label, rows in grouped.items())
    return Matrix(tuple(blocks), groups)


def _row(
    campaign_state: CampaignState, planned: set[Run], blocks: Sequence[int], case: str, variant: Variant
) -> MatrixRow:
    runs = [Run(block, case) for block in blocks]
    return MatrixRow(
        case=case,
        label=variant.name,
        variant=variant,
        states=tuple(
            campaign_state.state(run) if run in planned or run in campaign_state.latest else None
            for run in runs
        ),
        attempts=tuple(
            campaign_state.latest[run].attempt if run in campaign_state.latest else 0 for run in runs
        ),
    )


def cell_news(campaign_state: CampaignState, runs: Iterable[Run]) -> list[tuple[str, int, str, str, int]]:
    """Return the current cell of each run: case, block, CSS class, symbol and number of the last attempt."""
    return [
        (
            run.case,
            run.block,
            LETTERS[campaign_state.state(run)],
            SIGNS[campaign_state.state(run)],
            campaign_state.latest[run].attempt if run in campaign_state.latest else 0,
        )
        for run in runs
    ]


def run_list(
    name: str,
    campaign_state: CampaignState,
    variants: Variants,
    *,
    state: str = "",
    words: str = "",
    page: int = 1,
) -> RunList:
    """Return one page of the list of runs.

    The attempts come first, the latest of them at the top. The pending runs follow in their order. `state`
    selects runs by state. All of `words` must occur in a run's label, block, state or reason.
    """
    wanted = [word for word in words.casefold().split() if word]
    found: list[Attempt | Run] = [
        one
        for one in reversed(tuple(campaign_state.attempts.values()))
        if one.case in variants.variant_of
        and state in ("", campaign_state.state_of(one))
        and _has(wanted, variants, one)
    ]
    if state in ("", State.PENDING):
        pending = (run for run in campaign_state.planned if run not in campaign_state.latest)
        found += [run for run in pending if _has(wanted, variants, run)]
    n_pages = max(-(-len(found) // PAGE_ROWS), 1)
    page = min(max(page, 1), n_pages)
    shown = found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    lines = tuple(_line(name, campaign_state, variants, one) for one in shown)
    return RunList(lines, len(found), page, n_pages)


def _has(words: Sequence[str], variants: Variants, one: Attempt | Run) -> bool:
    if not words:
        return True
    text = f"{variants.case_label(one.case)} {block_name(one.block)}"
    if isinstance(one, Attempt):
        text = f"{text} {one.state} {one.reason} {one.check}"
    text = text.casefold()
    return all(word in text for word in words)


def _line(name: str, campaign_state: CampaignState, variants: Variants, one: Attempt | Run) -> RunLine:
    label = variants.case_label(one.case)
    if isinstance(one, Run):
        return RunLine("", block_name(one.block), label, State.PENDING, "", "", "")
    state = campaign_state.state_of(one)
    again = f", attempt {one.attempt}" if one.attempt > 1 else ""
    remark = one.remark if state is State.DONE else reason(campaign_state, one)
    return RunLine(
        url=run_url(name, one),
        block=block_name(one.block) + again,
        label=label,
        state=state,
        elapsed=elapsed(one, state),
        started=when(one.started_at),
        remark=visible(remark),
    )


def reason(campaign_state: CampaignState, one: Attempt) -> str:
    """Return why an attempt does not count, with the check that failed, or what the attempt waits for."""
    why = campaign_state.reason_of(one)
    return f"{why} (check: {one.check})" if one.check else why


def elapsed(one: Attempt, state: State, clock: float | None = None) -> str:
    """Return how long an attempt took, or has taken so far; empty if the time was not measured."""
    if state is State.RUNNING and one.started_at is not None:
        seconds = max((time.time() if clock is None else clock) - one.started_at, 0.0)
        return f"{format_seconds(seconds)} so far".replace(" ", NARROW, 1)
    if one.source or state in (State.RUNNING, State.LOST):
        return ""
    return f"{number(one.elapsed_s)}{NARROW}s"


def _case_label(campaign_state: CampaignState, case: str) -> str:
    found = campaign_state.cases.get(case)
    if found is None:
        return visible(case)
    return visible(campaign_state.plan.describe(found))


def block_name(block: int) -> str:
    """Return a block's name; a block below 1 is the warm-up."""
    return f"block {block}" if block >= 1 else "warm-up"


def _eta(progress: RunCounts) -> str:
    if progress.eta_s is None:
        return ""
    end = time.strftime("%H:%M", time.localtime(time.time() + progress.eta_s))
    day = (
        ""
        if progress.eta_s < 20 * 3600
        else time.strftime(" on %a %d %b", time.localtime(time.time() + progress.eta_s))
    )
    left = format_seconds(max(progress.eta_s, 1))
    if progress.is_least:
        return f"at least {left} left, until {end}{day} or later"
    return f"about {left} left, until {end}{day}"


def when(seconds: float | None) -> str:
    """Return a time in UTC, to the second; empty if it is None."""
    return "" if seconds is None else f"{moment(seconds):%Y-%m-%d %H:%M:%S} UTC"
