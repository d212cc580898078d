"""Count the packets of the network of a case by size, beside whatever else watches its attempts."""

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
"""Counts on the interface of each host while entered; what each said is in the mapping at the end."""


class CountingPackets(msgspec.Struct, frozen=True):
    """Counts where `settings` ask for it; `telemetry` watches as ever, and `keep` stores what was said."""

    settings: TelemetryOptions
    telemetry: Telemetry
    count: Count
    keep: Callable[[Path, Mapping[str, str]], None]

    @contextmanager
    def watch(self, composer: Composer, case: Case, work: Path) -> Iterator[TelemetryRecord]:
        """Watch, and count (see runner.telemetry.Telemetry)."""
        with self.telemetry.watch(composer, case, work) as watched:
            if case.network is None or not self.settings.counts_packets(case.platform):
                yield watched
                return
            interface = composer.site.networks[case.network].interface
            hosts = composer.hosts(case)
            here: list[str | None] = list(hosts) if composer.site.agent else [None]
            with self.count(dict.fromkeys(here, interface)) as said:
                yield watched
            self.keep(work, {host or hosts[0]: text for host, text in said.items()})
