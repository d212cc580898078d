"""The nodes' telemetry over time: runs are shown one after another, with their nodes stacked."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.errors import CampaignError
from tare.core.telemetry import Timeline, Track
from tare.core.telemetry_sources import time_series
from tare.report.charts.panels import Line, Panel, Point
from tare.report.variants import Variants
from tare.report.words.numbers import scaled, visible
from tare.stats.intervals import Floats

MOST_CASES = 8
"""The most cases that are drawn over time, with a row of charts each."""

MOST_LAYERS = 6
"""The most layers of a stack; of more nodes, the busiest have one each, and the others share one."""

_MOST_RUNS = 8
_MOST_BARS = 280  # in one chart
_LEAST_STEPS = 5  # in one run
_GAP = 0.03  # between runs, as a share of the drawn time

ReadTimeline = Callable[[Attempt], Timeline | None]
"""A function that reads the telemetry of an attempt's hosts over time; None if there is none.

It raises CampaignError if there is some that cannot be read.
"""


@dataclasses.dataclass(frozen=True)
class Epoch:
    """One stage of a run on the time axis, given by its two ends in seconds."""

    begin: float
    end: float
    block: int
    stage: str = ""
    is_measured: bool = True


@dataclasses.dataclass(frozen=True)
class Bar:
    """The value of one host in a time step, stacked on the hosts below; `at` is the time in words."""

    begin: float
    end: float
    low: float
    high: float
    host: str
    at: str = ""


@dataclasses.dataclass(frozen=True)
class NodeTimeline:
    """One quantity of the nodes of one case over time, with its runs one after another.

    `runs` has the two ends of each run on the time axis, in seconds, and its block.
    """

    panel: Panel
    epochs: tuple[Epoch, ...]
    bars: tuple[Bar, ...]
    hosts: tuple[str, ...]
    runs: tuple[Epoch, ...] = ()


@dataclasses.dataclass(frozen=True)
class NodeTimelines:
    """The charts over time, and sentences on what they leave out, and on what could not be read."""

    shown: tuple[NodeTimeline, ...] = ()
    left_out: str = ""
    unreadable: str = ""


def node_timelines(
    campaign: Campaign, variants: Variants, cases: frozenset[str], read: ReadTimeline
) -> NodeTimelines:
    """Return CPU, network and other quantities of some cases over time, ordered by configuration."""
    runs: dict[str, list[Attempt]] = {}
    measured = campaign.measured()
    watched = [one for one in measured if one.telemetry]
    for attempt in watched or measured:  # imported telemetry is only known when it is read
        runs.setdefault(attempt.case, []).append(attempt)
    configurations = {configuration: number for number, configuration in enumerate(variants.configurations)}
    placed = sorted(
        runs,
        key=lambda case: (configurations[variants.configuration_of[case]], variants.variant_of[case].index),
    )
    kinds = [(name, one.title, one.unit) for name, one in time_series().items()]
    found: list[NodeTimeline] = []
    n_cases = 0
    unreadable: list[str] = []
    for case in placed:
        if case not in cases or n_cases == MOST_CASES:
            continue
        timelines = []
        for attempt in _spread(runs[case]):
            try:
                timelines.append((attempt.block, read(attempt)))
            except CampaignError as error:
                unreadable.append(str(error))
        known = [(block, one) for block, one in timelines if one is not None and one.epochs]
        drawn = [_node_timeline(case, known, *kind, variants) for kind in kinds]
        found += [timeline for timeline in drawn if timeline is not None]
        n_cases += any(timeline is not None for timeline in drawn)
    most = max(map(len, runs.values()), default=0)
    left_out = _left_out(n_cases, len(runs), most) if found else ""
    return NodeTimelines(tuple(found), left_out, _unreadable(unreadable))


def _unreadable(reasons: Sequence[str]) -> str:
    if not reasons:
        return ""
    which = f"the telemetry of {count(len(reasons), 'run')} cannot be read"
    return visible(f"{which}{', such as' if len(reasons) > 1 else ''}: {reasons[0]}")


def _spread(runs: Sequence[Attempt]) -> list[Attempt]:
    """Return all runs, or if there are many, some from the first to the last: these show drift as well."""
    if len(runs) <= _MOST_RUNS:
        return list(runs)
    return [runs[round(number * (len(runs) - 1) / (_MOST_RUNS - 1))] for number in range(_MOST_RUNS)]


def _left_out(n_shown: int, n_cases: int, n_runs: int) -> str:
    parts = [f"{n_shown} of {count(n_cases, 'case')}"] if n_shown < n_cases else []
    parts += [f"{_MOST_RUNS} of up to {count(n_runs, 'run')} of each"] if n_runs > _MOST_RUNS else []
    return f"Shown are {', '.join(parts)}." if parts else ""


def _node_timeline(
    case: str,
    timelines: Sequence[tuple[int, Timeline]],
    name: str,
    title: str,
    unit: str,
    variants: Variants,
) -> NodeTimeline | None:
    """Return one quantity of one case, or None if no host has it."""
    known = [(block, one) for block, one in timelines if any(track.values.get(name) for track in one.tracks)]
    if not known:
        return None
    layers = _layers([one for _, one in known], name)
    gap_s = _GAP * sum(_length_s(one) for _, one in known)
    most_steps = max(_LEAST_STEPS, _MOST_BARS // (len(known) * len(layers)))
    begin = 0.0
    runs: list[Epoch] = []
    epochs: list[Epoch] = []
    bars: list[Bar] = []
    for block, one in known:
        shift_s = begin - one.epochs[0].began_at
        runs.append(Epoch(begin, begin + _length_s(one), block))
        epochs += [
            Epoch(
                stage.began_at + shift_s,
                stage.ended_at + shift_s,
                block,
                visible(stage.stage),
                is_measured=stage is one.epochs[-1],
            )
            for stage in one.epochs
        ]
        bars += _bars(one, name, layers, block, most_steps, shift_s)
        begin += _length_s(one) + gap_s
    if not bars:
        return None
    hosts = tuple(layers)
    line = Line(variants.variant_of[case], tuple(_points(bars, hosts, len(known), unit)))
    panel = Panel(variants.case_label(case), title, (line,), x="seconds", unit=unit)
    return NodeTimeline(panel, tuple(epochs), tuple(bars), hosts, tuple(runs))


def _length_s(one: Timeline) -> float:
    return one.epochs[-1].ended_at - one.epochs[0].began_at


def _layers(timelines: Sequence[Timeline], name: str) -> dict[str, frozenset[str]]:
    """Return the hosts of each layer by the layer's name, from the bottom."""
    means: dict[str, list[float]] = {}
    for one in timelines:
        for track in one.tracks:
            if track.values.get(name):
                means.setdefault(track.host, []).append(statistics.fmean(track.values[name]))
    if len(means) <= MOST_LAYERS:
        return {visible(host): frozenset({host}) for host in means}
    busiest = sorted(means, key=lambda host: -statistics.fmean(means[host]))[: MOST_LAYERS - 1]
    layers = {visible(host): frozenset({host}) for host in means if host in busiest}
    return layers | {
        f"the other {count(len(means) - len(busiest), 'node')}": frozenset(means).difference(busiest)
    }


def _bars(
    one: Timeline,
    name: str,
    layers: dict[str, frozenset[str]],
    block: int,
    most_steps: int,
    shift_s: float,
) -> Iterator[Bar]:
    """Yield the value of each layer in equal time steps of the run, with no more steps than samples.

    Hosts are not sampled at the same instants. So each step has the mean of every host over that step, and
    the top of the stack is their sum.
    """
    tracks = [track for track in one.tracks if track.values.get(name)]
    first = one.epochs[0].began_at
    n_steps = max(min(most_steps, max(len(track.at) for track in tracks)), 1)
    edges = np.linspace(first, one.epochs[-1].ended_at, n_steps + 1)
    low = np.zeros(n_steps)
    for layer, hosts in layers.items():
        means = np.array([_means(track, name, edges) for track in tracks if track.host in hosts])
        if not means.size:
            continue
        high = low + np.nansum(means, axis=0)
        for step in np.flatnonzero(np.isfinite(means).any(axis=0)).tolist():
            begin, end = edges[step : step + 2].tolist()
            at = f"block {block}, {begin - first:.2f} to {end - first:.2f} s"
            yield Bar(begin + shift_s, end + shift_s, float(low[step]), float(high[step]), layer, at)
        low = high


def _means(track: Track, name: str, edges: Floats) -> Floats:
    """Return the mean between each two edges; NaN if there is no sample between them."""
    times = np.column_stack([track.since, track.at]).ravel()
    seconds = np.diff(times, prepend=times[0])
    seconds[::2] = 0.0  # nothing is known between the end of a sample and the start of the next
    covered_s, total = (
        np.diff(np.interp(edges, times, np.cumsum(seconds * weights)))
        for weights in (np.ones(len(times)), np.repeat(np.array(track.values[name]), 2))
    )
    means: Floats = np.divide(total, covered_s, out=np.full(len(covered_s), np.nan), where=covered_s > 0)
    return means


def _points(bars: Sequence[Bar], hosts: Sequence[str], n_runs: int, unit: str) -> Iterator[Point]:
    """Yield a row per layer for the table below the charts."""
    for number, host in enumerate(hosts):
        heights = [bar.high - bar.low for bar in bars if bar.host == host]
        mean = statistics.fmean(heights) if heights else 0.0
        value = f"mean {scaled(mean, unit)}, at most {scaled(max(heights, default=0.0), unit)}"
        yield Point(x=number, y=mean, low=None, high=None, at=host, value=value, interval="", n_blocks=n_runs)


def describe_node_timeline(timeline: NodeTimeline) -> str:
    """Return a description of a chart for readers who cannot see it."""
    points = timeline.panel.lines[0].points
    text = "; ".join(f"{point.at}: {point.value}" for point in points)
    return (
        f"{timeline.panel.title}: {timeline.panel.subtitle}, over {count(len(timeline.runs), 'run')}. {text}."
    )
