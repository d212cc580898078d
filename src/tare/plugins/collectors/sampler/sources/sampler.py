"""The cost of the sampler itself: /proc/self/stat (proc_pid_stat(5))."""

import os

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 130
FIGURES = {
    "sampler_cpu": ("%", None, "time of one core that the sampler itself took, mean over hosts"),
    "sampler_memory": ("B", None, "memory that the sampler itself took, on the host where it was most"),
}
_USER, _SYSTEM, _RESIDENT = 11, 12, 21  # fields 14, 15 and 24, counted from the third, after the name

_TICKS_A_SECOND, _PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/self/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the used time and memory, in seconds and bytes: ticks and pages depend on the node."""
    fields = lines[0].rpartition(")")[2].split()
    ticks = int(fields[_USER]) + int(fields[_SYSTEM])
    pages = int(fields[_RESIDENT])
    return [
        "cpu_s {:.2f}".format(ticks / _TICKS_A_SECOND),
        "resident_bytes {}".format(pages * _PAGE_BYTES),
    ]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return seconds of CPU and resident bytes."""
    return {"sampler." + line.split()[0]: float(line.split()[1]) for line in lines}


def figures(stage: "StageCounts") -> "Figures":
    """Return the share of a core that the sampler used, and its memory, over all hosts."""
    taken = [one for one in stage.hosts if "sampler.cpu_s" in one.counted]
    sizes = [host.read("sampler")[-1].get("sampler.resident_bytes") for host in stage.hosts]
    known = [size for size in sizes if size is not None]
    return {
        "sampler_cpu": stage.mean([100 * one.counted["sampler.cpu_s"] / one.seconds for one in taken]),
        "sampler_memory": max(known) if known else None,
    }
