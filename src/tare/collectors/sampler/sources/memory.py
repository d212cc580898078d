"""Memory of the node: /proc/meminfo (proc_meminfo(5))."""

HAS_PATHS = False
_KEPT = {
    "MemTotal": "total",
    "MemAvailable": "available",
    "Cached": "cached",
    "Dirty": "dirty",
    "Writeback": "writeback",
}


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/meminfo"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the few lines that `counters` reads."""
    return [line for line in lines if line.partition(":")[0] in _KEPT]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return bytes by kind."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(":")
        found["memory." + _KEPT[name]] = float(rest.split()[0]) * 1024
    return found
