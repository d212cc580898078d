"""Count the packets on the network of a case by size, in addition to the telemetry of its attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from tare.core.case import Case
from tare.core.telemetry_options import TelemetryOptions
from tare.execution.compose import Composer
from tare.execution.telemetry import Telemetry, TelemetryRecord

Count = Callable[[Mapping[str | None, str]], AbstractContextManager[dict[str | None, str]]]
"""Counts packets on the interface of each host while entered; the mapping then has each host's answer."""


class CountingPackets(msgspec.Struct, frozen=True):
    """Telemetry that also counts packets where `settings` ask for it.

    `telemetry` samples the nodes, `count` counts packets, and `keep` stores the answers of the hosts.
    """

    settings: TelemetryOptions
    telemetry: Telemetry
    count: Count
    keep: Callable[[Path, Mapping[str, str]], None]

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Sample the hosts of `case`, and count packets on its network (see Telemetry)."""
        with self.telemetry.watch(composer, case, work) as record:
            if case.network is None or not self.settings.counts_packets(case.platform):
                yield record
                return
            interface = composer.site.networks[case.network].interface
            hosts = composer.hosts(case)
            here: list[str | None] = list(hosts) if composer.site.agent else [None]
            with self.count(dict.fromkeys(here, interface)) as responses:
                yield record
            self.keep(work, {host or hosts[0]: text for host, text in responses.items()})
