r"""Read, check and copy the input files of runs.

The checksum of a folder is that of the list which ``sha256sum -z`` prints for its files in the order of their
names, so that everybody can compute it:
``find -L . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from tare.core.safe_folder import SafeFolder
from tare.core.user_files import open_given, read_given

_CHUNK = 1 << 20
_SMALL = 1 << 20
"""More than the 900 KiB that a pod can get without a shared claim."""
_OWNER_MAY = stat.S_IRUSR | stat.S_IWUSR
"""The rights that the owner always gets: a copy belongs to its run, which may change it."""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is in an input: the number of its files, their bytes together, and its checksum."""

    n_files: int
    n_bytes: int
    sha256: str


def read_input(path: Path) -> Content:
    """Return the content of the file or folder at `path`. Raises OSError, also for a pipe in it."""
    return _take(path, None)


def copy_input(path: Path, to: SafeFolder) -> Content:
    """Copy the file or folder at `path`; return the content of what was copied.

    Links are followed. A copy has the rights and the time of its file, and its owner may write to it. Raises
    OSError.
    """
    return _take(path, to)


def drop_copy(path: Path, copy: SafeFolder) -> None:
    """Remove the files of a copy that are still as those at `path`.

    A copy that a run changed stays; so do folders. It does nothing where `path` cannot be read any more.
    """
    try:
        for name in file_names(path):
            file, place = path / name, copy / name if name else copy
            if place.is_file() and _is_same(file, place):
                place.remove()
    except OSError:
        return


def _take(path: Path, to: SafeFolder | None) -> Content:
    """Read the files at `path`, and copy them if `to` is given."""
    if not path.is_dir():
        n_bytes, digest = _take_file(path, to)
        return Content(n_files=1, n_bytes=n_bytes, sha256=digest)
    names = sorted(_below(path, "", ()), key=os.fsencode)
    if to is not None:
        to.make_folder()
        for folder in filter(_is_folder, names):  # some are empty
            (to / folder.removesuffix("/")).make_folder()
    total, listed = 0, hashlib.sha256()
    names = [name for name in names if not _is_folder(name)]
    for name in names:
        n_bytes, digest = _take_file(path / name, to / name if to else None)
        total += n_bytes
        listed.update(f"{digest}  ".encode() + os.fsencode(name) + b"\0")
    return Content(n_files=len(names), n_bytes=total, sha256=listed.hexdigest())


def _take_file(path: Path, to: SafeFolder | None) -> tuple[int, str]:
    """Read one file, and copy it if `to` is given; return its size and checksum."""
    with open_given(path) as file:
        if to is None:
            return _read(file, None)
        SafeFolder(to.root, *to.parts[:-1]).make_folder()
        with os.fdopen(to.create(), "wb") as copy:
            found = _read(file, copy)
            copy.flush()
            status = os.fstat(file.fileno())
            os.fchmod(copy.fileno(), status.st_mode & 0o777 | _OWNER_MAY)
            os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
        return found


def _read(file: BinaryIO, copy: BinaryIO | None) -> tuple[int, str]:
    n_bytes, digest = 0, hashlib.sha256()
    while chunk := file.read(_CHUNK):
        n_bytes += len(chunk)
        digest.update(chunk)
        if copy is not None:
            copy.write(chunk)
    return n_bytes, digest.hexdigest()


def file_names(path: Path) -> list[str]:
    """Return the names of the files below the folder `path`, in the order of their bytes; [""] for a file."""
    if not path.is_dir():
        return [""]
    return sorted((name for name in _below(path, "", ()) if not _is_folder(name)), key=os.fsencode)


def _is_folder(name: str) -> bool:
    return name.endswith("/")


def _below(folder: Path, name: str, above: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of what is below `folder`, and its own; those of folders end with a slash.

    Links are followed, but not back up.
    """
    real = os.path.realpath(folder)
    if real in above:
        return
    if name:
        yield name
    with os.scandir(folder) as entries:
        for one in entries:
            if one.is_dir():
                yield from _below(folder / one.name, f"{name}{one.name}/", (*above, real))
            else:
                yield f"{name}{one.name}"


def _is_same(file: Path, copy: SafeFolder) -> bool:
    """Return whether `copy` has the size and the time of `file`, to the second as tar(1) keeps it.

    A small copy that came back from a pod has another time, so its content is compared.
    """
    ours, theirs = copy.status(), file.stat()
    if ours.st_size != theirs.st_size:
        return False
    is_small = ours.st_size <= _SMALL
    return int(ours.st_mtime) == int(theirs.st_mtime) or (is_small and copy.read() == read_given(file))
