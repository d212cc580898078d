"""A file that is read, and that names itself in the error of a failing disk."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from tare.core.errors import STORAGE_FAULTS, UnreadableFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class NamedFile(io.FileIO):
    """A file that is read, and that names itself in an error of read(2), which knows only a descriptor."""

    def __init__(self, descriptor: int, path: Path) -> None:
        super().__init__(descriptor, "rb")
        self._path = path

    def readinto(self, into: WriteableBuffer) -> int | None:
        """Read a piece. Raises OSError with the file's name; UnreadableFile if the file system fails."""
        try:
            return super().readinto(into)
        except OSError as error:
            raise self._named(error) from error

    def readall(self) -> bytes:
        """Read all that is left. Raises as `readinto` does."""
        try:
            return super().readall()
        except OSError as error:
            raise self._named(error) from error

    def _named(self, error: OSError) -> OSError:
        kind = UnreadableFile if error.errno in STORAGE_FAULTS else OSError
        return kind(error.errno, error.strerror, str(self._path))
