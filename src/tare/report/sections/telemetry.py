"""Why: what nodes did meanwhile, as a table of what differs and as charts against time."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from tare.answers.explanation import Reason
from tare.model.attempt import Attempt
from tare.model.campaign import Campaign
from tare.model.telemetry import FIGURES, PREFIX, Timeline, Track
from tare.report.charts.panels import Line, Panel, Point
from tare.report.sides import Place, Side, Sides
from tare.report.words.numbers import number, quantity, ratio, ratio_bounds, words

MOST_REASONS = 6
"""Of one contender at one place: a reader looks for the one or two that matter."""

MOST_CASES = 6
"""Cases that are drawn against time."""

_MOST_RUNS = 8
_MOST_POINTS = 400  # of one chart
_GAP = 0.03  # between runs, of all the time that is drawn

ReadTimeline = Callable[[Attempt], Timeline | None]
"""Reads what the hosts of an attempt did over time."""


@dataclasses.dataclass(frozen=True)
class ReasonRow:
    """A figure of telemetry of a contender, next to its reference's; medians over runs."""

    side: Side
    place: Place
    name: str
    summary: str
    reference: str
    contender: str
    ratio: str
    interval: str
    n_blocks: int


@dataclasses.dataclass(frozen=True)
class Epoch:
    """One run on the axis of time, by its two ends in seconds."""

    begin: float
    end: float
    block: int


@dataclasses.dataclass(frozen=True)
class Bar:
    """What one host did between two samples, stacked on what hosts before it did."""

    begin: float
    end: float
    low: float
    high: float
    host: str


@dataclasses.dataclass(frozen=True)
class Course:
    """What the nodes of one case did against time, its runs one after another."""

    panel: Panel
    epochs: tuple[Epoch, ...]
    bars: tuple[Bar, ...]
    hosts: tuple[str, ...]


def reason_rows(reasons: Sequence[Reason], campaign: Campaign, sides: Sides) -> list[ReasonRow]:
    """Return the clearest differences of each contender at each place."""
    shown: dict[str, int] = {}
    rows = []
    for one in (reason.comparison for reason in reasons):
        n = shown[one.contender_case] = shown.get(one.contender_case, 0) + 1
        if n > MOST_REASONS:
            continue
        name = one.fom.removeprefix(PREFIX)
        figure = FIGURES[name]
        rows.append(
            ReasonRow(
                side=sides.side_of[one.contender_case],
                place=sides.place_of[one.contender_case],
                name=words(name),
                summary=figure.summary,
                reference=quantity(_median(campaign, one.reference_case, name), figure.unit),
                contender=quantity(_median(campaign, one.contender_case, name), figure.unit),
                ratio=ratio(one.ratio),
                interval=ratio_bounds(one.ratio, one.low, one.high),
                n_blocks=one.n_blocks,
            )
        )
    return rows


def courses(campaign: Campaign, sides: Sides, cases: frozenset[str], read: ReadTimeline) -> list[Course]:
    """Return CPU and network of some cases against time: of those that tell most, and no more than a few."""
    runs: dict[str, list[Attempt]] = {}
    for attempt in campaign.measured():
        if attempt.case in cases and attempt.telemetry:
            runs.setdefault(attempt.case, []).append(attempt)
    found = []
    for case in [case for case in sides.side_of if case in runs][:MOST_CASES]:
        timelines = [(attempt.block, read(attempt)) for attempt in runs[case][:_MOST_RUNS]]
        known = [(block, one) for block, one in timelines if one is not None and one.epochs]
        for name, title, unit in _KINDS:
            course = _course(case, known, name, title, unit, sides)
            if course is not None:
                found.append(course)
    return found


_KINDS = (
    ("cpu_system", "CPU in the kernel, of all cores of each machine", "%"),
    ("network_rate", "bytes a second sent through the case's interface", "B/s"),
)


def _course(
    case: str,
    timelines: Sequence[tuple[int, Timeline]],
    name: str,
    title: str,
    unit: str,
    sides: Sides,
) -> Course | None:
    """Return one quantity of one case; None where no host tells it."""
    lengths = [one.epochs[-1].ended_at - one.epochs[0].began_at for _, one in timelines]
    gap_s = _GAP * sum(lengths)
    begin = 0.0
    epochs: list[Epoch] = []
    bars: list[Bar] = []
    for (block, one), length in zip(timelines, lengths, strict=True):
        epochs.append(Epoch(begin, begin + length, block))
        bars += _bars(one, name, begin - one.epochs[0].began_at)
        begin += length + gap_s
    if not bars:
        return None
    bars = bars[:: max(1, -(-len(bars) // _MOST_POINTS))]
    line = Line(sides.side_of[case], tuple(_points(bars, epochs, unit)))
    panel = Panel(sides.case_label(case), title, (line,), x="seconds", unit=unit)
    return Course(panel, tuple(epochs), tuple(bars), tuple(dict.fromkeys(bar.host for bar in bars)))


def _bars(one: Timeline, name: str, shift_s: float) -> Iterator[Bar]:
    """Yield what each host did, stacked: on what those before it did at the middle of the time."""
    first, last = one.epochs[0].began_at, one.epochs[-1].ended_at
    below: list[Track] = []
    for track in one.tracks:
        if name not in track.values:
            continue
        for begin, end, value in zip(track.since, track.at, track.values[name], strict=True):
            low = sum(_value(other, name, (begin + end) / 2) for other in below)
            left, right = max(begin, first), min(end, last)
            if right > left:
                yield Bar(left + shift_s, right + shift_s, low, low + value, track.host)
        below.append(track)


def _value(track: Track, name: str, at: float) -> float:
    steps = zip(track.since, track.at, track.values[name], strict=True)
    return next((value for begin, end, value in steps if begin <= at <= end), 0.0)


def _points(bars: Sequence[Bar], epochs: Sequence[Epoch], unit: str) -> Iterator[Point]:
    """Yield the bars as numbers for the table beneath the chart."""
    for bar in bars:
        block = next(
            (one.block for one in epochs if one.begin <= bar.end <= one.end + 1e-6), epochs[-1].block
        )
        yield Point(
            x=bar.end,
            y=bar.high,
            low=None,
            high=None,
            at=f"{number(bar.end)} s on {bar.host}",
            value=quantity(bar.high - bar.low, unit),
            interval="",
            n_blocks=block,
        )


def describe_course(course: Course) -> str:
    """Return a chart in words, for those who do not see it."""
    means = [
        statistics.fmean(bar.high - bar.low for bar in course.bars if bar.host == host)
        for host in course.hosts
    ]
    told = ", ".join(
        f"{host} {quantity(mean, course.panel.unit)}" for host, mean in zip(course.hosts, means, strict=True)
    )
    return f"{course.panel.title}: {course.panel.subtitle}. Mean over {len(course.epochs)} runs: {told}."


def _median(campaign: Campaign, case: str, name: str) -> float:
    by_case: Mapping[str, list[float]] = {
        case: [
            one.telemetry[name] for one in campaign.measured() if one.case == case and name in one.telemetry
        ]
    }
    return statistics.median(by_case[case])
