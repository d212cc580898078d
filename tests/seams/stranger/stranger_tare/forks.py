"""A stranger's source of telemetry: how many processes a node starts, from /proc/stat (proc_stat(5))."""

MYPY = False  # which mypy takes for True: on a node there is no Tare to import
if MYPY:
    from collections.abc import Mapping

    from tare.plugins.collectors.sampler.figures import StageCounts

HAS_PATHS = False
ORDER = 500
FIGURES = {"forks": ("1/s", "lower", "processes and threads started, a node")}
TIME_SERIES = {"fork_rate": ("processes started, nodes stacked", "1/s", True)}


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the one line that counts forks."""
    return [line for line in lines if line.startswith("processes ")]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the forks since the node started."""
    return {"forks.started": float(lines[0].split()[1])} if lines else {}


def figures(stage: "StageCounts") -> "Mapping[str, float | None]":
    """Return the mean over nodes."""
    return {"forks": stage.mean_rate("forks.started")}


def over_time(counted: "dict[str, float]", seconds: float, interface: "str | None") -> "dict[str, float]":
    """Return the forks a second in one step of time."""
    return {"fork_rate": counted.get("forks.started", 0.0) / seconds}
