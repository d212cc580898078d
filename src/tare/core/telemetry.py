"""Telemetry: what the nodes of a run did meanwhile, as recordings and as figures of merit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

PREFIX = "telemetry."
"""What the name of every figure of merit of telemetry begins with."""


class Epoch(msgspec.Struct, frozen=True):
    """When a stage ran, in seconds since the epoch of time(2), by the clock of the head."""

    stage: str
    began_at: float
    ended_at: float


def end_mark(stage: str) -> str:
    """Return the mark of the sample after a stage; its own name is that of the one before."""
    return f"{stage} ended"


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A host that was watched.

    Its clock was `offset_s` ahead of the head's, give or take `offset_error_s`, and its monotonic clock stood
    at zero when the head's said `zero_at`; None where it was not asked. `fault` says why it was not watched
    to the end. `is_of_ranks` tells a host on which ranks start from a node beneath one, as that of a pod.
    """

    offset_s: float | None = None
    offset_error_s: float | None = None
    zero_at: float | None = None
    fault: str = ""
    is_of_ranks: bool = True


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording spans: the hosts that were watched, and the stages that ran; the last one is measured.

    `interface` is the one of the case's network, on the hosts of its ranks.
    """

    hosts: dict[str, Host]
    epochs: tuple[Epoch, ...]
    interface: str | None = None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """What one host did over time: `at` in seconds since the epoch by the head's clock.

    `values` are rates and shares from `since` to `at`, one for each, by the name of a figure.
    """

    host: str
    since: tuple[float, ...]
    at: tuple[float, ...]
    values: dict[str, tuple[float, ...]]
    is_of_ranks: bool = True

    def __post_init__(self) -> None:
        """Refuse a track, as of a damaged file, whose figures do not each have a value for each time."""
        lengths = {len(self.since), *map(len, self.values.values())}
        if lengths != {len(self.at)}:
            raise ValueError(f"{len(self.at)} times, and other numbers of values")


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What the hosts of one attempt did over time."""

    tracks: tuple[Track, ...]
    epochs: tuple[Epoch, ...]


class TelemetrySession(Protocol):
    """Watches hosts while an attempt runs."""

    def mark(self, name: str) -> None:
        """Take a sample of every host now, so that what follows has a beginning of its own."""
        ...

    def follow(self, host: str | None, group: Path | None) -> None:
        """Sample also the run's control group of this folder on `host`; None as it is about to go."""
        ...

    def hosts(self) -> dict[str, Host]:
        """Return what is known of each host that was asked for."""
        ...


class TelemetrySource(Protocol):
    """Starts watching. It never fails: a host that cannot be watched is one with a fault."""

    def watch(
        self, hosts: Sequence[str | None], folder: Path, period_s: float
    ) -> AbstractContextManager[TelemetrySession]:
        """Record what `hosts` do into `folder`, while entered; None is this machine."""
        ...


Settle = Callable[[Path, Span], Mapping[str, float]]
"""Stores the recordings in an attempt's folder, and returns its figures by name."""
