"""The clock of the cores: scaling_cur_freq (Documentation/admin-guide/pm/cpufreq.rst)."""

import glob

HAS_PATHS = True
_MOST = 8  # cores that are asked, evenly spread: each is a file of its own, and may be woken by the question


def paths(root: str) -> "list[str]":
    """Return one file a core that is asked; none where the clock is hidden, as in a virtual machine."""
    found = sorted(glob.glob(root + "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
    return found[:: max(1, -(-len(found) // _MOST))]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep those that tell a number."""
    return [line for line in lines if line.rpartition(" ")[2].isdigit()]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the mean over cores, in hertz."""
    clocks = [float(line.rpartition(" ")[2]) * 1e3 for line in lines]
    return {"frequency.hertz": sum(clocks) / len(clocks)} if clocks else {}
