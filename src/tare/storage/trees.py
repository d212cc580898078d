"""Find the files in trees of results, of any kind."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tare.core.user_files import open_given

_DIGITS = re.compile(r"(\d+)", re.ASCII)


PACKED = "is compressed; unpack it first"
_PACKED = {
    ".gz": b"\x1f\x8b",
    ".xz": b"\xfd7zXZ\x00",
    ".bz2": b"BZh",
    ".zst": b"\x28\xb5\x2f\xfd",
    ".zip": b"PK\x03\x04",
}
"""The suffixes of compressed files, and the bytes with which such files begin."""


def is_packed_name(path: Path) -> bool:
    """Return whether a file's name says that it is compressed."""
    return path.suffix in _PACKED


def is_packed(path: Path) -> bool:
    """Return whether a file's first bytes say that it is compressed. Raises OSError if it cannot be read."""
    with open_given(path) as file:
        return file.read(6).startswith(tuple(_PACKED.values()))


class Refused(msgspec.Struct, frozen=True):
    """A file that is not imported, and why. `is_fault` means that the user should look at it."""

    path: str
    why: str
    is_fault: bool = True


def natural(text: str) -> tuple[tuple[int, str, str], ...]:
    """Return a key that sorts numbers within text by their value: ``run2`` before ``run10``.

    Of two numbers without leading zeros, the longer one is larger. So no number is too long to be sorted.
    """
    parts = _DIGITS.split(text)
    digits = [part.lstrip("0") if index % 2 else "" for index, part in enumerate(parts)]
    return tuple((len(number), number, part) for number, part in zip(digits, parts, strict=True))


def printable(path: Path | str) -> str:
    """Return a path as text that any terminal and file can hold: other bytes are escaped, as ``\\xff``."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def find_files(paths: Iterable[Path]) -> tuple[list[Path], list[Refused]]:
    """Return the regular files at and below `paths`, each once, and what could not be used.

    Names are sorted, with numbers in them by value. A link to a file is followed if it is in `paths`, or if
    it leads to a file in the same folder of `paths`: a tree of another person may link to files of its
    reader. Links to folders are only followed if they are in `paths`, so that there are no loops.
    """
    found: dict[tuple[int, int], Path] = {}
    refused: list[Refused] = []
    for path in _walk(paths, refused):
        try:
            status = path.stat()
        except OSError as error:
            refused.append(Refused(printable(path), f"cannot be read: {error.strerror}"))
            continue
        if not stat.S_ISREG(status.st_mode):
            refused.append(Refused(printable(path), "not a file"))
            continue
        first = found.setdefault((status.st_dev, status.st_ino), path)
        if first is not path:
            refused.append(Refused(printable(path), f"the same file as {printable(first)}"))
    return list(found.values()), refused


def _walk(paths: Iterable[Path], refused: list[Refused]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        refused.append(Refused(printable(error.filename), f"cannot be read: {error.strerror}"))

    for start in paths:
        absolute = os.path.abspath(start)  # noqa: PTH100  # links stay as the user wrote them
        if not Path(absolute).is_dir():
            yield Path(absolute)
            continue
        for folder, folders, names in os.walk(absolute, onerror=unreadable):
            folders.sort(key=natural)
            for name in folders:
                if Path(folder, name).is_symlink():
                    why = "a link to a folder; name it to have it read"
                    refused.append(Refused(printable(os.path.join(folder, name)), why, is_fault=False))  # noqa: PTH118
            for path in (Path(folder, name) for name in sorted(names, key=natural)):
                if path.is_symlink() and path.exists() and not _stays(path, absolute):
                    why = f"a link that leads out of {printable(absolute)}; name it to have it read"
                    refused.append(Refused(printable(path), why))
                else:
                    yield path


def _stays(link: Path, folder: str) -> bool:
    """Return whether what `link` leads to is below `folder`."""
    return link.resolve().is_relative_to(Path(folder).resolve())
