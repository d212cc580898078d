"""Check whether a storage path still takes files, after a run that wrote there has failed.

The run's own folder is already removed then. So, if there is no room, others filled the path, or it is
broken. The script writes a file of 1 MiB and removes it, because df(1) does not show quotas, a file system
that has become read-only, or an unreachable server.
"""

from __future__ import annotations

import re
import shlex

from tare.core.units import format_bytes, whole_number

_ERRORS = re.compile(
    r"(?:No space left on device|Disk quota exceeded|Read-only file system|Input/output error"
    r"|Stale (?:NFS )?file handle|Transport endpoint is not connected|Connection timed out|Host is down"
    r"|Too many links|Structure needs cleaning)"
)
"""Messages of errno(3), in the C locale, of a faulty file system; missing rights are a site file error."""
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b")
_MOST_SHARE = 0.05
"""A file system with at most this share free was already full, independently of the run."""

_SCRIPT = """\
export LC_ALL=C; p={path}
[ -d "$p" ] || exit 0
if f=$(mktemp "$p/.tare-room.XXXXXX" 2>&1); then
  dd if=/dev/zero of="$f" bs=65536 count=16 conv=fsync 2>&1; rm -f -- "$f"
else echo "$f"; fi
echo; echo "room $(df -Pk -- "$p" 2>/dev/null | tail -n 1)"
echo "inodes $(df -Pi -- "$p" 2>/dev/null | tail -n 1)"
"""


def storage_script(path: str) -> str:
    """Return the shell script that checks whether the storage path `path` takes a file."""
    return _SCRIPT.format(path=shlex.quote(path))


def storage_fault(output: str, reason: str) -> str:
    """Return the fault of a storage path, from the output of `storage_script`; empty if there is none.

    `reason` is why the run failed. If the run found no room, a path that is all but full is a fault too.
    """
    if found := _ERRORS.search(output):
        return f"takes no file of 1 MiB: {found[0]}"
    if not _NO_SPACE.search(reason):
        return ""
    for line in output.splitlines():
        words = line.split()
        if len(words) < 6 or words[0] not in {"room", "inodes"}:
            continue
        size, left = whole_number(words[2]), whole_number(words[4])
        if size and left is not None and left <= _MOST_SHARE * size:
            what = format_bytes(left * 1024) if words[0] == "room" else f"{left} of {size} inodes"
            return f"is all but full: {what} left"
    return ""
