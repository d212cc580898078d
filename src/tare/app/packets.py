"""Set up packet counting: the counter that runs on the nodes, and the storage of its answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tare.core.telemetry_options import TelemetryOptions
from tare.execution.packets import CountingPackets
from tare.execution.telemetry import Telemetry
from tare.plugins.backends.packet_counting import PacketCounters
from tare.plugins.collectors import packets


def counting_packets(
    settings: TelemetryOptions, telemetry: Telemetry, counters: PacketCounters, cure: str
) -> CountingPackets:
    """Return `telemetry` that also counts packets where `settings` ask for it.

    `cure` tells the user how to get the rights that counting needs.
    """

    def count(interfaces: Mapping[str | None, str]) -> AbstractContextManager[dict[str | None, str]]:
        return counters.count({host: packets.command(name) for host, name in interfaces.items()})

    def keep(folder: Path, outputs: Mapping[str, str]) -> None:
        responses = {host: packets.read_answer(text, cure) for host, text in outputs.items()}
        packets.store(folder, responses)

    return CountingPackets(settings, telemetry, count, keep)


def write_counter(folder: Path, settings: TelemetryOptions) -> Path | None:
    """Write the packet counter into the campaign's folder, from where nodes get it; None if not wanted."""
    if not settings.is_counting_packets:
        return None
    counter = folder.resolve() / "packet-counter.py"
    counter.write_text(packets.program(), encoding="utf-8")
    return counter


def gathering(cure: str) -> Callable[[Path, Collection[str]], None]:
    """Return a function that stores the answers of counters on nodes (see execution.batch.BatchSetup)."""
    return lambda folder, hosts: packets.gather(folder, hosts, cure)
