"""Open files that a user names: studies, sites, logs, tables, tokens.

A study names files, too, and may come from anybody: ``site: /dev/zero`` has no end, and who opens a pipe
waits for somebody to write into it. Links are followed: whoever names a file may mean what a link leads to.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

MOST_BYTES = 64 * 1024 * 1024
"""Of a file that is read as a whole; studies, sites and tables have a few thousand."""


def open_given(path: Path) -> io.BufferedReader:
    """Return the file at `path`, opened to read. Raises OSError for what is no file, as a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "a pipe, a device or the like, and no file", str(path))
        os.set_blocking(descriptor, True)
        return io.BufferedReader(io.FileIO(descriptor, "rb"))
    except BaseException:
        os.close(descriptor)
        raise


def read_given(path: Path, limit: int = MOST_BYTES) -> bytes:
    """Return all that the file at `path` holds. Raises OSError as `open_given`, and above `limit` bytes."""
    with open_given(path) as file:
        data = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else b""
        if len(data) > limit or os.fstat(file.fileno()).st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", str(path))
        return data
