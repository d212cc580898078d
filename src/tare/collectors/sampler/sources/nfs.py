"""What a client of NFS reads and writes, by mount: /proc/self/mountstats (nfsstat(8), mountstats(8))."""

HAS_PATHS = False


def paths(root: str) -> "list[str]":
    """Return the files to read; none where nothing is mounted by NFS."""
    with open(root + "/proc/self/mounts") as mounts:
        has_nfs = any(line.split()[2] in ("nfs", "nfs4") for line in mounts)
    return [root + "/proc/self/mountstats"] if has_nfs else []


def shorten(lines: "list[str]") -> "list[str]":
    """Keep what names a mount by NFS, its bytes, and its reads and writes."""
    kept = []
    is_nfs = False
    for line in lines:
        if line.startswith("device "):
            is_nfs = " with fstype nfs" in line
            if is_nfs:
                kept.append(line)
        elif is_nfs and line.strip().startswith(("bytes:", "READ:", "WRITE:")):
            kept.append(line.strip())
    return kept


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``nfs.MOUNT/COUNTER``; bytes are those to and from the server."""
    found = {}
    mount = ""
    for line in lines:
        name, *fields = line.split()
        if name == "device":
            mount = "nfs." + fields[fields.index("on") + 1] + "/"
        elif name == "bytes:":
            found[mount + "read_bytes"], found[mount + "written_bytes"] = float(fields[4]), float(fields[5])
        elif name in ("READ:", "WRITE:"):
            kind = "reads" if name == "READ:" else "writes"
            found[mount + kind] = float(fields[0])
            found[mount + kind + "_rtt_s"] = float(fields[6]) / 1e3
    return found
