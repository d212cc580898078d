"""Read and write in a folder that another person or program may have filled.

A campaign may come by mail, and its programs can write anything into it. So everything in it is opened step
by step from the descriptor of its folder (openat(2)), without following a symbolic link, and only if it is a
regular file or a folder. So nothing outside is read or written, and nothing waits for a pipe. What is read
has a size limit, also while it is unpacked. A written file appears as a whole (rename(2)), and replaces what
had its name.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import io
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tare.core.descriptors import Opened, write_all
from tare.core.errors import UnreadableFile
from tare.core.gzip_members import unpack
from tare.core.named_file import NamedFile, named
from tare.core.units import format_bytes

MOST_BYTES = 256 * 1024 * 1024
"""The most bytes read of one file unless its caller gives a limit; of a compressed one, after unpacking."""

MOST_OF_LINE = 64 * 1024 * 1024
"""The most bytes of a line: a file without any end of a line, such as a sparse one, is not held in memory."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEAST_PIECE, _MOST_PIECE = 4096, 1 << 20  # bytes
_LEADING_OUT = {"", ".", ".."}
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors by which nothing, or no folder, has a name; with others, what has it is unknown."""
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link, which is not followed",
    stat.S_IFIFO: "a pipe, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
    stat.S_IFDIR: "a folder, not a file",
    stat.S_IFREG: "a file, not a folder",
}


class _OpenFolder(NamedTuple):
    """A folder that is kept open: how many parts its name has, and its descriptor."""

    depth: int
    descriptor: int


class SafeFolder:
    """A name below `root`, such as that of a file in a campaign folder; the file need not exist.

    `root` itself is given by the user: links on the way to it are followed. Each part of the name is one
    entry of a folder: ``..``, an empty part and a NUL are refused. All errors are OSError: `strerror` says
    what is wrong in words, and `filename` says with which file.
    """

    __slots__ = ("_open", "parts", "root")

    def __init__(self, root: Path, *names: str) -> None:
        self.root = root
        self.parts = tuple(part for name in names for part in _parts(name))
        self._open: _OpenFolder | None = None

    def __truediv__(self, name: str) -> SafeFolder:
        return self._at(*self.parts, *_parts(name))

    def __repr__(self) -> str:
        return f"SafeFolder({self.root}, {'/'.join(self.parts)!r})"

    @property
    def name(self) -> str:
        """Return the last part of the name."""
        return self.parts[-1] if self.parts else self.root.name

    @property
    def path(self) -> Path:
        """Return the path for messages and for programs; opening it follows links."""
        return self.root.joinpath(*self.parts)

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[SafeFolder]:
        """Yield this folder for many operations: names below it are opened from its one descriptor.

        Where the folder is moved meanwhile, they go with it. Raises OSError if it cannot be opened.
        """
        with self._opened_folder() as descriptor:
            kept = self._at(*self.parts)
            kept._open = _OpenFolder(len(self.parts), descriptor)
            yield kept

    def is_file(self) -> bool:
        """Return whether a regular file has this name and is reached without a link.

        Raises UnreadableFile where that is unknown, as `is_folder`, `exists`, `files` and `folders` do.
        """
        return self._kind() == stat.S_IFREG

    def is_folder(self) -> bool:
        """Return whether a folder has this name and is reached without a link."""
        return self._kind() == stat.S_IFDIR

    def exists(self) -> bool:
        """Return whether anything has this name, including a link."""
        return self._kind() is not None

    def names(self, pattern: str = "*") -> list[str]:
        """Return the names in the folder that match `pattern` (fnmatch), sorted."""
        with self._opened_folder() as folder:
            return sorted(fnmatch.filter(os.listdir(folder), pattern))  # noqa: PTH208  # of a descriptor

    def files(self, pattern: str = "*") -> list[SafeFolder]:
        """Return the regular files whose names match `pattern`, sorted; none if there is no such folder."""
        return [self / name for name in fnmatch.filter(self._listed()[0], pattern)]

    def folders(self) -> list[SafeFolder]:
        """Return the folders in the folder, sorted, without links; none if there is no such folder."""
        return [self / name for name in self._listed()[1]]

    def files_and_folders(self) -> tuple[list[SafeFolder], list[SafeFolder]]:
        """Return what `files` and `folders` return, of one look at the folder."""
        files, folders = self._listed()
        return [self / name for name in files], [self / name for name in folders]

    def open(self, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor of the file, opened with `flags` of open(2); the caller closes it."""
        with self._opened_parent() as parent:
            return self._open_in(parent, flags)

    def _open_in(self, parent: int, flags: int) -> int:
        try:
            descriptor = os.open(self.name, flags | _FILE, 0o666, dir_fd=parent)
        except OSError as error:
            raise self._described(error, parent) from None
        try:
            kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
            if kind != stat.S_IFREG:
                raise self._error(errno.EINVAL, _KINDS.get(kind, "not a file"))
            os.set_blocking(descriptor, True)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def reader(self) -> io.BufferedReader:
        """Return the file, opened to read, for a caller that limits how much it reads.

        Opening and reading it raise UnreadableFile if the file system fails.
        """
        try:
            return io.BufferedReader(NamedFile(self.open(), self))
        except OSError as error:
            raise named(error, self) from error

    def read(self, limit: int = MOST_BYTES) -> bytes:
        """Return the whole file. Raises OSError (EFBIG) if it has more than `limit` bytes.

        Raises UnreadableFile if the file system fails.
        """
        return b"".join(self.pieces(limit))

    def pieces(self, limit: int = MOST_BYTES) -> Iterator[bytes]:
        """Yield the content of the file in pieces. Raises as `read` does."""
        n_bytes = 0
        try:
            descriptor = self.open()
            try:
                size = os.fstat(descriptor).st_size
                if size > limit:
                    raise self._too_large(limit)
                while piece := os.read(descriptor, min(max(size - n_bytes, _LEAST_PIECE), _MOST_PIECE)):
                    n_bytes += len(piece)
                    if n_bytes > limit:  # it grew meanwhile, or its size is not known, as in /proc
                        raise self._too_large(limit)
                    yield piece
            finally:
                os.close(descriptor)
        except OSError as error:
            raise named(error, self) from error

    def lines(self, limit: int = MOST_BYTES) -> Iterator[bytes]:
        """Yield the lines of the file, each with its end.

        Raises OSError (EFBIG) above `limit` bytes, or above MOST_OF_LINE bytes of a line.
        """
        n_bytes = 0
        with self.reader() as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise self._too_large(limit)
            while line := file.readline(MOST_OF_LINE + 1):
                n_bytes += len(line)
                if n_bytes > limit:  # it grew meanwhile
                    raise self._too_large(limit)
                if len(line) > MOST_OF_LINE:
                    raise self._error(errno.EFBIG, f"a line of more than {format_bytes(MOST_OF_LINE)}")
                yield line

    def unpack(self, limit: int = MOST_BYTES) -> bytes:
        """Return the content of a gzip file (RFC 1952).

        Raises OSError: EFBIG above `limit` bytes, packed or not, and EBADMSG.
        """
        try:
            data = unpack(self.read(limit), limit + 1)
        except zlib.error as error:
            raise self._error(errno.EBADMSG, f"damaged ({error})") from error
        if len(data) > limit:
            raise self._too_large(limit)
        return data

    def create(self) -> int:
        """Return a descriptor of a new, empty file that replaces what had its name; the caller closes it."""
        with self._opened_parent() as parent:
            with contextlib.suppress(FileNotFoundError), self._describing(parent):
                os.unlink(self.name, dir_fd=parent)
            return self._open_in(parent, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def replace(self, data: bytes, *, is_synced: bool = True) -> None:
        """Write the file as a whole or not at all; it replaces what had its name, including a link.

        The folder is made if necessary. When `is_synced`, the file is on the disk when this returns
        (fsync(2)).
        """
        with self._drafted() as (draft, parent):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(draft, flags, 0o666, dir_fd=parent)  # less the umask
            try:
                write_all(descriptor, data)
                if is_synced:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def link(self, target: Path) -> None:
        """Make it another name of the file `target` (link(2)); it replaces what had its name."""
        with self._drafted() as (draft, parent):
            os.link(target, draft, dst_dir_fd=parent, follow_symlinks=False)
        self._at(*self.parts[:-1], draft).remove()  # rename(2) leaves it if both are one file

    def rename(self, name: str) -> None:
        """Give the file another name in its folder; it replaces what had that name (rename(2))."""
        target = self._at(*self.parts[:-1], _parts(name)[0])
        with self._opened_parent() as parent, target._describing(parent):
            os.rename(self.name, target.name, src_dir_fd=parent, dst_dir_fd=parent)

    def make_folder(self, *, is_fresh: bool = False) -> None:
        """Make the folder and its parents. Raises FileExistsError if `is_fresh` and the folder exists."""
        if not self.parts:
            try:
                self.root.mkdir(parents=True, exist_ok=not is_fresh)
            except FileNotFoundError:  # as below /proc, whose folders are there
                raise OSError(errno.ENOTDIR, "no folder can be made there", str(self.root)) from None
            return
        with self._made_parent() as parent:
            try:
                os.mkdir(self.name, dir_fd=parent)
            except OSError as error:
                if is_fresh or not isinstance(error, FileExistsError):
                    raise self._described(error, parent) from None
            with self._describing(parent):
                os.close(os.open(self.name, _FOLDER, dir_fd=parent))  # what is there is a folder, and no link

    def remove(self) -> None:
        """Remove the file, or the link itself; do nothing if it does not exist."""
        with (
            contextlib.suppress(FileNotFoundError),
            self._opened_parent() as parent,
            self._describing(parent),
        ):
            os.unlink(self.name, dir_fd=parent)

    def status(self) -> os.stat_result:
        """Return its status, as lstat(2) does."""
        with self._opened_parent() as parent:
            try:
                return os.stat(self.name, dir_fd=parent, follow_symlinks=False)
            except OSError as error:
                raise self._described(error, parent) from None

    def _listed(self) -> tuple[list[str], list[str]]:
        """Return the names of the regular files and of the folders, each sorted."""
        files, folders = list[str](), list[str]()
        try:
            with self._opened_folder() as folder, os.scandir(folder) as entries:
                for one in entries:
                    if one.is_dir(follow_symlinks=False):
                        folders.append(one.name)
                    elif one.is_file(follow_symlinks=False):
                        files.append(one.name)
            return sorted(files), sorted(folders)
        except OSError as error:
            if error.errno in _ABSENT:
                return [], []
            raise UnreadableFile(error.errno, error.strerror, str(self.path)) from error

    def _kind(self) -> int | None:
        try:
            if not self.parts:
                return stat.S_IFMT(self.root.stat().st_mode)
            return stat.S_IFMT(self.status().st_mode)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise UnreadableFile(error.errno, error.strerror, str(self.path)) from error

    def _at(self, *parts: str) -> SafeFolder:
        """Return another name below the same root; `parts` are known to be good."""
        found = SafeFolder(self.root)
        found.parts = parts
        found._open = self._open
        return found

    def _opened_folder(self) -> Opened:
        return self._opened(self.parts)

    def _opened_parent(self) -> Opened:
        if not self.parts:
            raise self._error(errno.EISDIR, _KINDS[stat.S_IFDIR])
        return self._opened(self.parts[:-1])

    def _opened(self, parts: tuple[str, ...]) -> Opened:
        """Open a folder step by step from `root`, or from the folder above it that is kept open."""
        first = 0
        if self._open is not None and len(parts) >= self._open.depth:
            first, descriptor = self._open
            if first == len(parts):
                return Opened(descriptor, is_kept=True)
            descriptor = os.dup(descriptor)
        else:
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for depth, part in enumerate(parts[first:], first + 1):
            try:
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                raise self._at(*parts[:depth])._described(error, descriptor) from None
            finally:
                os.close(descriptor)
            descriptor = inner
        return Opened(descriptor)

    def _made_parent(self) -> Opened:
        """Open the folder that it is in; first make that and its parents if they do not exist."""
        try:
            return self._opened_parent()
        except FileNotFoundError:
            for depth in range(len(self.parts)):
                self._at(*self.parts[:depth]).make_folder()
            return self._opened_parent()

    @contextlib.contextmanager
    def _drafted(self) -> Iterator[tuple[str, int]]:
        """Give the name of a file to make, and its folder; then rename the file to this name (rename(2))."""
        start = os.fsencode(self.name)[:200].decode(errors="ignore")
        draft = f".{start}.{secrets.token_hex(6)}"
        with self._made_parent() as parent:
            try:
                yield draft, parent
                os.rename(draft, self.name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError as error:
                self._remove(draft, parent)
                raise self._described(error, parent) from error
            except BaseException:
                self._remove(draft, parent)
                raise

    @contextlib.contextmanager
    def _describing(self, parent: int) -> Iterator[None]:
        """Describe an OSError that is raised while entered."""
        try:
            yield
        except OSError as error:
            raise self._described(error, parent) from None

    def _described(self, error: OSError, parent: int) -> OSError:
        """Return `error` with this name, and with the kind of file that has the name if that is the cause."""
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR, errno.EMLINK}:
            with contextlib.suppress(OSError):
                kind = stat.S_IFMT(os.stat(self.name, dir_fd=parent, follow_symlinks=False).st_mode)
                return self._error(error.errno, _KINDS.get(kind, "not a file"))
        return self._error(error.errno or errno.EIO, error.strerror or str(error))

    def _error(self, number: int, words: str) -> OSError:
        return OSError(number, words, str(self.path))

    def _too_large(self, limit: int) -> OSError:
        return self._error(errno.EFBIG, f"more than the {format_bytes(limit)} that are read of such a file")

    @staticmethod
    def _remove(name: str, parent: int) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=parent)


def _parts(name: str) -> tuple[str, ...]:
    parts = tuple(name.split("/")) if "/" in name else (name,)  # most names have one part
    for part in parts:
        if part in _LEADING_OUT or "\0" in part:
            raise OSError(errno.EINVAL, "a name that leads out of its folder", name)
    return parts
