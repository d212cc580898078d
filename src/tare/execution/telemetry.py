"""Sample the nodes of an attempt while its stages run, and compute figures from the samples."""

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
    """The telemetry of one attempt, which may be empty."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return a context that is entered while the stage `name` runs."""
        ...

    def follow(self, host: str | None, group: Path | None) -> None:
        """Also sample the control group of a stage on `host`; None before the group is removed."""
        ...

    def figures(self) -> dict[str, float]:
        """Return the figures of its nodes, by name, after the attempt has ended."""
        ...


class Telemetry(Protocol):
    """Samples attempts."""

    def watch(self, composer: Composer, case: Case, work: Path) -> AbstractContextManager[TelemetryRecord]:
        """Return a context that samples the hosts of `case` while entered, into the folder `work`."""
        ...


class NoTelemetry:
    """Samples nothing; it is also the record of an attempt that is not sampled."""

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Do nothing (see Telemetry)."""
        yield self

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Do nothing (see TelemetryRecord)."""
        yield

    def follow(self, host: str | None, group: Path | None) -> None:
        """Do nothing (see TelemetryRecord)."""

    def figures(self) -> dict[str, float]:
        """Return no figures (see TelemetryRecord)."""
        return {}


class SampledTelemetry:
    """Samples attempts as `settings` ask for, by `watcher`; `settle` computes figures from its recordings."""

    def __init__(self, settings: Settings, watcher: TelemetrySource, settle: Settle) -> None:
        self._settings = settings
        self._watcher = watcher
        self._settle = settle

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Sample the hosts on which ranks start, and their nodes if these are other hosts (see Telemetry)."""
        period_s = self._settings.period_of(case.platform)
        if period_s is None:
            yield NoTelemetry()
            return
        site = composer.site
        ranks = composer.hosts(case)
        nodes = site.nodes[: len(ranks)]
        hosts: list[str | None] = [*dict.fromkeys((*ranks, *nodes))] if site.agent else [None]
        network = site.networks.get(case.network) if case.network else None
        span = Span(hosts={}, epochs=(), interface=network.interface if network else None)
        with self._watcher.watch(hosts, work, period_s) as watch:
            attempt = _SampledAttempt(watch, span, frozenset(ranks if site.agent else ()), work, self._settle)
            yield attempt


class _SampledAttempt:
    """The record of an attempt that is sampled; `ranks` are the hosts of its ranks, empty for all hosts."""

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
        """Record when a stage begins and ends (see TelemetryRecord)."""
        if self._epochs:
            self._watch.mark(name)
        began_at = self._clock()
        yield
        self._epochs.append(Epoch(name, began_at, self._clock()))
        self._watch.mark(end_mark(name))  # later work, such as caching its products, is no part of it

    def follow(self, host: str | None, group: Path | None) -> None:
        """Make the sampler on `host` read this control group too (see TelemetryRecord)."""
        self._watch.follow(host, group)

    def figures(self) -> dict[str, float]:
        """Store the recordings, and return the figures (see TelemetryRecord)."""
        hosts = {name: self._placed(name, host) for name, host in self._watch.hosts().items()}
        span = msgspec.structs.replace(self._span, hosts=hosts, epochs=tuple(self._epochs))
        return dict(self._settle(self._work, span))

    def _placed(self, name: str, host: Host) -> Host:
        return msgspec.structs.replace(host, is_of_ranks=not self._ranks or name in self._ranks)
