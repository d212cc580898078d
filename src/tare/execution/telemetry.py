"""Sample the nodes of an attempt while its stages run, and count the packets on its network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from tare.core import log
from tare.core.case import Case
from tare.core.clock import SteadyClock
from tare.core.job import Ready, Remove
from tare.core.log import fields
from tare.core.telemetry import Epoch, Group, Host, SettleHeld, Span, TelemetrySession, TelemetrySource
from tare.core.telemetry_options import TelemetryOptions
from tare.execution.compose import Composer

_LOG = log.of("telemetry")

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
    settle: SettleHeld = lambda folder, span, held: {}
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
        watch = partial(self.source.watch, hosts, work, period_s)
        with ExitStack() as stack:
            record = _SampledRecord(
                lambda group: stack.enter_context(watch(group)),
                span,
                frozenset(ranks if site.agent else ()),
                partial(self.settle, work),
            )
            stack.callback(record.remove_group)
            yield record

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

    def stage_begins(self, name: str, group: Group | None) -> Ready:
        """Have the first sample taken of the stage `name`, and the control group of its programs followed.

        Return a function that waits for that sample, and records that the stage begins then.
        """
        return lambda: None

    def stage_ended(self, remove: Remove, *, name: str, is_last: bool) -> None:
        """Record that the stage `name` has ended, and sample its group a last time; then `remove` that."""
        remove()

    def figures(self) -> dict[str, float]:
        """Store the recordings after the attempt has ended; return the figures of its nodes, by name."""
        return {}


class _SampledRecord(TelemetryRecord):
    """The record of an attempt that is sampled; `ranks` are the hosts of its ranks, empty for all hosts."""

    def __init__(
        self,
        watch: Callable[[Group | None], TelemetrySession],
        span: Span,
        ranks: frozenset[str],
        settle: Callable[[Span, Mapping[str, bytes]], Mapping[str, float]],
    ) -> None:
        self._watch = watch
        self._session: TelemetrySession | None = None
        self._span = span
        self._ranks = ranks
        self._settle = settle
        self._epochs: list[Epoch] = []
        self._clock = SteadyClock()
        self._began_at = 0.0
        self._remove: Remove = lambda: None

    def stage_begins(self, name: str, group: Group | None) -> Ready:
        if self._session is None:
            self._session = self._watch(group)
        else:
            self._session.stage_began(name, group)
        self._began_at = self._clock()
        return self._begin

    def _begin(self) -> None:
        if self._session is not None:
            self._session.await_samples()
        self._began_at = self._clock()

    def stage_ended(self, remove: Remove, *, name: str, is_last: bool) -> None:
        self._remove = remove
        if self._session is not None:
            self._epochs.append(Epoch(name, self._began_at, self._clock()))
            self._session.stage_ended(name, is_last=is_last)  # what follows is no part of it
        if not is_last:
            self.remove_group()

    def remove_group(self) -> None:
        """Remove the group of the stage that has ended, once it was sampled a last time."""
        try:
            if self._session is not None:
                self._session.await_samples()
        finally:
            self._remove()

    def figures(self) -> dict[str, float]:
        if self._session is None:
            return {}
        hosts = {name: self._placed(name, host) for name, host in self._session.hosts().items()}
        for name, host in hosts.items():
            if host.fault:
                _LOG.warning("telemetry is incomplete", extra=fields(host=name, reason=host.fault))
        span = msgspec.structs.replace(self._span, hosts=hosts, epochs=tuple(self._epochs))
        return dict(self._settle(span, self._session.held()))

    def _placed(self, name: str, host: Host) -> Host:
        return msgspec.structs.replace(host, is_of_ranks=not self._ranks or name in self._ranks)
