"""Telemetry: what the nodes of a run did meanwhile, as recordings and as figures of merit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from tare.model.workload import Better

PREFIX = "telemetry."
"""What the name of every figure of merit of telemetry begins with."""


class Epoch(msgspec.Struct, frozen=True):
    """When a stage ran, in seconds since the epoch of time(2), by the clock of the head."""

    stage: str
    began_at: float
    ended_at: float


def end_mark(stage: str) -> str:
    """Return the mark of the sample after a stage; its own name is that of the one before."""
    return f"{stage} ended"


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A host that was watched.

    Its clock was `offset_s` ahead of the head's, give or take `offset_error_s`, and its monotonic clock stood
    at zero when the head's said `zero_at`; None where it was not asked. `fault` says why it was not watched
    to the end. `is_of_ranks` tells a host on which ranks start from a node beneath one, as that of a pod.
    """

    offset_s: float | None = None
    offset_error_s: float | None = None
    zero_at: float | None = None
    fault: str = ""
    is_of_ranks: bool = True


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording spans: the hosts that were watched, and the stages that ran; the last one is measured.

    `interface` is the one of the case's network, on the hosts of its ranks.
    """

    hosts: dict[str, Host]
    epochs: tuple[Epoch, ...]
    interface: str | None = None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """What one host did over time: `at` in seconds since the epoch by the head's clock.

    `values` are rates and shares from `since` to `at`, one for each, by the name of a figure.
    """

    host: str
    since: tuple[float, ...]
    at: tuple[float, ...]
    values: dict[str, tuple[float, ...]]
    is_of_ranks: bool = True

    def __post_init__(self) -> None:
        """Refuse a track, as of a damaged file, whose figures do not each have a value for each time."""
        lengths = {len(self.since), *map(len, self.values.values())}
        if lengths != {len(self.at)}:
            raise ValueError(f"{len(self.at)} times, and other numbers of values")


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What the hosts of one attempt did over time."""

    tracks: tuple[Track, ...]
    epochs: tuple[Epoch, ...]


class Watch(Protocol):
    """Watches hosts while an attempt runs."""

    def mark(self, name: str) -> None:
        """Take a sample of every host now, so that what follows has a beginning of its own."""
        ...

    def follow(self, host: str | None, group: Path | None) -> None:
        """Sample also the run's control group of this folder on `host`; None as it is about to go."""
        ...

    def hosts(self) -> dict[str, Host]:
        """Return what is known of each host that was asked for."""
        ...


class Watcher(Protocol):
    """Starts watching. It never fails: a host that cannot be watched is one with a fault."""

    def watch(
        self, hosts: Sequence[str | None], folder: Path, period_s: float
    ) -> AbstractContextManager[Watch]:
        """Record what `hosts` do into `folder`, while entered; None is this machine."""
        ...


Settle = Callable[[Path, Span], Mapping[str, float]]
"""Stores the recordings in an attempt's folder, and returns its figures by name."""


class TelemetryFigure(msgspec.Struct, frozen=True):
    """A figure that telemetry gives. `better` is None where neither more nor less of it is good by itself."""

    unit: str
    better: Better | None
    summary: str


def _less(unit: str, summary: str) -> TelemetryFigure:
    return TelemetryFigure(unit, Better.LOWER, summary)


def _some(unit: str, summary: str) -> TelemetryFigure:
    return TelemetryFigure(unit, None, summary)


FIGURES: dict[str, TelemetryFigure] = {
    "cpu_user": _some("%", "time of all cores in programs, mean over nodes"),
    "cpu_system": _less("%", "time of all cores in the kernel, interrupts included, mean over nodes"),
    "cpu_system_peak": _less("%", "the same in the sample and on the node where it was most"),
    "cpu_softirq": _less("%", "time of all cores in soft interrupts, which handle packets, mean over nodes"),
    "cpu_iowait": _less("%", "time of all cores idle while input or output was under way"),
    "cpu_steal": _less("%", "time of all cores that a hypervisor gave to others"),
    "cpu_idle": _some("%", "time of all cores in which they had nothing to do"),
    "cpu_busiest_core": _some("%", "time in which the busiest core of any node worked"),
    "cpu_frequency": _some("MHz", "clock of the cores, mean over samples and nodes"),
    "cpu_throttled": _less("s", "time for which a limit of cgroups held threads back, all nodes together"),
    "context_switches": _less("1/s", "context switches, a node"),
    "interrupts": _less("1/s", "interrupts, a node"),
    "run_queue": _some("threads", "threads that run or wait for a core, mean over samples and nodes"),
    "memory_peak": _some("B", "memory in use on the node and in the sample where it was most"),
    "network_sent": _some("B", "bytes sent through the case's interface, all hosts together"),
    "network_packets": _some("packets", "packets sent through the case's interface, all hosts together"),
    "network_packet_size": _some("B", "bytes a packet on the case's interface"),
    "network_rate": _some("B/s", "bytes sent through the case's interface, a second"),
    "network_packet_rate": _some("1/s", "packets sent through the case's interface, a second"),
    "network_lost": _less("packets", "packets dropped or in error on any interface of any host"),
    "total_sent": _some("B", "bytes sent through all interfaces but loopback, those beneath others included"),
    "total_packets": _some("packets", "packets sent through all interfaces but loopback"),
    "wire_sent": _some("B", "bytes sent through the busiest interface of each node beneath all others"),
    "wire_packets": _some("packets", "packets sent through the busiest interface of each node"),
    "wire_packet_size": _some("B", "bytes a packet on the busiest interface of each node"),
    "loopback_sent": _some("B", "bytes that never left their host, through loopback"),
    "tcp_segments": _some("packets", "TCP segments sent, all hosts together"),
    "tcp_retransmits": _less("packets", "TCP segments sent once more, all hosts together"),
    "udp_overflows": _less("packets", "UDP datagrams for which a receiver had no room"),
    "fabric_sent": _some("B", "bytes sent through InfiniBand, Omni-Path or RoCE ports"),
    "fabric_packets": _some("packets", "packets sent through these ports"),
    "fabric_waits": _less("ticks", "ticks in which these ports had data and no credit to send it"),
    "fabric_lost": _less("packets", "packets dropped or in error on these ports"),
    "disk_read": _some("B/s", "bytes read from disks, all nodes together"),
    "disk_written": _some("B/s", "bytes written to disks, all nodes together"),
    "disk_busy": _some("%", "time in which the busiest disk of any node worked"),
    "nfs_read": _some("B/s", "bytes that came from NFS servers, all nodes together"),
    "nfs_written": _some("B/s", "bytes that went to NFS servers, all nodes together"),
    "lustre_read": _some("B/s", "bytes read from Lustre, all nodes together"),
    "lustre_written": _some("B/s", "bytes written to Lustre, all nodes together"),
    "cpu_others": _less("%", "time of all cores in programs that were not the run's"),
    "run_cpu": _some("s", "CPU time of the run's own processes, all together"),
    "run_cpu_user": _some("s", "CPU time of the run's own processes in programs"),
    "run_cpu_system": _some("s", "CPU time of the run's own processes in the kernel"),
    "run_throttled": _less("%", "periods of its CPU limit in which the run was held back"),
    "run_cpu_pressure": _less("%", "time in which some of the run's threads waited for a core"),
    "run_cpu_stall": _less("%", "time in which all of the run's threads that had work waited for a core"),
    "run_memory_peak": _some("B", "memory of the run, files that it read included, where it was most"),
    "run_memory_pressure": _less("%", "time in which some of the run's threads waited for memory"),
    "run_memory_stall": _less("%", "time in which all of the run's threads that had work waited for memory"),
    "run_oom_kills": _less("processes", "processes of the run that the kernel ended for want of memory"),
    "run_read": _some("B", "bytes that the run read from disks"),
    "run_written": _some("B", "bytes that the run wrote to disks"),
    "run_io_pressure": _less("%", "time in which some of the run's threads waited for input or output"),
    "run_io_stall": _less("%", "time in which all of the run's threads that had work waited for it"),
    "sampler_cpu": _some("%", "time of one core that the sampler itself took, mean over hosts"),
    "sampler_memory": _some("B", "memory that the sampler itself took, on the host where it was most"),
}
"""Every figure, by its name without the prefix."""
