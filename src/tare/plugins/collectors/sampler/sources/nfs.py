"""Bytes that an NFS client reads and writes: /proc/self/mountstats (nfsstat(8), mountstats(8)).

Mounts of one file system share their statistics, such as an automounter's for each home and a pod's for each
volume: each mount shows those of all. So they are counted once, by the file system's number in mountinfo.
"""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 100
FIGURES = {
    "nfs_read": ("B/s", None, "bytes that came from NFS servers, all nodes together"),
    "nfs_written": ("B/s", None, "bytes that went to NFS servers, all nodes together"),
}
# In the kernel's layout; a mount has some 60 lines.
_COUNTS = ("\tbytes:", "\t        READ:", "\t       WRITE:")
_MOUNTED, _TYPE = " mounted on ", " with fstype "


def paths(root: str) -> "list[str]":
    """Return the files to read. Return none if there are no NFS mounts."""
    with open(root + "/proc/self/mountinfo") as mounts:
        has_nfs = any(" - nfs" in line for line in mounts)
    return [root + "/proc/self/mountinfo", root + "/proc/self/mountstats"] if has_nfs else []


def shorten(lines: "list[str]") -> "list[str]":
    """Keep for each NFS file system its number, one mount point, its bytes, and its reads and writes."""
    numbers = {}  # type: dict[str, str]
    kept = []
    seen = {""}
    is_new = False
    for line in lines:
        if line.startswith(_COUNTS):
            if is_new:
                kept.append(line.strip())
        elif line.startswith("device "):
            mount_point = line.partition(_MOUNTED)[2].partition(_TYPE)[0]
            number = numbers.get(mount_point, "") if _TYPE + "nfs" in line else ""
            is_new = number not in seen
            if is_new:
                seen.add(number)
                kept.append("device " + number + " on " + mount_point)
        elif " - nfs" in line:
            fields = line.split(None, 5)
            numbers[fields[4]] = fields[2]
    return kept


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``nfs.NUMBER/COUNTER``. Bytes are those to and from the server."""
    found = {}
    mount = ""
    for line in lines:
        name, *fields = line.split()
        if name == "device":
            mount = "nfs." + fields[0] + "/"
        elif name == "bytes:":
            found[mount + "read_bytes"], found[mount + "written_bytes"] = float(fields[4]), float(fields[5])
        elif name in ("READ:", "WRITE:"):
            kind = "reads" if name == "READ:" else "writes"
            found[mount + kind] = float(fields[0])
            found[mount + kind + "_rtt_s"] = float(fields[6]) / 1e3
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the rates of all mounts together."""
    return stage.rates("nfs")
