"""What the sampler itself costs: /proc/self/stat (proc_pid_stat(5))."""

import os

HAS_PATHS = False
_USER, _SYSTEM, _RESIDENT = 11, 12, 21  # fields 14, 15 and 24, counted from the third, which ends no name


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/self/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the time and the memory that it took, in seconds and bytes: ticks and pages are the node's own."""
    fields = lines[0].rpartition(")")[2].split()
    ticks = int(fields[_USER]) + int(fields[_SYSTEM])
    pages = int(fields[_RESIDENT])
    return [
        "cpu_s {:.2f}".format(ticks / os.sysconf("SC_CLK_TCK")),
        "resident_bytes {}".format(pages * os.sysconf("SC_PAGE_SIZE")),
    ]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return seconds of CPU and resident bytes."""
    return {"sampler." + line.split()[0]: float(line.split()[1]) for line in lines}
