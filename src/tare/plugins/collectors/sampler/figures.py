"""Compute figures of merit from recordings: the changes between the two ends of the measured stage."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tare.core.telemetry import Epoch, Span, end_mark
from tare.core.telemetry_sources import Source, sources
from tare.plugins.collectors.sampler.recording import HostRecording, Recording, Sample, times

Counters = dict[str, float]

Figures = Mapping[str, float | None]
"""The figures of a source by name; None for an unknown figure."""

_WAVERING = ("cpu.idle", "cpu.iowait")  # these may decrease (proc_stat(5)): the kernel recomputes them
_NO_LINES: list[str] = []
_MOST_WAVERING = 1000.0  # ticks; a larger loss means that a core was removed or came back


class Parser:
    """Parses the lines of samples. Lines that did not change from one sample to the next are parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[str, int], tuple[list[str], Counters]] = {}  # with the lines, whose id it is

    def __call__(self, sample: Sample, source: str) -> Counters:
        """Return the counters and gauges of a source in one sample; none if the sample does not have it."""
        lines = sample.lines.get(source)
        if lines is None:
            return {}
        known = self._parsed.get((source, id(lines)))
        if known is None:
            known = self._parsed[source, id(lines)] = (lines, _parse(lines, source))
        return known[1]

    def all_of(self, sample: Sample) -> Counters:
        """Return the counters and gauges of all sources in one sample."""
        found: Counters = {}
        for source in sources():
            found.update(self(sample, source))
        return found


@dataclass(frozen=True)
class HostCounts:
    """The counts of one host between two samples, and the samples in between.

    Hosts with the same `machine`, such as a node and its pods, report the same cores, disks and memory.
    `lost` are counters without a known count: they decreased or disappeared.
    """

    machine: str
    is_of_ranks: bool
    seconds: float
    counted: Counters
    lost: frozenset[str]
    samples: Sequence[Sample]
    parsed: Parser = field(default_factory=Parser)

    @cached_property
    def by_kind(self) -> Mapping[str, Counters]:
        """Return the counts by the part of their names before the first dot."""
        found: dict[str, Counters] = defaultdict(dict)
        for name, value in self.counted.items():
            found[name.partition(".")[0]][name] = value
        return dict(found)

    def read(self, source: str) -> list[Counters]:
        """Return the counters and gauges of a source in each sample."""
        return [self.parsed(sample, source) for sample in self.samples]

    def first_lines(self, *names: str) -> list[str]:
        """Return the first sample's lines of the first of these sources that it has."""
        return _lines(self.samples[0], names)

    def last_lines(self, *names: str) -> list[str]:
        """Return the last sample's lines of the first of these sources that it has."""
        return _lines(self.samples[-1], names)

    def difference(self, first: Counters, last: Counters) -> Counters:
        """Return the counts between two samples."""
        return difference(first, last)


class StageCounts(NamedTuple):
    """All counts of the measured stage, from which sources compute their figures.

    `hosts` are all nodes and pods. `machines` are those with cores, disks and memory of their own.
    `interface` is the one of the case's network, if known.
    """

    hosts: Sequence[HostCounts]
    machines: Sequence[HostCounts]
    interface: str | None

    def mean(self, values: Sequence[float]) -> float | None:
        """Return the mean. Return None if there are no values."""
        return sum(values) / len(values) if values else None

    def levels(self, source: str, name: str) -> list[float]:
        """Return a source's gauge in all samples of all machines that have it."""
        return [one[name] for host in self.machines for one in host.read(source) if name in one]

    def mean_rate(self, counter: str) -> float | None:
        """Return a counter's mean rate per second over machines. Return None if one of them lacks it."""
        if not all(counter in one.counted for one in self.machines):
            return None
        return self.mean([one.counted[counter] / one.seconds for one in self.machines])

    def sum_over_hosts(self, counter: str) -> float | None:
        """Return a counter's sum over all hosts. Return None if one of them lacks it."""
        has_all = all(counter in one.counted for one in self.hosts)
        return sum(one.counted[counter] for one in self.hosts) if has_all else None

    def total(self, kind: str, *fields: str) -> float | None:
        """Return the sum of all counters ``KIND.…/FIELD``. Return None if there are none or one was lost."""
        ends = tuple([f"/{field}" for field in fields])
        found = []
        for one in self.machines:
            if one.lost and any(name.startswith(f"{kind}.") and name.endswith(ends) for name in one.lost):
                return None
            counted = one.by_kind.get(kind)
            if counted:
                found += [value for name, value in counted.items() if name.endswith(ends)]
        return sum(found) if found else None

    def rates(self, kind: str) -> dict[str, float | None]:
        """Return ``KIND_read`` and ``KIND_written``, in bytes per second of all machines together."""
        seconds = self.mean([one.seconds for one in self.machines])
        found: dict[str, float | None] = {}
        for what, counter in (("read", "read_bytes"), ("written", "written_bytes")):
            total = self.total(kind, counter)
            found[f"{kind}_{what}"] = total / seconds if total is not None and seconds else None
        return found


def _lines(sample: Sample, names: Sequence[str]) -> list[str]:
    return next((sample.lines[name] for name in names if name in sample.lines), [])


def parse(sample: Sample, names: Iterable[str]) -> Counters:
    """Return the counters and gauges of these sources in one sample. Unreadable sources are left out."""
    return {
        counter: value
        for name in names
        for counter, value in _parse(sample.lines.get(name, _NO_LINES), name).items()
    }


def _parse(lines: list[str], source: str) -> Counters:
    try:
        return sources()[source].counters(lines)
    except (ValueError, LookupError):  # a kernel or driver may write anything
        return {}


def difference(first: Counters, last: Counters) -> Counters:
    """Return the counts between two readings, without counters that decreased, such as those of a reset port.

    Counters at their upper limit, which are infinite, are left out, too. Idle time may decrease a little by
    itself.
    """
    found: Counters = {}
    for name, value in last.items():
        passed = value - first.get(name, math.nan)
        if 0 <= passed < math.inf:
            found[name] = passed
        elif name in _WAVERING and -_MOST_WAVERING < passed < 0:
            found[name] = 0.0
    return found


def derive(recording: Recording) -> Counters:
    """Return the figures of an attempt by name (see core.telemetry_sources).

    Empty unless every host was recorded from the beginning to the end of the measured stage. Figures of a
    part of a run, or of some of its nodes, must not be compared with those of a whole run.
    """
    span = recording.span
    if span is None or not span.epochs or not recording.hosts:
        return {}
    if {one.host for one in recording.hosts} != set(span.hosts) or any(
        host.fault for host in span.hosts.values()
    ):
        return {}
    passed = [_host_counts(one, span) for one in recording.hosts]
    if any(one is None for one in passed):
        return {}
    whole = [one for one in passed if one is not None]
    machines = list({one.machine: one for one in reversed(whole)}.values())
    stage = StageCounts(whole, machines, span.interface)
    found: Counters = {}
    for source in sources().values():
        found |= {name: one for name, one in _figures(source, stage).items() if one is not None}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _figures(source: Source, stage: StageCounts) -> Figures:
    """Return the figures of one source. An error in a source does not stop the others."""
    try:
        return source.figures(stage)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return {}


def window(one: HostRecording, epoch: Epoch, span: Span) -> tuple[int, int] | None:
    """Return the indices of the last sample before a stage and the first after it.

    Return None if one is missing. Samples that were taken for the stage's begin and end count as such, within
    the error of the clocks.
    """
    at, margin_s = times(one, span)
    end = len(at) - 1
    if end < 1:
        return None
    marked = [number for number, sample in enumerate(one.samples) if sample.mark == epoch.stage]
    before = marked or [number for number in range(end) if at[number] <= epoch.began_at - margin_s]
    if not before and at[0] > epoch.began_at + margin_s:
        return None
    first = before[-1] if before else 0
    last = next(
        (
            number
            for number in range(first + 1, end)
            if one.samples[number].mark == end_mark(epoch.stage) or at[number] >= epoch.ended_at + margin_s
        ),
        end,
    )
    return (first, last) if first < last and at[last] >= epoch.ended_at - margin_s else None


def _host_counts(one: HostRecording, span: Span) -> HostCounts | None:
    found = window(one, span.epochs[-1], span)
    if found is None:
        return None
    samples = one.samples[found[0] : found[1] + 1]
    parsed = Parser()
    first, last = parsed.all_of(samples[0]), parsed.all_of(samples[-1])
    counted = difference(first, last)
    return HostCounts(
        machine=one.head.machine or one.host,
        is_of_ranks=span.hosts[one.host].is_of_ranks,
        seconds=samples[-1].at_s - samples[0].at_s,
        counted=counted,
        lost=frozenset(first.keys() - counted.keys()),
        samples=samples,
        parsed=parsed,
    )
