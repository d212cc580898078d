"""Doubles of disks that fail."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def failing_disk(name: str, number: int = errno.EIO, *, is_lookup: bool = False) -> Iterator[None]:
    """A double of the disk: a file or folder of this name cannot be opened to read, or else be looked up."""
    opened, looked_up = os.open, os.stat

    def open_file(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if not is_lookup and path == name and not flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(number, os.strerror(number), path)
        return opened(path, flags, mode, dir_fd=dir_fd)

    def look_up(path: str | Path | int, **options: Any) -> os.stat_result:
        if is_lookup and path == name:
            raise OSError(number, os.strerror(number), path)
        return looked_up(path, **options)

    with mock.patch("os.open", open_file), mock.patch("os.stat", look_up):
        yield
