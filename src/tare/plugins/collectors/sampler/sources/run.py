"""What the run's own processes used: the files of its control group (cgroups(7), version 2).

The kernel counts CPU time and pressure (PSI) in every group. It counts memory, input and output, and the
periods of a limit only if these controllers are on. Nobody turns them on for this, because they would change
what is measured. The group is made for one stage of the run, so all its counters begin at zero.
"""

import os

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = True
ORDER = 120
FIGURES = {
    "cpu_others": ("%", "lower", "time of all cores in programs that were not the run's"),
    "run_cpu": ("s", None, "CPU time of the run's own processes, all together"),
    "run_cpu_user": ("s", None, "CPU time of the run's own processes in programs"),
    "run_cpu_system": ("s", None, "CPU time of the run's own processes in the kernel"),
    "run_throttled": ("%", "lower", "periods of its CPU limit in which the run was held back"),
    "run_cpu_pressure": ("%", "lower", "time in which some of the run's threads waited for a core"),
    "run_cpu_stall": ("%", "lower", "time in which all of the run's threads that had work waited for a core"),
    "run_memory_peak": ("B", None, "memory of the run, files that it read included, where it was most"),
    "run_memory_pressure": ("%", "lower", "time in which some of the run's threads waited for memory"),
    "run_memory_stall": (
        "%",
        "lower",
        "time in which all of the run's threads that had work waited for memory",
    ),
    "run_oom_kills": ("processes", "lower", "processes of the run that the kernel ended for want of memory"),
    "run_read": ("B", None, "bytes that the run read from disks"),
    "run_written": ("B", None, "bytes that the run wrote to disks"),
    "run_io_pressure": ("%", "lower", "time in which some of the run's threads waited for input or output"),
    "run_io_stall": ("%", "lower", "time in which all of the run's threads that had work waited for it"),
}
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
_BENEATH = "/sys/dev/block/{}/slaves"  # the disks below a disk, which count the same bytes again


def paths(root: str) -> "list[str]":
    """Return nothing: there is no run yet."""
    return []


def group_paths(group: str) -> "list[str]":
    """Return the files of a run's control group, whether or not they exist."""
    return [group + "/" + name for name in _FILES]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep each file's name without its folder, and the values that `counters` reads."""
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
    """Return seconds, bytes and counts.

    Pressure is the seconds in which some, or all, of its threads waited.
    """
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


_TICKS_A_SECOND = 100.0  # USER_HZ, in which /proc/stat counts (proc_stat(5), time(7))
_OF_PROGRAMS = ("user", "nice", "system")  # interrupts hit any running program, so they belong to none
_LEAST_TICKS = 100  # of all cores; with fewer, a counter's error of one tick is more than 1 %
_KINDS = _OF_PROGRAMS + ("idle", "iowait", "irq", "softirq", "steal")
_AS_IT_IS = {
    "run_cpu": "cpu_s",
    "run_cpu_user": "user_s",
    "run_cpu_system": "system_s",
    "run_oom_kills": "oom_kills",
    "run_read": "read_bytes",
    "run_written": "written_bytes",
}
_PRESSED = {
    "run_" + kind + name: "run." + kind + "_" + whom + "_s"
    for kind in ("cpu", "memory", "io")
    for name, whom in (("_pressure", "some"), ("_stall", "full"))
}


def figures(stage: "StageCounts") -> "Figures":
    """Return the counts of the run's own control group, and the CPU share of other programs."""
    found = {}  # type: dict[str, float]
    for host in stage.hosts:
        found.update(run_figures(host.read("run"), host.counted, host.seconds))
    return found


def run_figures(
    read: "list[dict[str, float]]", counted: "dict[str, float]", seconds: float
) -> "dict[str, float]":
    """Return the figures of a run by name.

    `read` are the counters of its control group, ``run.…``, in each sample of its last stage. `counted` is
    what the node counted in these `seconds`. Empty if the group was not read in this stage, for example
    because there is none: the first sample is from before the stage.
    """
    took = read[-1]
    if "run.cpu_s" not in took or took == read[0]:
        return {}
    found = {name: took["run." + one] for name, one in _AS_IT_IS.items() if "run." + one in took}
    for name, one in _PRESSED.items():
        if one in took:
            found[name] = min(100 * took[one] / seconds, 100.0)
    if took.get("run.periods"):
        found["run_throttled"] = 100 * took["run.throttlings"] / took["run.periods"]
    levels = [one["run.memory_current_bytes"] for one in read[1:] if "run.memory_current_bytes" in one]
    peak = took.get("run.memory_peak_bytes", max(levels) if levels else None)
    if peak is not None:
        found["run_memory_peak"] = peak
    others = others_share(took["run.cpu_s"], counted)
    if others is not None:
        found["cpu_others"] = others
    return found


def others_share(run_cpu_s: float, counted: "dict[str, float]") -> "float | None":
    """Return the percentage of the time of all cores that other programs used. Return None if not known.

    It is not known for a run so short that the ticks of the counters are coarser than one percent.
    """
    ticks = {kind: counted.get("cpu." + kind) for kind in _KINDS}
    total = sum(one or 0.0 for one in ticks.values())
    if total < _LEAST_TICKS or ticks["idle"] is None:
        return None
    taken_s = sum(ticks[kind] or 0.0 for kind in _OF_PROGRAMS) / _TICKS_A_SECOND
    return 100 * max(taken_s - run_cpu_s, 0.0) / (total / _TICKS_A_SECOND)
