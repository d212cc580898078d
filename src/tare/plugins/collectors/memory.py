"""Memory, huge pages and NUMA nodes (proc_meminfo(5), numa(7))."""

from __future__ import annotations

from tare.plugins.collectors.source import Answers, Facts, Source, listed

_NODES = "/sys/devices/system/node"
_MEMINFO = {
    "memory.kib": "MemTotal",
    "memory.swap_kib": "SwapTotal",
    "memory.huge_pages": "HugePages_Total",
}


def _read(answers: Answers) -> Facts:
    told = {
        line.split(":")[0]: line.split()[1]
        for line in answers.get("/proc/meminfo", "").splitlines()
        if len(line.split()) > 1
    }
    facts = {fact: told[name] for fact, name in _MEMINFO.items() if name in told}
    nodes = listed(answers, _NODES, "/cpulist")
    if nodes:
        facts["numa.nodes"] = str(len(nodes))
        facts |= {f"numa.{node}.cpus": cpus for node, cpus in nodes.items()}
        facts |= {f"numa.{node}.distance": far for node, far in listed(answers, _NODES, "/distance").items()}
    return facts


SOURCE = Source(
    "memory", f"files /proc/meminfo {_NODES}/node*/cpulist {_NODES}/node*/distance", _read, order=30
)
