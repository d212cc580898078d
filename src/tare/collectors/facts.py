"""Facts about one host that its /proc and /sys tell: kernel, CPU, memory, clock source."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Reader = Callable[[str], dict[str, str]]


def collect_facts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts in `texts`, the contents of SOURCES by path; an unreadable source adds nothing."""
    found: dict[str, str] = {}
    for path, reader in SOURCES.items():
        if path in texts:
            found |= reader(texts[path])
    return found


def _whole(name: str) -> Reader:
    return lambda text: {name: text.strip().replace("\0", " ")}


def _cpu(text: str) -> dict[str, str]:
    """Read /proc/cpuinfo: the model is told once for each logical CPU."""
    lines = [line.partition(":") for line in text.splitlines()]
    models = [value.strip() for name, _, value in lines if name.strip() in {"model name", "Model"}]
    count = sum(name.strip() == "processor" for name, _, _ in lines)
    model = {"cpu.model": models[0]} if models else {}
    return model | {"cpu.logical": str(count)}


def _memory(text: str) -> dict[str, str]:
    total = next((line.split()[1] for line in text.splitlines() if line.startswith("MemTotal:")), None)
    return {"memory.kib": total} if total else {}


SOURCES: dict[str, Reader] = {
    "/proc/sys/kernel/hostname": _whole("hostname"),
    "/proc/sys/kernel/osrelease": _whole("kernel.release"),
    "/proc/sys/kernel/version": _whole("kernel.version"),
    "/proc/cpuinfo": _cpu,
    "/proc/meminfo": _memory,
    "/sys/devices/system/cpu/smt/active": _whole("cpu.smt"),
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": _whole("cpu.governor"),
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": _whole("clocksource"),
    "/etc/debian_version": _whole("distribution.debian"),
}
"""The files that are read on each host, and how each becomes facts."""
