"""Memory, huge pages and NUMA nodes (proc_meminfo(5), numa(7))."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, listed

_NODES = "/sys/devices/system/node"
_MEMINFO = {
    "memory.kib": "MemTotal",
    "memory.swap_kib": "SwapTotal",
    "memory.huge_pages": "HugePages_Total",
}


def _read(records: Records) -> Facts:
    fields = {
        line.split(":")[0]: line.split()[1]
        for line in records.get("/proc/meminfo", "").splitlines()
        if len(line.split()) > 1
    }
    facts = {fact: fields[name] for fact, name in _MEMINFO.items() if name in fields}
    nodes = listed(records, _NODES, "/cpulist")
    if nodes:
        facts["numa.nodes"] = str(len(nodes))
        facts |= {f"numa.{node}.cpus": cpus for node, cpus in nodes.items()}
        facts |= {f"numa.{node}.distance": far for node, far in listed(records, _NODES, "/distance").items()}
    return facts


SOURCE = Source(
    "memory", f"files /proc/meminfo {_NODES}/node*/cpulist {_NODES}/node*/distance", _read, order=30
)
