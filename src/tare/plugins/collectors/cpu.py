"""The CPU: model, topology, SMT, governor and mitigations (sysfs-devices-system-cpu of the kernel's ABI)."""

from __future__ import annotations

from collections import Counter

from tare.plugins.collectors.source import Facts, Records, Source, listed, one_line

_SYS = "/sys/devices/system/cpu"
_WHOLE = {
    f"{_SYS}/smt/active": "cpu.smt",
    f"{_SYS}/isolated": "cpu.isolated",
    f"{_SYS}/nohz_full": "cpu.nohz_full",
    f"{_SYS}/cpufreq/boost": "cpu.boost",
    f"{_SYS}/intel_pstate/no_turbo": "cpu.no_turbo",
    f"{_SYS}/cpuidle/current_driver": "cpu.idle_driver",
    f"{_SYS}/cpu0/cpufreq/scaling_driver": "cpu.frequency_driver",
    f"{_SYS}/cpu0/cpufreq/cpuinfo_max_freq": "cpu.max_khz",
    f"{_SYS}/cpu0/cache/index2/size": "cpu.cache.l2",
    f"{_SYS}/cpu0/cache/index3/size": "cpu.cache.l3",
}
_VULNERABILITIES = f"{_SYS}/vulnerabilities"


def _read(records: Records) -> Facts:
    facts = {name: one_line(records[path]) for path, name in _WHOLE.items() if path in records}
    facts |= _model(records.get("/proc/cpuinfo", ""))
    governors = Counter(
        one_line(text) for path, text in records.items() if path.endswith("/scaling_governor")
    )
    if governors:
        facts["cpu.governor"] = _counted(governors)
    for name, state in listed(records, _VULNERABILITIES).items():
        facts[f"cpu.mitigation.{name}"] = state
    return facts


def _counted(found: Counter[str]) -> str:
    """Return the only value, or each value with its number of CPUs: ``performance × 60, powersave × 4``."""
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{value} × {n}" for value, n in sorted(found.items()))


def _model(cpuinfo: str) -> Facts:
    """Parse /proc/cpuinfo, with a paragraph for each logical CPU.

    Missing parts of the topology are left out.
    """
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    fields: dict[str, list[str]] = {}
    for name, _, value in lines:
        fields.setdefault(name.strip(), []).append(value.strip())
    facts = {"cpu.logical": str(len(fields["processor"]))} if "processor" in fields else {}
    for fact, names in (("cpu.model", ("model name", "Model")), ("cpu.microcode", ("microcode",))):
        values = next((fields[name] for name in names if name in fields), None)
        if values:
            facts[fact] = ", ".join(dict.fromkeys(values))
    sockets, cores = fields.get("physical id", []), fields.get("core id", [])
    if sockets and len(sockets) == len(cores):
        n_cores = len(set(zip(sockets, cores, strict=True)))
        facts["cpu.sockets"] = str(len(set(sockets)))
        facts["cpu.cores"] = str(n_cores)
        facts["cpu.threads_per_core"] = f"{len(cores) / n_cores:g}"
    return facts


SOURCE = Source(
    "cpu",
    f"files {' '.join(_WHOLE)} /proc/cpuinfo {_SYS}/cpu[0-9]*/cpufreq/scaling_governor {_VULNERABILITIES}/*",
    _read,
    order=20,
)
