"""CPU time by core: /proc/stat (proc_stat(5)).

It is a separate source because it would be most of a recording: 256 cores are 15 KiB a sample. Nodes with
many cores read it less often. They also read it at every command, so that a stage's shares cover the whole
stage.
"""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 20
FIGURES = {
    "cpu_busiest_core": ("%", None, "time in which the busiest core of any node worked"),
}
_MOST_A_SECOND = 128
_N_KINDS = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice
_RESTING = slice(3, 5)  # idle and iowait


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the lines of single cores, without the line of all cores together."""
    return [line for line in lines if line.startswith("cpu") and not line.startswith("cpu ")]


def pause_s(lines: "list[str]") -> float:
    """Return for how many seconds not to read it after these `lines`. It is 0 without very many cores."""
    return len(lines) / _MOST_A_SECOND if len(lines) > _MOST_A_SECOND else 0.0


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return nothing: only `busy` reads these lines, of the two samples that matter."""
    return {}


def busy(lines: "list[str]") -> "dict[str, tuple[float, float]]":
    """Return for each core its working ticks and all its ticks."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        ticks = [float(one) for one in rest.split(None, _N_KINDS)[:_N_KINDS]]
        total = sum(ticks)
        found[name[3:]] = (total - sum(ticks[_RESTING]), total)
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the share of the busiest core. In older recordings, the source `cpu` has these lines."""
    found = []
    for host in stage.machines:
        was = busy(shorten(host.first_lines("cores", "cpu")))
        now = busy(shorten(host.last_lines("cores", "cpu")))
        for core in now:
            if core in was and now[core][1] > was[core][1]:
                worked, total = (new - old for new, old in zip(now[core], was[core]))
                found.append(min(100 * worked / total, 100.0))
    return {"cpu_busiest_core": max(found)} if found else {}
