"""Watch the nodes of an attempt while its stages run, and make figures of what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from tare.core.case import Case
from tare.core.clock import SteadyClock
from tare.core.telemetry import Epoch, Host, Settle, Span, TelemetrySession, TelemetrySource, end_mark
from tare.core.telemetry_options import TelemetryOptions as Settings
from tare.execution.compose import Composer


class TelemetryRecord(Protocol):
    """One attempt that is watched, or is not."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Be entered while a stage runs."""
        ...

    def follow(self, host: str | None, group: Path | None) -> None:
        """Watch the control group of a stage, which lies on `host`, too; None when it is about to go."""
        ...

    def figures(self) -> dict[str, float]:
        """Return what its nodes did (see model.telemetry.FIGURES), when it is over."""
        ...


class Telemetry(Protocol):
    """Watches attempts."""

    def watch(self, composer: Composer, case: Case, work: Path) -> AbstractContextManager[TelemetryRecord]:
        """Watch the hosts of `case` while entered, into the folder `work`."""
        ...


class NoTelemetry:
    """Watches nothing; also an attempt that is not watched."""

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Do nothing (see Telemetry)."""
        yield self

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Do nothing (see Watched)."""
        yield

    def follow(self, host: str | None, group: Path | None) -> None:
        """Do nothing (see Watched)."""

    def figures(self) -> dict[str, float]:
        """Return nothing (see Watched)."""
        return {}


class SampledTelemetry:
    """Watches as `settings` say, through `watcher`; `settle` makes figures of recordings."""

    def __init__(self, settings: Settings, watcher: TelemetrySource, settle: Settle) -> None:
        self._settings = settings
        self._watcher = watcher
        self._settle = settle

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Watch the hosts where ranks start, and the nodes beneath them where these are others."""
        period_s = self._settings.period_of(case.platform)
        if period_s is None:
            yield NoTelemetry()
            return
        site = composer.site
        ranks = composer.hosts(case)
        beneath = site.nodes[: len(ranks)]
        hosts: list[str | None] = [*dict.fromkeys((*ranks, *beneath))] if site.agent else [None]
        network = site.networks.get(case.network) if case.network else None
        span = Span(hosts={}, epochs=(), interface=network.interface if network else None)
        with self._watcher.watch(hosts, work, period_s) as watch:
            attempt = _WatchedAttempt(watch, span, frozenset(ranks if site.agent else ()), work, self._settle)
            yield attempt


class _WatchedAttempt:
    """An attempt that is watched; `ranks` are the hosts of its ranks, all where they are none."""

    def __init__(
        self, watch: TelemetrySession, span: Span, ranks: frozenset[str], work: Path, settle: Settle
    ) -> None:
        self._watch = watch
        self._span = span
        self._ranks = ranks
        self._work = work
        self._settle = settle
        self._epochs: list[Epoch] = []
        self._clock = SteadyClock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note when a stage begins and ends (see Watched)."""
        if self._epochs:
            self._watch.mark(name)
        began_at = self._clock()
        yield
        self._epochs.append(Epoch(name, began_at, self._clock()))
        self._watch.mark(end_mark(name))  # what comes after, as outputs that are kept, is no part of it

    def follow(self, host: str | None, group: Path | None) -> None:
        """Have the sampler on `host` read that group, too (see Watched)."""
        self._watch.follow(host, group)

    def figures(self) -> dict[str, float]:
        """Store what was recorded, and return the figures (see Watched)."""
        hosts = {name: self._placed(name, host) for name, host in self._watch.hosts().items()}
        span = msgspec.structs.replace(self._span, hosts=hosts, epochs=tuple(self._epochs))
        return dict(self._settle(self._work, span))

    def _placed(self, name: str, host: Host) -> Host:
        return msgspec.structs.replace(host, is_of_ranks=not self._ranks or name in self._ranks)
