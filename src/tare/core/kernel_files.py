"""Read small files of the kernel in /proc and /sys (proc(5), sysfs(5)) with as few system calls as possible.

Each run reads some of them, and each call takes microseconds; `Path.read_text` makes nine.
"""

from __future__ import annotations

import os

_PIECE = 64 * 1024


def read_kernel_file(path: str) -> str:
    """Return the text of the file at `path`; bytes that are not UTF-8 are replaced. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, _PIECE):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces).decode(errors="replace")
