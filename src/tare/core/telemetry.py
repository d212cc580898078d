"""Telemetry: what the nodes of a run did during it, as recordings and as figures of merit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from tare.core.counting import count

PREFIX = "telemetry."
"""The prefix of the name of every figure of merit that comes from telemetry."""


class Epoch(msgspec.Struct, frozen=True):
    """When a stage ran, in seconds since the epoch (time(2)), by the clock of the machine of `tare run`."""

    stage: str
    began_at: float
    ended_at: float


def end_mark(stage: str) -> str:
    """Return the mark of the sample after a stage; the mark of the sample before it is the stage's name."""
    return f"{stage} ended"


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A host that was watched.

    Its clock was `offset_s` ahead of the clock of the machine of `tare run`, with an error of at most
    `offset_error_s`. Its monotonic clock was zero when that machine's clock showed `zero_at`. These are None
    where they were not measured. `fault` says why it was not watched to the end. `is_of_ranks` is true for a
    host on which ranks start, and false for a node beneath such a host, as beneath a pod.
    """

    offset_s: float | None = None
    offset_error_s: float | None = None
    zero_at: float | None = None
    fault: str = ""
    is_of_ranks: bool = True


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording covers: the watched hosts, and the stages that ran, of which the last is measured.

    `interface` is the one of the case's network, on the hosts of its ranks.
    """

    hosts: dict[str, Host]
    epochs: tuple[Epoch, ...]
    interface: str | None = None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """What one host did over time: `at` is in seconds since the epoch, by the clock of `tare run`'s machine.

    `values` are rates and shares by the name of a figure, each for the time from `since` to `at`.
    """

    host: str
    since: tuple[float, ...]
    at: tuple[float, ...]
    values: dict[str, tuple[float, ...]]
    is_of_ranks: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError if a figure does not have one value for each time, as in a damaged file."""
        lengths = {len(self.since), *map(len, self.values.values())}
        if lengths != {len(self.at)}:
            raise ValueError(f"{count(len(self.at), 'time')}, and other numbers of values")


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What the hosts of one attempt did over time."""

    tracks: tuple[Track, ...]
    epochs: tuple[Epoch, ...]


class Group(NamedTuple):
    """The control group of a run's programs: its folder on `host`; None is this machine."""

    host: str | None
    folder: Path


class TelemetrySession(Protocol):
    """Watches hosts while an attempt runs."""

    def stage_began(self, name: str, group: Group | None) -> None:
        """Have a sample taken of every host now, and have `group` followed from then on."""
        ...

    def stage_ended(self, name: str, *, is_last: bool) -> None:
        """Have a sample taken of every host now, and of the followed group a last time.

        Nothing is sampled after a stage that `is_last`.
        """
        ...

    def await_samples(self) -> None:
        """Wait until all samples are taken: what follows is measured from here.

        The followed group of a stage that has ended may go.
        """
        ...

    def hosts(self) -> dict[str, Host]:
        """Return what is known about each host that was asked for."""
        ...

    def held(self) -> Mapping[str, bytes]:
        """Return the recordings that ended before they were written into the folder, by host."""
        ...


class TelemetrySource(Protocol):
    """Starts to watch hosts. It never fails: a host that cannot be watched has a fault."""

    def watch(
        self, hosts: Sequence[str | None], folder: Path, period_s: float, group: Group | None = None
    ) -> AbstractContextManager[TelemetrySession]:
        """Record what `hosts` do into `folder`, while entered, and follow `group`; None is this machine.

        When it is entered, all hosts were asked for their first sample.
        """
        ...


Settle = Callable[[Path, Span], Mapping[str, float]]
"""A function that stores the recordings in an attempt's folder, and returns its figures by name."""

SettleHeld = Callable[[Path, Span, Mapping[str, bytes]], Mapping[str, float]]
"""The same, with the recordings of hosts that are not in that folder."""
