"""Wire up the counting of packets: what goes to the nodes, and where its answers are kept."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tare.backends.packet_counting import PacketCounters
from tare.collectors import packets
from tare.model.watching import Watching
from tare.runner.packets import CountingPackets
from tare.runner.telemetry import Telemetry


def counting_packets(settings: Watching, telemetry: Telemetry, counters: PacketCounters) -> CountingPackets:
    """Return `telemetry` with a count of packets beside it, where `settings` ask for one."""

    def count(interfaces: Mapping[str | None, str]) -> AbstractContextManager[dict[str | None, str]]:
        return counters.count({host: packets.command(name) for host, name in interfaces.items()})

    def keep(folder: Path, said: Mapping[str, str]) -> None:
        packets.store(folder, {host: packets.read_answer(text) for host, text in said.items()})

    return CountingPackets(settings, telemetry, count, keep)
