"""CPU time by core: /proc/stat (proc_stat(5)).

A source of its own, since it would be most of a recording: 256 cores are 15 KiB a sample. So nodes of many
cores read it less often, and at every command, so that shares of a stage are of the whole of it.
"""

MYPY = False  # which mypy takes for True: on a node there is no Tare to import
if MYPY:
    from collections.abc import Mapping

    from tare.plugins.collectors.sampler.figures import Watched

HAS_PATHS = False
ORDER = 20
FIGURES = {
    "cpu_busiest_core": ("%", None, "time in which the busiest core of any node worked"),
}
_MOST_A_SECOND = 128
_KINDS = (
    "user",
    "nice",
    "system",
    "idle",
    "iowait",
    "irq",
    "softirq",
    "steal",
)  # guests are in user and nice


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the cores, which come after the line of all together."""
    return [line for line in lines if line.startswith("cpu") and not line.startswith("cpu ")]


def pause_s(lines: "list[str]") -> float:
    """Return for how long not to read it after these `lines`: for no time, where cores are not very many."""
    return len(lines) / _MOST_A_SECOND if len(lines) > _MOST_A_SECOND else 0.0


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the ticks of each core as ``core.NUMBER/KIND``."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        for kind, ticks in zip(_KINDS, rest.split()):
            found["core." + name[3:] + "/" + kind] = float(ticks)
    return found


def busy(lines: "list[str]") -> "dict[str, tuple[float, float]]":
    """Return of each core the ticks in which it worked, and all of its ticks."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        ticks = dict(zip(_KINDS, map(float, rest.split())))
        total = sum(ticks.values())
        found[name[3:]] = (total - ticks.get("idle", 0.0) - ticks.get("iowait", 0.0), total)
    return found


def figures(watched: "Watched") -> "Mapping[str, float | None]":
    """Return the share of the busiest core; in older recordings the source `cpu` held them."""
    found = []
    for host in watched.machines:
        was = busy(shorten(host.first_lines("cores", "cpu")))
        now = busy(shorten(host.last_lines("cores", "cpu")))
        for core in now:
            if core in was and now[core][1] > was[core][1]:
                worked, total = (new - old for new, old in zip(now[core], was[core]))
                found.append(min(100 * worked / total, 100.0))
    return {"cpu_busiest_core": max(found)} if found else {}
