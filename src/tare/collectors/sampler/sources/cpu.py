"""CPU time by kind, context switches, interrupts and the run queue: /proc/stat (proc_stat(5))."""

HAS_PATHS = False
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # guests are in user and nice
_PLAIN = ("ctxt", "intr", "processes", "procs_running", "procs_blocked")
_STARTS = ("cpu ",) + _PLAIN


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/stat"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the sum of all interrupts without each: a big node tells some thousand numbers there."""
    kept = []
    for line in lines:
        if line.startswith("intr "):
            kept.append(" ".join(line.split(None, 2)[:2]))
        elif line.startswith(_STARTS):
            kept.append(line)
    return kept


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return ticks of all cores together by kind, and what the kernel counts beside them."""
    found = {}  # type: dict[str, float]
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "cpu":
            found.update(("cpu." + kind, float(ticks)) for kind, ticks in zip(KINDS, rest.split()))
        elif name in _PLAIN:
            found["cpu." + name] = float(rest)
    return found
