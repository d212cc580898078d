"""Bytes that a Lustre client reads and writes, by mount: the stats of llite (Lustre Operations Manual)."""

import glob

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = True
ORDER = 110
FIGURES = {
    "lustre_read": ("B/s", None, "bytes read from Lustre, all nodes together"),
    "lustre_written": ("B/s", None, "bytes written to Lustre, all nodes together"),
}
_FOLDERS = ("/proc/fs/lustre/llite", "/sys/kernel/debug/lustre/llite")  # before and since Lustre 2.12
_MOUNTS = "/sys/fs/lustre/llite/*"  # everybody may read it
_KEPT = {"read_bytes": "read_bytes", "write_bytes": "written_bytes"}


def paths(root: str) -> "list[str]":
    """Return one file for each mount. Raises PermissionError if only root may read the stats of Lustre."""
    found = sorted(path for folder in _FOLDERS for path in glob.glob(root + folder + "/*/stats"))
    if not found and glob.glob(root + _MOUNTS):
        raise PermissionError(13, "its stats are for root alone", root + _FOLDERS[1])
    return found


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the lines with bytes."""
    return [line for line in lines if "_bytes " in line and line.split()[1] in _KEPT]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return bytes as ``lustre.MOUNT/COUNTER``, from ``NAME COUNT samples [bytes] MIN MAX SUM``."""
    found = {}
    for line in lines:
        path, name, *fields = line.split()
        found["lustre." + path.split("/")[-2] + "/" + _KEPT[name]] = float(fields[5])
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the rates of all mounts together."""
    return stage.rates("lustre")
