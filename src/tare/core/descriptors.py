"""Use the descriptors of open files and folders: write all that is to be written, and close them in time."""

from __future__ import annotations

import os


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`: a full disk may take only a part at once, and then says why it takes no more."""
    written = 0
    while written < len(data):
        written += os.write(descriptor, data[written:] if written else data)


class Opened:
    """The descriptor of a folder, closed at the end of a with statement unless somebody keeps it open."""

    __slots__ = ("_descriptor", "_is_kept")

    def __init__(self, descriptor: int, *, is_kept: bool = False) -> None:
        self._descriptor = descriptor
        self._is_kept = is_kept

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *error: object) -> None:
        if not self._is_kept:
            os.close(self._descriptor)
