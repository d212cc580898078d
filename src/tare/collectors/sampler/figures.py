"""Figures of merit out of recordings: what changed between the two ends of the measured stage."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tare.collectors.sampler.recording import HostRecording, Recording, Sample, times
from tare.collectors.sampler.run_figures import run_figures
from tare.collectors.sampler.sources import (
    cgroup,
    cores,
    cpu,
    disk,
    frequency,
    infiniband,
    interfaces,
    lustre,
    memory,
    nfs,
    run,
    sampler,
    tcp,
)
from tare.model.telemetry import Epoch, Span, end_mark

Counters = dict[str, float]

PARSERS: dict[str, Callable[[list[str]], Counters]] = {
    "cgroup": cgroup.counters,
    "cores": cores.counters,
    "cpu": cpu.counters,
    "disk": disk.counters,
    "frequency": frequency.counters,
    "infiniband": infiniband.counters,
    "interfaces": interfaces.counters,
    "lustre": lustre.counters,
    "memory": memory.counters,
    "nfs": nfs.counters,
    "run": run.counters,
    "sampler": sampler.counters,
    "tcp": tcp.counters,
}
"""What understands the lines of each source."""

_SYSTEM = ("system", "irq", "softirq")
_LOOPBACK = "lo"
_WAVERING = ("cpu.idle", "cpu.iowait")  # which may decrease (proc_stat(5)): the kernel works them out anew
_MOST_WAVERING = 1000.0  # ticks; more were lost with a core that was taken away, or came back


class _Passed(NamedTuple):
    """What one host counted between two samples, and the samples in between.

    Hosts of one `machine`, as a node and its pods are, tell of the same cores, disks and memory. `lost` are
    counters of which nobody knows what they counted: they went back, or were there no longer.
    """

    machine: str
    is_of_ranks: bool
    seconds: float
    counted: Counters
    lost: frozenset[str]
    samples: Sequence[Sample]


def parse(sample: Sample, sources: Iterable[str]) -> Counters:
    """Return the counters and gauges of `sources` in one sample; none of lines that make no sense."""
    found: Counters = {}
    for name in sources:
        with contextlib.suppress(ValueError, LookupError):  # of whatever kernel or driver wrote them
            found |= PARSERS[name](sample.lines.get(name, []))
    return found


def difference(first: Counters, last: Counters) -> Counters:
    """Return what was counted in between; a counter that went back, as of a port that was reset, is gone.

    So is one that has come to its end, and is infinite. Idle time goes back a little by itself.
    """
    found: Counters = {}
    for name in last.keys() & first.keys():
        passed = last[name] - first[name]
        if 0 <= passed < math.inf:
            found[name] = passed
        elif name in _WAVERING and -_MOST_WAVERING < passed < 0:
            found[name] = 0.0
    return found


def derive(recording: Recording) -> Counters:
    """Return the figures of an attempt by name (see model.telemetry.FIGURES, without the prefix).

    Empty unless every host was watched from the beginning to the end of the measured stage: part of a run, or
    some of its nodes, is not to be held against the whole of another.
    """
    span = recording.span
    if span is None or not span.epochs or not recording.hosts:
        return {}
    if {one.host for one in recording.hosts} != set(span.hosts) or any(
        host.fault for host in span.hosts.values()
    ):
        return {}
    passed = [_passed(one, span) for one in recording.hosts]
    if any(one is None for one in passed):
        return {}
    whole = [one for one in passed if one is not None]
    machines = list({one.machine: one for one in reversed(whole)}.values())
    figures = _network(whole, span.interface) | _transport(whole) | _own(whole)
    for part in (_cpu, _kernel, _fabric, _storage, _gauges):
        figures |= part(machines)
    for one in whole:
        figures |= run_figures([parse(sample, ("run",)) for sample in one.samples], one.counted, one.seconds)
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def window(one: HostRecording, epoch: Epoch, span: Span) -> tuple[int, int] | None:
    """Return the numbers of the last sample before a stage and of the first after it; None where one lacks.

    Within what clocks may err by, the samples that were taken for the run to begin and to end are those.
    """
    at, margin_s = times(one, span)
    end = len(at) - 1
    if end < 1:
        return None
    marked = [number for number, sample in enumerate(one.samples) if sample.mark == epoch.stage]
    before = marked or [number for number in range(end) if at[number] <= epoch.began_at - margin_s]
    if not before and at[0] > epoch.began_at + margin_s:
        return None
    first = before[-1] if before else 0
    last = next(
        (
            number
            for number in range(first + 1, end)
            if one.samples[number].mark == end_mark(epoch.stage) or at[number] >= epoch.ended_at + margin_s
        ),
        end,
    )
    return (first, last) if first < last and at[last] >= epoch.ended_at - margin_s else None


def _passed(one: HostRecording, span: Span) -> _Passed | None:
    found = window(one, span.epochs[-1], span)
    if found is None:
        return None
    samples = one.samples[found[0] : found[1] + 1]
    first, last = parse(samples[0], PARSERS), parse(samples[-1], PARSERS)
    counted = difference(first, last)
    return _Passed(
        machine=one.head.machine or one.host,
        is_of_ranks=span.hosts[one.host].is_of_ranks,
        seconds=samples[-1].at_s - samples[0].at_s,
        counted=counted,
        lost=frozenset(first.keys() - counted.keys()),
        samples=samples,
    )


def cpu_shares(counted: Counters) -> Counters:
    """Return the percentages of the time of all cores by kind; ``system`` with interrupts.

    None without the idle time: what the others are shares of is not known then.
    """
    ticks = {kind: counted[f"cpu.{kind}"] for kind in cpu.KINDS if f"cpu.{kind}" in counted}
    total = sum(ticks.values())
    if not total or "idle" not in ticks:
        return {}
    shares = {kind: 100 * one / total for kind, one in ticks.items()}
    return {
        "cpu_user": shares.get("user", 0.0) + shares.get("nice", 0.0),
        "cpu_system": sum(shares.get(kind, 0.0) for kind in _SYSTEM),
        **{f"cpu_{kind}": shares.get(kind, 0.0) for kind in ("softirq", "iowait", "steal", "idle")},
    }


def _cpu(whole: Sequence[_Passed]) -> Counters:
    by_host = [cpu_shares(one.counted) for one in whole]
    if not all(by_host):
        return {}
    figures = {name: _mean(one[name] for one in by_host) for name in by_host[0]}
    figures["cpu_system_peak"] = max(
        (share["cpu_system"] for one in whole for share in _shares_over_time(one.samples) if share),
        default=figures["cpu_system"],
    )
    busy = [share for one in whole for share in _busy_cores(one.samples[0], one.samples[-1])]
    if busy:
        figures["cpu_busiest_core"] = max(busy)
    return figures


def _shares_over_time(samples: Sequence[Sample]) -> Iterator[Counters]:
    """Yield the shares between samples, of which so many are taken together that they have ten ticks a core.

    The few ticks that are left at the end tell nothing, but where there are no others.
    """
    before = parse(samples[0], ("cpu",))
    n_cores = max(len(_cores(samples[0])), 1)
    least = 10 * n_cores
    is_first = True
    for number, sample in enumerate(samples[1:], 1):
        now = parse(sample, ("cpu",))
        counted = difference(before, now)
        ticks = sum(counted.get(f"cpu.{kind}", 0.0) for kind in cpu.KINDS)
        if ticks >= least or (is_first and number == len(samples) - 1 and ticks):
            yield cpu_shares(counted)
            before, is_first = now, False


def _busy_cores(first: Sample, last: Sample) -> Iterator[float]:
    was, now = cores.busy(_cores(first)), cores.busy(_cores(last))
    for core in now.keys() & was.keys():
        busy, total = (new - old for new, old in zip(now[core], was[core], strict=True))
        if total > 0:
            yield min(100 * busy / total, 100.0)


def _cores(sample: Sample) -> list[str]:
    """Return the lines of single cores; the source of all together held them in older recordings."""
    return cores.shorten(sample.lines.get("cores", sample.lines.get("cpu", [])))


def _kernel(whole: Sequence[_Passed]) -> Counters:
    names = {"context_switches": "cpu.ctxt", "interrupts": "cpu.intr"}
    figures = {
        name: _mean(one.counted[counter] / one.seconds for one in whole)
        for name, counter in names.items()
        if all(counter in one.counted for one in whole)
    }
    throttled = [one.counted["cgroup.throttled_s"] for one in whole if "cgroup.throttled_s" in one.counted]
    return figures | ({"cpu_throttled": sum(throttled)} if throttled else {})


def by_interface(counted: Counters) -> dict[str, Counters]:
    """Return the counters of each interface by their own names."""
    found: dict[str, Counters] = {}
    for name, value in counted.items():
        if name.startswith("interface."):
            interface, _, field = name.removeprefix("interface.").rpartition("/")
            found.setdefault(interface, {})[field] = value
    return found


def _network(whole: Sequence[_Passed], interface: str | None) -> Counters:
    """Return what hosts sent through interfaces, so that nothing is counted at both of its ends."""
    hosts = [(one, by_interface(one.counted)) for one in whole]
    if not all(found for _, found in hosts):
        return {}
    beneath = [found for one, found in hosts if not one.is_of_ranks] or [found for _, found in hosts]
    own = [found.get(interface, {}) for one, found in hosts if one.is_of_ranks] if interface else []
    busiest = [
        max((one for name, one in found.items() if name != _LOOPBACK), key=_carried, default={})
        for found in beneath
    ]
    others = [one for _, found in hosts for name, one in found.items() if name != _LOOPBACK]
    figures = _crossing("network", own) | _crossing("wire", busiest)
    if "network_sent" in figures:
        seconds = _mean(one.seconds for one in whole)
        figures["network_rate"] = figures["network_sent"] / seconds
        figures["network_packet_rate"] = figures["network_packets"] / seconds
    lost = ("rx_errors", "rx_drops", "tx_errors", "tx_drops")
    return figures | {
        "total_sent": sum(map(_sent, others)),
        "total_packets": sum(one.get("tx_packets", 0.0) for one in others),
        "loopback_sent": sum(_sent(found.get(_LOOPBACK, {})) for _, found in hosts),
        "network_lost": sum(one.get(name, 0.0) for one in others for name in lost),
    }


def _crossing(name: str, found: Sequence[Counters]) -> Counters:
    """Return what crossed these interfaces together; nothing where that of one of them is not known."""
    if not found or any("tx_bytes" not in one or "tx_packets" not in one for one in found):
        return {}
    sent, packets = sum(map(_sent, found)), sum(one["tx_packets"] for one in found)
    size = {f"{name}_packet_size": sent / packets} if packets else {}
    return {f"{name}_sent": sent, f"{name}_packets": packets, **size}


def _carried(one: Counters) -> float:
    """Return what crossed an interface in both directions.

    Where a node only receives, what sends most on it is the inner end of its pods' network.
    """
    return one.get("rx_bytes", 0.0) + _sent(one)


def _sent(one: Counters) -> float:
    return one.get("tx_bytes", 0.0)


def _transport(whole: Sequence[_Passed]) -> Counters:
    names = {
        "tcp_segments": "tcp.segments_out",
        "tcp_retransmits": "tcp.retransmits",
        "udp_overflows": "udp.overflows",
    }
    return {
        name: sum(one.counted[counter] for one in whole)
        for name, counter in names.items()
        if all(counter in one.counted for one in whole)
    }


def _fabric(whole: Sequence[_Passed]) -> Counters:
    names = {
        "fabric_sent": ("tx_bytes",),
        "fabric_packets": ("tx_packets",),
        "fabric_waits": ("tx_waits",),
        "fabric_lost": ("rx_errors", "tx_drops", "symbol_errors"),
    }
    return {
        name: total for name, fields in names.items() if (total := _sum(whole, "port.", fields)) is not None
    }


def _storage(whole: Sequence[_Passed]) -> Counters:
    kinds = {"disk": "disk.", "nfs": "nfs.", "lustre": "lustre."}
    figures: Counters = {}
    seconds = _mean(one.seconds for one in whole)
    for kind, prefix in kinds.items():
        for what, field in (("read", "read_bytes"), ("written", "written_bytes")):
            if (total := _sum(whole, prefix, (field,))) is not None:
                figures[f"{kind}_{what}"] = total / seconds
    busy = [
        100 * value / one.seconds
        for one in whole
        for name, value in one.counted.items()
        if name.startswith("disk.") and name.endswith("/busy_s")
    ]
    return figures | ({"disk_busy": min(max(busy), 100.0)} if busy else {})


def _sum(whole: Sequence[_Passed], prefix: str, fields: Sequence[str]) -> float | None:
    """Return what all such counters counted; None where there are none, or one of them was lost."""

    def is_meant(name: str) -> bool:
        return name.startswith(prefix) and name.rpartition("/")[2] in fields

    if any(is_meant(name) for one in whole for name in one.lost):
        return None
    found = [value for one in whole for name, value in one.counted.items() if is_meant(name)]
    return sum(found) if found else None


def _gauges(whole: Sequence[_Passed]) -> Counters:
    """Return means and peaks of what is a level rather than a count, over the samples within the stage."""
    read = [parse(sample, ("memory", "frequency", "cpu")) for one in whole for sample in one.samples]
    queue = [one["cpu.procs_running"] for one in read if "cpu.procs_running" in one]
    used = [
        one["memory.total"] - one["memory.available"]
        for one in read
        if {"memory.total", "memory.available"} <= one.keys()
    ]
    clocks = [one["frequency.hertz"] / 1e6 for one in read if "frequency.hertz" in one]
    figures = {"run_queue": _mean(queue)} if queue else {}
    figures |= {"memory_peak": max(used)} if used else {}
    return figures | ({"cpu_frequency": _mean(clocks)} if clocks else {})


def _own(whole: Sequence[_Passed]) -> Counters:
    shares = [
        100 * one.counted["sampler.cpu_s"] / one.seconds for one in whole if "sampler.cpu_s" in one.counted
    ]
    sizes = [parse(one.samples[-1], ("sampler",)).get("sampler.resident_bytes") for one in whole]
    known = [size for size in sizes if size is not None]
    return ({"sampler_cpu": _mean(shares)} if shares else {}) | (
        {"sampler_memory": max(known)} if known else {}
    )


def _mean(values: Iterable[float]) -> float:
    gathered = list(values)
    return sum(gathered) / len(gathered)
