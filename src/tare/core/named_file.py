"""A file that is read, and that names itself in the error of a failing disk."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tare.core.errors import STORAGE_FAULTS, UnreadableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from tare.core.safe_folder import SafeFolder


class NamedFile(io.FileIO):
    """A file that is read, and that names itself in an error of read(2), which knows only a descriptor."""

    def __init__(self, descriptor: int, what: SafeFolder) -> None:
        super().__init__(descriptor, "rb")
        self._what = what

    def readinto(self, into: WriteableBuffer) -> int | None:
        """Read a piece. Raises OSError with the file's name; UnreadableFile if the file system fails."""
        try:
            return super().readinto(into)
        except OSError as error:
            raise named(error, self._what) from error

    def readall(self) -> bytes:
        """Read all that is left. Raises as `readinto` does."""
        try:
            return super().readall()
        except OSError as error:
            raise named(error, self._what) from error


def named(error: OSError, what: SafeFolder) -> OSError:
    """Return `error` with the name of the file: as UnreadableFile if the file system fails."""
    kind = UnreadableFile if error.errno in STORAGE_FAULTS else OSError
    return kind(error.errno, error.strerror, str(what.path))
