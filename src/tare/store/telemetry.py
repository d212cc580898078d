"""Telemetry that somebody else recorded, kept with the attempts in whose time it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.errors import CampaignError
from tare.model.attempt import Attempt
from tare.model.campaign import Campaign
from tare.model.telemetry import Epoch, Timeline, Track

IMPORTED = "telemetry.imported.json"
"""The file in an attempt's folder; a timeline, as telemetry of Tare's own becomes one when it is read."""

Point = tuple[str, float, float | None, dict[str, float]]
"""What a host did in some seconds before a time; without how many, in the time since its last point."""


def epoch_of(attempt: Attempt) -> Epoch | None:
    """Return when an attempt ran; None where nobody knows."""
    if attempt.started_at is None or attempt.elapsed_s <= 0:
        return None
    return Epoch("run", attempt.started_at, attempt.started_at + attempt.elapsed_s)


def cut(points: Iterable[Point], epoch: Epoch) -> tuple[Track, ...]:
    """Return the tracks of hosts within `epoch`: points whose interval has its middle in it."""
    rows: dict[str, list[_Row]] = {}
    last: dict[str, float] = {}
    for host, at, interval_s, values in points:
        length = interval_s if interval_s is not None else at - last.get(host, at)
        last[host] = at
        if epoch.began_at <= at - length / 2 <= epoch.ended_at:
            rows.setdefault(host, []).append(_Row(at - length, at, values))
    return tuple(_track(host, found) for host, found in sorted(rows.items()))


class _Row(NamedTuple):
    since: float
    at: float
    values: dict[str, float]


def _track(host: str, rows: Sequence[_Row]) -> Track:
    """Return rows as columns, of the figures that every row has."""
    names = set(rows[0].values).intersection(*(row.values for row in rows))
    return Track(
        host=host,
        since=tuple(row.since for row in rows),
        at=tuple(row.at for row in rows),
        values={name: tuple(row.values[name] for row in rows) for name in sorted(names)},
    )


def keep(campaign: Campaign, attempt: Attempt, tracks: Sequence[Track], epoch: Epoch) -> None:
    """Keep `tracks` with `attempt`, in the place of what was imported for the same hosts before."""
    path = campaign.folder / attempt.folder / IMPORTED
    known = {(one.host, *one.values): one for one in read_imported(path.parent).tracks}
    known |= {(one.host, *one.values): one for one in tracks}
    timeline = Timeline(tracks=tuple(known[key] for key in sorted(known)), epochs=(epoch,))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(timeline))
    except OSError as error:
        raise CampaignError.from_os(campaign.folder, error) from error


def read_imported(folder: Path) -> Timeline:
    """Return what was imported for the attempt in `folder`; an empty timeline where nothing was."""
    path = folder / IMPORTED
    if not path.is_file():
        return Timeline(tracks=(), epochs=())
    try:
        return msgspec.json.decode(path.read_bytes(), type=Timeline)
    except msgspec.DecodeError as error:
        raise CampaignError(f"{path}: damaged ({error}); delete it and import again") from error
