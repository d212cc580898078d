"""CPU time by kind, context switches, interrupts and the run queue: /proc/stat (proc_stat(5))."""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from collections.abc import Iterator

    from tare.plugins.collectors.sampler.figures import Figures, HostCounts, StageCounts

HAS_PATHS = False
ORDER = 10
FIGURES = {
    "cpu_user": ("%", None, "time of all cores in programs, mean over nodes"),
    "cpu_system": ("%", "lower", "time of all cores in the kernel, interrupts included, mean over nodes"),
    "cpu_system_peak": ("%", "lower", "the same in the sample and on the node where it was most"),
    "cpu_softirq": (
        "%",
        "lower",
        "time of all cores in soft interrupts, which handle packets, mean over nodes",
    ),
    "cpu_iowait": ("%", "lower", "time of all cores idle while input or output was under way"),
    "cpu_steal": ("%", "lower", "time of all cores that a hypervisor gave to others"),
    "cpu_idle": ("%", None, "time of all cores in which they had nothing to do"),
    "context_switches": ("1/s", "lower", "context switches, a node"),
    "interrupts": ("1/s", "lower", "interrupts, a node"),
    "run_queue": ("threads", None, "threads that run or wait for a core, mean over samples and nodes"),
}
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # guests are in user and nice
_PLAIN = ("ctxt", "intr", "processes", "procs_running", "procs_blocked")
_STARTS = ("cpu ",) + _PLAIN


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the sum of all interrupts without the single counts: a big node has some thousands."""
    kept = []
    for line in lines:
        if line.startswith("intr "):
            kept.append(" ".join(line.split(None, 2)[:2]))
        elif line.startswith(_STARTS):
            kept.append(line)
    return kept


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the ticks of all cores together by kind, and the kernel's other counts."""
    found = {}  # type: dict[str, float]
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "cpu":
            found.update(("cpu." + kind, float(ticks)) for kind, ticks in zip(KINDS, rest.split()))
        elif name in _PLAIN:
            found["cpu." + name] = float(rest)
    return found


def shares(counted: "dict[str, float]") -> "dict[str, float]":
    """Return the percentages of the time of all cores by kind; ``system`` includes interrupts.

    Empty without the idle time, because the total is not known then.
    """
    ticks = {kind: counted["cpu." + kind] for kind in KINDS if "cpu." + kind in counted}
    total = sum(ticks.values())
    if not total or "idle" not in ticks:
        return {}
    percent = {kind: 100 * one / total for kind, one in ticks.items()}
    found = {"cpu_user": percent.get("user", 0.0) + percent.get("nice", 0.0)}
    found["cpu_system"] = sum(percent.get(kind, 0.0) for kind in ("system", "irq", "softirq"))
    found.update(("cpu_" + kind, percent.get(kind, 0.0)) for kind in ("softirq", "iowait", "steal", "idle"))
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return means over nodes, the kernel's highest share in any sample, and the run queue."""
    found = {}  # type: dict[str, float | None]
    by_host = [shares(one.counted) for one in stage.machines]
    if all(by_host):
        found.update((name, stage.mean([one[name] for one in by_host])) for name in by_host[0])
        peaks = [share["cpu_system"] for one in stage.machines for share in _over_samples(one) if share]
        found["cpu_system_peak"] = max(peaks) if peaks else found["cpu_system"]
    found["context_switches"] = stage.mean_rate("cpu.ctxt")
    found["interrupts"] = stage.mean_rate("cpu.intr")
    found["run_queue"] = stage.mean(stage.levels("cpu", "cpu.procs_running"))
    return found


def _over_samples(host: "HostCounts") -> "Iterator[dict[str, float]]":
    """Yield the shares between samples. Samples are combined until they have ten ticks for each core.

    The few ticks that remain at the end are dropped, unless there are no others.
    """
    read = host.read("cpu")
    cores = [line for line in host.first_lines("cores", "cpu") if line[:3] == "cpu" and line[3:4] != " "]
    least = 10 * max(len(cores), 1)
    before = read[0]
    is_first = True
    for number, now in enumerate(read[1:], 1):
        counted = host.difference(before, now)
        ticks = sum(counted.get("cpu." + kind, 0.0) for kind in KINDS)
        if ticks >= least or (is_first and number == len(read) - 1 and ticks):
            yield shares(counted)
            before, is_first = now, False


TIME_SERIES = {
    "cpu_busy": ("CPU at work, nodes stacked", "%", True),
    "cpu_system": ("CPU in the kernel, nodes stacked", "%", True),
}


def over_time(counted: "dict[str, float]", seconds: float, interface: "str | None") -> "dict[str, float]":
    """Return the shares of one time step."""
    found = shares(counted) or {"cpu_system": 0.0, "cpu_idle": 100.0, "cpu_iowait": 0.0}
    busy = 100 - found["cpu_idle"] - found["cpu_iowait"]
    return {"cpu_system": found["cpu_system"], "cpu_busy": busy}
