"""Sample the nodes of an attempt while its stages run, and count the packets on its network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from tare.core.case import Case
from tare.core.clock import SteadyClock
from tare.core.telemetry import Epoch, Host, Settle, Span, TelemetrySession, TelemetrySource, end_mark
from tare.core.telemetry_options import TelemetryOptions
from tare.execution.compose import Composer

Count = Callable[[Mapping[str | None, str]], AbstractContextManager[Mapping[str | None, str]]]
"""Counts packets on the interface of each host while entered; the mapping then has each host's output."""


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Samples nodes and counts packets as `options` ask for it.

    - `source` samples hosts, None for no samples. `settle` computes figures from its recordings.
    - `count` counts packets, None for no counts. `keep` stores the outputs of the hosts in an attempt's
      folder.
    """

    options: TelemetryOptions = TelemetryOptions()
    source: TelemetrySource | None = None
    settle: Settle = lambda folder, span: {}
    count: Count | None = None
    keep: Callable[[Path, Mapping[str, str]], None] = lambda folder, outputs: None

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Sample the hosts of `case` while entered, into the folder `work`, and count packets there."""
        with self._sample(composer, case, work) as record, self._count_packets(composer, case, work):
            yield record

    @contextmanager
    def _sample(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Sample the hosts on which ranks start, and their nodes if these are other hosts."""
        period_s = self.options.period_of(case.platform)
        if self.source is None or period_s is None:
            yield TelemetryRecord()
            return
        site = composer.site
        ranks = composer.hosts(case)
        nodes = site.nodes[: len(ranks)]
        hosts: list[str | None] = [*dict.fromkeys((*ranks, *nodes))] if site.agent else [None]
        network = composer.network(case)
        span = Span(hosts={}, epochs=(), interface=network.interface if network else None)
        with self.source.watch(hosts, work, period_s) as session:
            yield _SampledRecord(session, span, frozenset(ranks if site.agent else ()), work, self.settle)

    @contextmanager
    def _count_packets(self, composer: Composer, case: Case, work: Path) -> Iterator[None]:
        network = composer.network(case)
        if self.count is None or network is None or not self.options.counts_packets(case.platform):
            yield
            return
        with self.count(dict.fromkeys(composer.reached_hosts(case), network.interface)) as outputs:
            yield
        hosts = composer.hosts(case)
        self.keep(work, {host or hosts[0]: text for host, text in outputs.items()})


class TelemetryRecord:
    """The telemetry of one attempt. This one is empty: the attempt is not sampled."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record when the stage `name` begins and ends: it runs while this context is entered."""
        yield

    def follow(self, host: str | None, group: Path | None) -> None:
        """Also sample the control group of a stage on `host`; None before the group is removed."""

    def figures(self) -> dict[str, float]:
        """Store the recordings after the attempt has ended; return the figures of its nodes, by name."""
        return {}


class _SampledRecord(TelemetryRecord):
    """The record of an attempt that is sampled; `ranks` are the hosts of its ranks, empty for all hosts."""

    def __init__(
        self, session: TelemetrySession, span: Span, ranks: frozenset[str], work: Path, settle: Settle
    ) -> None:
        self._session = session
        self._span = span
        self._ranks = ranks
        self._work = work
        self._settle = settle
        self._epochs: list[Epoch] = []
        self._clock = SteadyClock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if self._epochs:
            self._session.mark(name)
        began_at = self._clock()
        yield
        self._epochs.append(Epoch(name, began_at, self._clock()))
        self._session.mark(end_mark(name))  # later work, such as caching its products, is no part of it

    def follow(self, host: str | None, group: Path | None) -> None:
        self._session.follow(host, group)

    def figures(self) -> dict[str, float]:
        hosts = {name: self._placed(name, host) for name, host in self._session.hosts().items()}
        span = msgspec.structs.replace(self._span, hosts=hosts, epochs=tuple(self._epochs))
        return dict(self._settle(self._work, span))

    def _placed(self, name: str, host: Host) -> Host:
        return msgspec.structs.replace(host, is_of_ranks=not self._ranks or name in self._ranks)
