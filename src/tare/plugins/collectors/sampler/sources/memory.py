"""Memory of the node: /proc/meminfo (proc_meminfo(5))."""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 50
FIGURES = {
    "memory_peak": ("B", None, "memory in use on the node and in the sample where it was most"),
}
_KEPT = {
    "MemTotal": "total",
    "MemAvailable": "available",
    "Cached": "cached",
    "Dirty": "dirty",
    "Writeback": "writeback",
}
_STARTS = tuple(name + ":" for name in _KEPT)


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/meminfo"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the few lines that `counters` reads."""
    return [line for line in lines if line.startswith(_STARTS)]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return bytes by kind."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(":")
        found["memory." + _KEPT[name]] = float(rest.split()[0]) * 1024
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the highest memory in use of any sample and node."""
    read = [one for host in stage.machines for one in host.read("memory")]
    kept = [one for one in read if "memory.total" in one and "memory.available" in one]
    used = [one["memory.total"] - one["memory.available"] for one in kept]
    return {"memory_peak": max(used)} if used else {}
