"""Open files that a user names: studies, sites, logs, tables, tokens, and results to write.

A study may come from another person, and it names files, too: ``site: /dev/zero`` has no end, and opening a
pipe waits until something writes into it. Links are followed: a user may mean the file to which a link leads.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of a file that is read as a whole; studies, sites and tables have a few thousand."""


def open_given(path: Path) -> io.BufferedReader:
    """Return the file at `path`, opened to read.

    Raises OSError if it is not a file, but for example a pipe.
    """
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
    """Return the content of the file at `path`. Raises OSError as `open_given`, and above `limit` bytes."""
    with open_given(path) as file:
        data = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else b""
        if len(data) > limit or os.fstat(file.fileno()).st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", str(path))
        return data


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open the file at `path`, to write it as a whole or not at all: on an error, what was there stays.

    A device or a pipe is written directly, and so is a file in a folder that takes no new file. Raises
    OSError.
    """
    known = path.stat() if path.exists() else None
    is_device = path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc")
    if is_device or (known is not None and not stat.S_ISREG(known.st_mode)):
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    draft = target.with_name(f".tare-{secrets.token_hex(6)}")
    if known is not None and not (os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)):
        draft = target
    try:
        with draft.open("wb") as file:
            if known is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(known.st_mode))
            yield file
        draft.replace(target)
    except BaseException:
        if draft != target:
            draft.unlink(missing_ok=True)
        raise
