"""Wire up the counting of packets: what goes to the nodes, and where its answers are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from tare.backends.packet_counting import PacketCounters
from tare.collectors import packets
from tare.model.watching import Watching
from tare.runner.packets import CountingPackets
from tare.runner.telemetry import Telemetry

_HOSTS = (
    "root may give it to a group, as a copy of python3 on the nodes' PATH: python3-packets, chgrp GROUP, "
    "chmod 750, setcap cap_net_raw+ep"
)
_CURES = {
    "process": _HOSTS,
    "slurm": _HOSTS,
    "kubernetes": (
        "let pods run as root, 'kubernetes: {user: 0}', with 'capabilities: [NET_RAW]' where they lack it"
    ),
}
"""How those who start runs with a backend get what counting needs."""


def counting_packets(settings: Watching, telemetry: Telemetry, counters: PacketCounters) -> CountingPackets:
    """Return `telemetry` with a count of packets beside it, where `settings` ask for one."""

    def count(interfaces: Mapping[str | None, str]) -> AbstractContextManager[dict[str | None, str]]:
        return counters.count({host: packets.command(name) for host, name in interfaces.items()})

    def keep(folder: Path, said: Mapping[str, str]) -> None:
        answers = {host: packets.read_answer(text, _CURES["process"]) for host, text in said.items()}
        packets.store(folder, answers)

    return CountingPackets(settings, telemetry, count, keep)


def lay_counter(folder: Path, settings: Watching) -> Path | None:
    """Put the counter, where one is wanted, into the campaign's folder, which nodes see or are brought."""
    if not settings.is_counting_packets:
        return None
    counter = folder.resolve() / "packet-counter.py"
    counter.write_text(packets.program(), encoding="utf-8")
    return counter


def gathering(backend: str) -> Callable[[Path, Collection[str]], None]:
    """Return what keeps the answers of counters that `backend` started (see runner.batch.BatchSetup)."""
    return lambda folder, hosts: packets.gather(folder, hosts, _CURES[backend])
