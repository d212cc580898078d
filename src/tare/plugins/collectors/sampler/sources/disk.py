"""Bytes and time of disks: /proc/diskstats (Documentation/admin-guide/iostats.rst)."""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 90
FIGURES = {
    "disk_read": ("B/s", None, "bytes read from disks, all nodes together"),
    "disk_written": ("B/s", None, "bytes written to disks, all nodes together"),
    "disk_busy": ("%", None, "time in which the busiest disk of any node worked"),
}
_SECTOR = 512  # the kernel's unit, for any sector size of the disk
# The bytes of these are counted on the disks below them.
_ON_OTHERS = ("loop", "ram", "zram", "dm-", "md", "zd", "bcache", "drbd")


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/diskstats"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep whole disks. Partitions count the same again: sda1 what sda does, nvme0n1p1 what nvme0n1 does."""
    found = (line.split(None, 3)[2:] for line in lines)
    disks = [words for words in found if len(words) == 2 and not words[0].startswith(_ON_OTHERS)]
    names = {name for name, _ in disks}
    kept = []
    for name, rest in disks:
        stem = name.rstrip("0123456789")
        is_part = stem != name and (stem in names or (stem.endswith("p") and stem[:-1] in names))
        if not is_part:
            kept.append(name + " " + rest)
    return kept


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``disk.NAME/COUNTER``."""
    found = {}
    for line in lines:
        name, *fields = line.split()
        found["disk." + name + "/reads"] = float(fields[0])
        found["disk." + name + "/read_bytes"] = float(fields[2]) * _SECTOR
        found["disk." + name + "/writes"] = float(fields[4])
        found["disk." + name + "/written_bytes"] = float(fields[6]) * _SECTOR
        found["disk." + name + "/busy_s"] = float(fields[9]) / 1e3
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the rates of all disks together, and the share of time in which the busiest disk worked."""
    found = stage.rates("disk")
    busy = [
        100 * value / one.seconds
        for one in stage.machines
        for name, value in one.by_kind.get("disk", {}).items()
        if name.endswith("/busy_s")
    ]
    found["disk_busy"] = min(max(busy), 100.0) if busy else None
    return found
