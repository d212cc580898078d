"""The clock frequency of the cores: scaling_cur_freq (Documentation/admin-guide/pm/cpufreq.rst)."""

import glob

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = True
ORDER = 30
FIGURES = {
    "cpu_frequency": ("MHz", None, "clock of the cores, mean over samples and nodes"),
}
_MOST = 8  # cores that are read, evenly spread: each has its own file, and reading may wake it


def paths(root: str) -> "list[str]":
    """Return one file for each core that is read.

    Return none if the clock is hidden, as in a virtual machine.
    """
    found = sorted(glob.glob(root + "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    return found[:: max(1, -(-len(found) // _MOST))]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the lines with a number."""
    return [line for line in lines if line.rpartition(" ")[2].isdigit()]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the mean over cores, in hertz."""
    clocks = [float(line.rpartition(" ")[2]) * 1e3 for line in lines]
    return {"frequency.hertz": sum(clocks) / len(clocks)} if clocks else {}


def figures(stage: "StageCounts") -> "Figures":
    """Return the mean over samples and nodes, in megahertz."""
    return {"cpu_frequency": stage.mean([one / 1e6 for one in stage.levels("frequency", "frequency.hertz")])}
