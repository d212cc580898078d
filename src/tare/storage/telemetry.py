"""Telemetry that another program recorded, stored with the attempts that ran at that time."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.errors import CampaignError
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Timeline, Track
from tare.storage.reading import read_json

IMPORTED = "telemetry.imported.json"
"""The file of imported telemetry in an attempt's folder: a timeline, as Tare's own telemetry has when read.

A file of the same name in the campaign's folder holds the means of all runs, so that few files are read.
"""

_CURE = "delete it and import again"

Means = dict[str, dict[str, float]]
"""Figures by name, for each attempt's folder."""

Point = tuple[str, float, float | None, dict[str, float]]
"""One record: host, time, interval in seconds, and values by name.

The values are of the interval that ends at that time. Without an interval, they are of the time since the
host's previous point.
"""


def epoch_of(attempt: Attempt) -> Epoch | None:
    """Return when an attempt ran; None where that is unknown."""
    if attempt.started_at is None or attempt.elapsed_s <= 0:
        return None
    return Epoch("run", attempt.started_at, attempt.started_at + attempt.elapsed_s)


_Spread = dict[tuple[str, str], dict[float, tuple[float, float]]]
"""For each host and figure, by the time at which an interval ends: its beginning, and the value."""


def cut(points: Iterable[Point], epoch: Epoch) -> tuple[Track, ...]:
    """Return the tracks of hosts within `epoch`: points the middle of whose interval lies in it."""
    spread: _Spread = {}
    last: dict[str, float] = {}
    for host, at, interval_s, values in points:
        length = interval_s if interval_s is not None else at - last.get(host, at)
        last[host] = at
        if epoch.began_at <= at - length / 2 <= epoch.ended_at:
            for name, value in values.items():
                spread.setdefault((host, name), {})[at] = (at - length, value)
    return _tracks(spread)


def _tracks(spread: _Spread) -> tuple[Track, ...]:
    """Return tracks: the figures of a host that have the same times form one track."""
    alike: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for (host, name), values in sorted(spread.items()):
        alike.setdefault((host, tuple(sorted(values))), []).append(name)
    return tuple(
        Track(
            host=host,
            since=tuple(spread[host, names[0]][one][0] for one in at),
            at=at,
            values={name: tuple(spread[host, name][one][1] for one in at) for name in names},
        )
        for (host, at), names in alike.items()
    )


def _spread_of(tracks: Iterable[Track]) -> _Spread:
    return {
        (one.host, name): dict(zip(one.at, zip(one.since, values, strict=True), strict=True))
        for one in tracks
        for name, values in one.values.items()
    }


def keep(campaign: Campaign, attempt: Attempt, tracks: Sequence[Track], epoch: Epoch) -> dict[str, float]:
    """Store `tracks` with `attempt`, replacing what was imported before for the same hosts and times.

    Points before or after are kept, such as those of the day before, of a run that continues after midnight.
    Return the means of all that is stored, over time and then over hosts. Hosts that are not the campaign's
    own, such as a switch, count only for figures that no own host has.
    """
    folder = SafeFolder(campaign.folder, attempt.folder)
    known = _spread_of(read_imported(folder).tracks)
    for key, fresh in _spread_of(tracks).items():
        first, last = min(since for since, _ in fresh.values()), max(fresh)
        others = {at: values for at, values in known.get(key, {}).items() if at <= first or values[0] >= last}
        known[key] = others | fresh
    timeline = Timeline(tracks=_tracks(known), epochs=(epoch,))
    with CampaignError.for_files(campaign.folder):
        (folder / IMPORTED).replace(msgspec.json.encode(timeline))
    own = [one for one in timeline.tracks if one.host in campaign.hosts]
    return _means(timeline.tracks) | _means(own)


def _means(tracks: Sequence[Track]) -> dict[str, float]:
    by_figure: dict[str, list[float]] = {}
    for track in tracks:
        lengths = [end - begin for begin, end in zip(track.since, track.at, strict=True)]
        weights = lengths if any(lengths) else None  # a single point covers no time
        for name, values in track.values.items():
            by_figure.setdefault(name, []).append(statistics.fmean(values, weights))
    return {name: statistics.fmean(values) for name, values in sorted(by_figure.items())}


def keep_means(folder: Path, means: Means) -> None:
    """Store the means of runs of the campaign in `folder`, in addition to those of other runs."""
    with CampaignError.for_files(folder):
        SafeFolder(folder, IMPORTED).replace(msgspec.json.encode(read_means(folder) | means))


def read_means(folder: Path) -> Means:
    """Return the means of the telemetry that was imported into the campaign in `folder`."""
    return read_json(SafeFolder(folder, IMPORTED), Means, _CURE) or {}


def imported_timeline(folder: SafeFolder) -> Timeline | None:
    """Return the telemetry imported for the attempt in `folder`; None if there is none.

    Its tracks have the figure ``cpu_busy`` where idle time and waits for input and output are known. Raises
    CampaignError.
    """
    found = read_imported(folder)
    return (
        msgspec.structs.replace(found, tracks=tuple(map(_with_work, found.tracks))) if found.tracks else None
    )


def _with_work(track: Track) -> Track:
    idle, waits = track.values.get("cpu_idle"), track.values.get("cpu_iowait")
    if idle is None or waits is None:
        return track
    busy = tuple(100 - one - other for one, other in zip(idle, waits, strict=True))
    return msgspec.structs.replace(track, values={"cpu_busy": busy, **track.values})


def read_imported(folder: SafeFolder) -> Timeline:
    """Return the telemetry imported for the attempt in `folder`; an empty timeline if there is none."""
    file = folder / IMPORTED
    found = read_json(file, Timeline, _CURE) if file.exists() else None
    return found or Timeline(tracks=(), epochs=())
