"""Which processes of this machine sleep for a time that a test has made its own."""

from __future__ import annotations

from pathlib import Path


def sleeping(seconds: str) -> list[int]:
    """Return the pids of each ``sleep`` of so many `seconds`, whatever its environment and its parent."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            found.append(int(path.parent.name))
    return found
