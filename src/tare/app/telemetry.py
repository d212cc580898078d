"""Set up the programs that sample nodes and count packets, and the storage of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from tare.core.errors import CampaignError
from tare.core.job import HostRunner
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry_options import TelemetryOptions
from tare.execution.telemetry import Telemetry
from tare.plugins.collectors import packets, sampler


@contextmanager
def open_telemetry(
    options: TelemetryOptions, backend: HostRunner, label: str, env: Mapping[str, str], packet_cure: str
) -> Iterator[Telemetry]:
    """Yield the telemetry of attempts that run through `backend`; end the samplers afterwards.

    `label` is the prefix of the job labels of its processes. `packet_cure` tells the user how to get the
    rights that counting needs.
    """
    from tare.plugins.backends.hosts.packet_counters import PacketCounters
    from tare.plugins.backends.hosts.samplers import Samplers

    samplers = Samplers(
        program=sampler.program(),
        label=f"{label}sampler;",
        agent=backend.agent,
        env=env,
        on_start=backend.keep,
        raw_name=sampler.raw_name,
    )
    counters = PacketCounters(label=f"{label}packets;", agent=backend.agent, env=env, on_start=backend.keep)

    def count(interfaces: Mapping[str | None, str]) -> AbstractContextManager[dict[str | None, str]]:
        return counters.count({host: packets.command(name) for host, name in interfaces.items()})

    def keep(folder: Path, outputs: Mapping[str, str]) -> None:
        counts = {host: packets.read_counts(text, packet_cure) for host, text in outputs.items()}
        packets.store(folder, counts)

    with closing(samplers):
        yield Telemetry(options=options, source=samplers, settle=sampler.settle, count=count, keep=keep)


def write_sampler(folder: Path) -> Path:
    """Write the telemetry sampler into the campaign's folder, from where a batch system's nodes get it."""
    return _write(folder, "telemetry-sampler.py", sampler.program())


def write_counter(folder: Path, options: TelemetryOptions) -> Path | None:
    """Write the packet counter into the campaign's folder, likewise; None if packets are not counted."""
    return _write(folder, "packet-counter.py", packets.program()) if options.is_counting_packets else None


def _write(folder: Path, name: str, program: str) -> Path:
    with CampaignError.for_files(folder):
        SafeFolder(folder, name).replace(program.encode(), is_synced=False)
    return folder.resolve() / name
