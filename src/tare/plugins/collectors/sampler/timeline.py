"""Convert recordings to time series of each host, for charts."""

from __future__ import annotations

from tare.core.errors import NOT_JSON, CampaignError
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Span, Timeline, Track
from tare.core.telemetry_sources import drawn_against_time, time_series
from tare.plugins.collectors.sampler.figures import difference, parse
from tare.plugins.collectors.sampler.recording import HostRecording, Recording, Sample, read, times

_LEAST_S = 0.05  # between points, because the kernel counts CPU time in ticks of 0.01 s


def read_timeline(folder: SafeFolder) -> Timeline | None:
    """Return the timeline of the attempt in `folder`; None if there is no recording.

    Raises CampaignError if there is one that cannot be read.
    """
    try:
        recording = read(folder)
    except OSError as error:
        raise CampaignError(f"{error.filename or folder.path}: cannot be read: {error.strerror}") from error
    except NOT_JSON as error:
        raise CampaignError(f"{folder.path}: the recording is damaged: {error}") from error
    return None if recording is None else timeline(recording)


def timeline(recording: Recording) -> Timeline:
    """Return the timeline of a recording.

    Hosts on the same machine have one track of its cores, which is that of the first host.
    """
    span = recording.span or Span(hosts={}, epochs=())
    seen: set[str] = set()
    tracks = []
    for one in recording.hosts:
        machine = one.head.machine or one.host
        tracks.append(_track(one, span, has_cores=machine not in seen))
        seen.add(machine)
    return Timeline(tracks=tuple(track for track in tracks if track.at), epochs=span.epochs)


def _track(one: HostRecording, span: Span, *, has_cores: bool) -> Track:
    at = dict(zip((sample.at_s for sample in one.samples), times(one, span)[0], strict=True))
    host = span.hosts.get(one.host)
    is_of_ranks = host is None or host.is_of_ranks
    drawn = drawn_against_time()
    begins: list[float] = []
    ends: list[float] = []
    values: dict[str, list[float]] = {name: [] for name in time_series()}
    for before, after in _steps(one.samples):
        seconds = after.at_s - before.at_s
        begins.append(at[before.at_s])
        ends.append(at[after.at_s])
        for name, source in drawn.items():
            counted = difference(parse(before, (name,)), parse(after, (name,)))
            for what, value in source.over_time(counted, seconds, span.interface).items():
                values[what].append(value)
    recorded = {name for name in drawn if any(name in sample.lines for sample in one.samples)}
    kept = [
        what
        for name, source in drawn.items()
        for what in source.TIME_SERIES
        if ((has_cores and name in recorded) if time_series()[what].is_of_machine else is_of_ranks)
    ]
    return Track(
        host=one.host,
        since=tuple(begins),
        at=tuple(ends),
        values={name: tuple(values[name]) for name in kept},
        is_of_ranks=is_of_ranks,
    )


def _steps(samples: tuple[Sample, ...]) -> list[tuple[Sample, Sample]]:
    """Return consecutive samples as pairs. Samples that are too close for the ticks are skipped."""
    if not samples:
        return []
    steps: list[tuple[Sample, Sample]] = []
    before = samples[0]
    for number, sample in enumerate(samples[1:], 1):
        if sample.at_s - before.at_s >= _LEAST_S or (number == len(samples) - 1 and not steps):
            steps.append((before, sample))
            before = sample
    return [step for step in steps if step[1].at_s > step[0].at_s]
