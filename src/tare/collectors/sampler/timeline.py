"""What hosts did over time, out of recordings: for charts."""

from __future__ import annotations

from tare.beneath import Beneath
from tare.collectors.sampler.figures import by_interface, cpu_shares, difference, parse
from tare.collectors.sampler.recording import HostRecording, Recording, Sample, read, times
from tare.errors import NOT_JSON
from tare.model.telemetry import Span, Timeline, Track

_LEAST_S = 0.05  # between points: the kernel counts CPU time in ticks of 0.01 s


def read_timeline(folder: Beneath) -> Timeline | None:
    """Return what the hosts of the attempt in `folder` did; None where nothing readable was recorded."""
    try:
        recording = read(folder)
    except (OSError, *NOT_JSON):
        return None
    return None if recording is None else timeline(recording)


def timeline(recording: Recording) -> Timeline:
    """Return the timeline of a recording.

    Hosts that share a machine have one track of its cores between them, that of the first.
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
    begins: list[float] = []
    ends: list[float] = []
    values: dict[str, list[float]] = {"cpu_system": [], "cpu_busy": [], "network_rate": []}
    for before, after in _steps(one.samples):
        counted = difference(parse(before, ("cpu", "interfaces")), parse(after, ("cpu", "interfaces")))
        shares = cpu_shares(counted) or {"cpu_system": 0.0, "cpu_idle": 100.0, "cpu_iowait": 0.0}
        seconds = after.at_s - before.at_s
        begins.append(at[before.at_s])
        ends.append(at[after.at_s])
        values["cpu_system"].append(shares["cpu_system"])
        values["cpu_busy"].append(100 - shares["cpu_idle"] - shares["cpu_iowait"])
        values["network_rate"].append(_sent(counted, span.interface) / seconds)
    has_cores = has_cores and any("cpu" in sample.lines for sample in one.samples)
    kept = (["cpu_system", "cpu_busy"] if has_cores else []) + (["network_rate"] if is_of_ranks else [])
    return Track(
        host=one.host,
        since=tuple(begins),
        at=tuple(ends),
        values={name: tuple(values[name]) for name in kept},
        is_of_ranks=is_of_ranks,
    )


def _steps(samples: tuple[Sample, ...]) -> list[tuple[Sample, Sample]]:
    """Return samples in pairs that are not too close to each other for ticks to tell anything."""
    if not samples:
        return []
    steps: list[tuple[Sample, Sample]] = []
    before = samples[0]
    for number, sample in enumerate(samples[1:], 1):
        if sample.at_s - before.at_s >= _LEAST_S or (number == len(samples) - 1 and not steps):
            steps.append((before, sample))
            before = sample
    return [step for step in steps if step[1].at_s > step[0].at_s]


def _sent(counted: dict[str, float], interface: str | None) -> float:
    """Return the bytes sent through `interface`; through the busiest but loopback where it is not named."""
    sent = {name: one.get("tx_bytes", 0.0) for name, one in by_interface(counted).items() if name != "lo"}
    if interface in sent:
        return sent[interface]
    return max(sent.values(), default=0.0)
