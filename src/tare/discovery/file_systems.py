"""Find file systems that nodes share, and local ones (proc_pid_mountinfo(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

SHARED = {
    "lustre": "Lustre",
    "gpfs": "GPFS",
    "beegfs": "BeeGFS",
    "panfs": "PanFS",
    "nfs": "NFS",
    "nfs4": "NFS",
    "ceph": "CephFS",
    "fuse.ceph": "CephFS",
    "fuse.ceph-fuse": "CephFS",
    "fuse.glusterfs": "GlusterFS",
    "pvfs2": "OrangeFS",
    "wekafs": "WekaFS",
    "cifs": "SMB",
    "smb3": "SMB",
    "9p": "9P",
    "virtiofs": "virtiofs",
    "fuse.sshfs": "sshfs",
}
"""Types of file systems that nodes share, as the kernel names them, and their names."""
LOCAL = ("/var/tmp", "/dev/shm")  # noqa: S108  # folders that a study may use, not files of ours
"""Folders that most nodes have to themselves."""
_VARIABLES = ("SCRATCH", "WORK", "PSCRATCH", "CSCRATCH", "PROJECT", "TMPDIR_SHARED", "HOME")
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True):
    """A mount point, its type in the kernel's words, and its source."""

    path: str
    file_system: str
    source: str


def read_mounts(text: str) -> tuple[Mount, ...]:
    """Return the mounts in the lines of mountinfo; later ones hide earlier ones at the same path."""
    found = {}
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        words, kinds = fields.split(" "), rest.split(" ")
        if len(words) >= 5 and len(kinds) >= 2:
            path = _unescape(words[4])
            found[path] = Mount(path, kinds[0], _unescape(kinds[1]))
    return tuple(found.values())


def _unescape(text: str) -> str:
    """Return the path without the octal escapes of blanks and backslashes."""
    raw = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
    return raw.encode("latin-1", "replace").decode("utf-8", "replace") if _ESCAPED.search(text) else raw


def file_system_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """Return the mount in which `path`, without links, lies."""
    parts = PurePosixPath(path)
    inside = [one for one in mounts if parts.is_relative_to(one.path)]
    return max(inside, key=lambda one: len(one.path), default=None)


def candidates(
    mounts: Sequence[Mount], environment: Mapping[str, str], user: str
) -> Iterator[tuple[str, str]]:
    """Yield folders that may be storage paths, and who names each: variables first, mounts, local folders."""
    for name in _VARIABLES:
        if environment.get(name, "").startswith("/"):
            yield environment[name], f"${name}"
    for mount in mounts:
        if mount.file_system in SHARED:
            where = f"{SHARED[mount.file_system]} at {mount.path}, mountinfo"
            yield f"{mount.path.rstrip('/')}/{user}", where
            yield mount.path, where
    for path in LOCAL:
        yield path, "a folder of each node"
