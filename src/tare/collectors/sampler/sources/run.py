"""What the processes of the run itself took: the files of its control group (cgroups(7), version 2).

The kernel counts CPU time and pressure (PSI) in every group; memory, input and output, and the periods of a
limit only where these controllers are on, which nobody turns on for this: they would change what is measured.
The group is made for one stage of the run, so that all of its counters begin at zero.
"""

import os

HAS_PATHS = True
_PRESSURES = ("cpu.pressure", "memory.pressure", "io.pressure")
_FILES = ("cpu.stat", "memory.current", "memory.peak", "memory.events", "io.stat") + _PRESSURES
_STATS = {
    "usage_usec": ("cpu_s", 1e6),
    "user_usec": ("user_s", 1e6),
    "system_usec": ("system_s", 1e6),
    "nr_periods": ("periods", 1.0),
    "nr_throttled": ("throttlings", 1.0),
    "throttled_usec": ("throttled_s", 1e6),
}
_EVENTS = {"oom": "ooms", "oom_kill": "oom_kills"}
_BYTES = {"rbytes": "read_bytes", "wbytes": "written_bytes"}
_BENEATH = "/sys/dev/block/{}/slaves"  # the disks that a disk lies on, which count the same once more


def paths(root: str) -> "list[str]":
    """Return nothing: there is no run yet."""
    return []


def group_paths(group: str) -> "list[str]":
    """Return the files of a run's control group, whether they are there or not."""
    return [group + "/" + name for name in _FILES]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the name of each file without its folder, and what `counters` reads of it."""
    kept = []
    for line in lines:
        name, *words = line.rpartition("/")[2].split()
        if name in _PRESSURES:  # some avg10=0.00 avg60=0.00 avg300=0.00 total=1234
            kept.append(" ".join((name, words[0], words[-1].partition("=")[2])))
        elif name == "io.stat":  # 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0
            if not _lies_on_others(words[0]):
                kept.append(" ".join([name, words[0]] + [one for one in words if one[1:6] == "bytes"][:2]))
        elif len(words) == 1 or words[0] in _STATS or words[0] in _EVENTS:
            kept.append(" ".join([name] + words))
    return kept


def _lies_on_others(disk: str) -> bool:
    try:
        return disk.startswith("7:") or bool(os.listdir(_BENEATH.format(disk)))  # 7 is loop(4), in a file
    except OSError:
        return False


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return seconds, bytes and numbers; pressure as seconds in which some, or all, of its threads waited."""
    found = {}  # type: dict[str, float]
    for line in lines:
        name, *words = line.split()
        if name == "cpu.stat" and words[0] in _STATS:
            counter, divisor = _STATS[words[0]]
            found["run." + counter] = float(words[1]) / divisor
        elif name == "memory.events":
            found["run." + _EVENTS[words[0]]] = float(words[1])
        elif name in _PRESSURES:
            found["run." + name.partition(".")[0] + "_" + words[0] + "_s"] = float(words[1]) / 1e6
        elif name == "io.stat":
            for one in words[1:]:
                key, _, value = one.partition("=")
                counter = "run." + _BYTES[key]
                found[counter] = found.get(counter, 0.0) + float(value)
        elif name in ("memory.current", "memory.peak"):
            found["run." + name.replace(".", "_") + "_bytes"] = float(words[0])
    return found
