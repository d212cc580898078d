"""What a client of Lustre reads and writes, by mount: the stats of llite (Lustre Operations Manual)."""

import glob

HAS_PATHS = True
_FOLDERS = ("/proc/fs/lustre/llite", "/sys/kernel/debug/lustre/llite")  # before and since Lustre 2.12
_KEPT = {"read_bytes": "read_bytes", "write_bytes": "written_bytes"}


def paths(root: str) -> "list[str]":
    """Return one file a mount; the second place is for root alone to see."""
    return sorted(path for folder in _FOLDERS for path in glob.glob(root + folder + "/*/stats"))


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the lines of bytes."""
    return [line for line in lines if line.split()[1] in _KEPT]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return bytes as ``lustre.MOUNT/COUNTER``, from ``NAME COUNT samples [bytes] MIN MAX SUM``."""
    found = {}
    for line in lines:
        path, name, *fields = line.split()
        found["lustre." + path.split("/")[-2] + "/" + _KEPT[name]] = float(fields[5])
    return found
