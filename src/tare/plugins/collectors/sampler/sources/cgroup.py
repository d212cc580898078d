"""Throttled time of the control groups of this node's processes: cpu.stat, version 1 and 2 (cgroups(7)).

A limit shows in the group where it is set, so every group above the sampler's own is read, too. The groups of
ranks may be elsewhere; under Slurm the job's group holds both.
"""

import os

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = True
ORDER = 40
FIGURES = {
    "cpu_throttled": (
        "s",
        "lower",
        "time for which a limit of cgroups held threads back, all nodes together",
    ),
}
_KEPT = {"nr_throttled": ("throttlings", 1.0), "throttled_usec": ("throttled_s", 1e-6)}
_KEPT["throttled_time"] = ("throttled_s", 1e-9)  # version 1


def paths(root: str) -> "list[str]":
    """Return the cpu.stat of each group, from this process's own to the root."""
    with open(root + "/proc/self/cgroup") as groups:
        found = [path for line in groups for path in _stats(root, *line.rstrip("\n").split(":", 2)[1:])]
    return [path for path in found if os.path.exists(path)]


def _stats(root: str, controllers: str, group: str) -> "list[str]":
    """Return the cpu.stat files of a group and all groups above it, in the hierarchy of these controllers."""
    if controllers and "cpu" not in controllers.split(","):
        return []
    mount = root + "/sys/fs/cgroup"
    if controllers:  # RHEL 7's kernel writes cpuacct,cpu, although the folder is called cpu,cpuacct
        mounts = [mount + "/" + name for name in (controllers, "cpu,cpuacct", "cpu")]
        mount = next((mount for mount in mounts if os.path.isdir(mount)), mounts[0])
    names = [name for name in group.split("/") if name not in ("", "..")]
    return ["/".join([mount] + names[:depth] + ["cpu.stat"]) for depth in range(len(names), -1, -1)]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the lines about throttling."""
    return [line for line in lines if line.rsplit(None, 2)[-2:][0] in _KEPT]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the seconds and the number of throttlings, summed over all groups."""
    found = {}  # type: dict[str, float]
    for line in lines:
        _, key, value = line.rsplit(None, 2)
        name, scale = _KEPT[key]
        found["cgroup." + name] = found.get("cgroup." + name, 0.0) + float(value) * scale
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return for how many seconds threads were throttled on all nodes together."""
    found = [
        one.counted["cgroup.throttled_s"] for one in stage.machines if "cgroup.throttled_s" in one.counted
    ]
    return {"cpu_throttled": sum(found)} if found else {}
