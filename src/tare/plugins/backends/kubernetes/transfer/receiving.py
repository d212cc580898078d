"""Write the files that a pod sends into an attempt's folder, and list those that are still missing.

A growing file is written as far as it was received, so that it can be read during the run. The results are
complete when each file of the pod's list is there with its checksum. The record of the task is written only
then.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from tare.core.safe_folder import SafeFolder
from tare.core.units import format_bytes
from tare.plugins.backends.kubernetes.objects.naming import SERVER
from tare.plugins.backends.kubernetes.transfer import framing
from tare.plugins.backends.kubernetes.transfer.framing import ARCHIVE, MANIFEST, End, Part, Sum

RECORD = "landed"
_COUNTERS = frozenset({"before.0", "after.0"})
_OWN = frozenset({"command.json", "manifests.yaml", "pods.yaml", "events.txt", "nodes.txt"})
"""Files that Tare itself writes into an attempt's folder; no program may replace them."""
_MOST_OUTPUT = 1024 * 1024
_IN_MEMORY = 8 * 1024 * 1024
_MOST_MEMBER = 64 * 1024 * 1024
_MOST_MEMBERS = 1_000_000
_SMALL = 64 * 1024
"""Files up to this size are always received: counters, and the messages of libraries."""


class MissingPart(NamedTuple):
    """A file that is not completely received: its size so far, and its final size and checksum.

    `is_own` says that send_results.sh made it, and not the program.
    """

    name: str
    n_there: int
    whole: Sum
    is_own: bool = False


class Receiver:
    """Takes the lines of one pod's log, and files that are fetched, and writes them into the task's folder.

    `streams` are the files that may grow during the run. It never writes more than `most_bytes`.
    """

    def __init__(self, folder: Path, role: str, streams: Collection[str], most_bytes: int) -> None:
        self._place = SafeFolder(folder)
        self.role = role
        self._streams = frozenset(streams) if role != SERVER else frozenset[str]()
        self._most_bytes = most_bytes
        self._packed: dict[str, IO[bytes]] = {}
        self._sizes: dict[str, int] = {}
        self._files: dict[str, Sum] | None = None
        self._record: bytes | None = None
        self._is_unpacked = False
        self._verified: set[str] = set()
        self.end: End | None = None
        self.n_received = 0
        self.left_out: dict[str, int] = {}
        self.output = self.unfinished = b""

    def take(self, line: bytes) -> None:
        """Take a line of the log; a line that carries no data of Tare is added to `output`."""
        match framing.parse(line):
            case Part(name, offset, data, is_own=True):
                self.append_own(name, offset, data)
            case Part(name, offset, data):
                if name in self._streams:
                    self.append(name, offset, data)
            case End() as end:
                self.end = end
            case None:
                if framing.MARK not in line and line.strip():
                    self.output = (self.output + line)[-_MOST_OUTPUT:]

    def append(self, name: str, offset: int, data: bytes) -> bool:
        """Append data that begins at `offset` of a file; return whether it continued what is there."""
        there = self.n_there(name)
        data = data[there - offset :] if 0 <= there - offset < len(data) else b""
        if not data or sum(self._sizes.values()) + len(data) > self._most_bytes:
            return False
        place = self._place / self._local(name)
        SafeFolder(place.root, *place.parts[:-1]).make_folder()
        descriptor = place.open(os.O_WRONLY | os.O_CREAT)
        with os.fdopen(descriptor, "wb") as file:
            file.seek(there)
            file.write(data)
        self._sizes[name] = there + len(data)
        self.n_received += len(data)
        return True

    def append_own(self, name: str, offset: int, data: bytes) -> bool:
        """Append a part of the manifest or archive; return whether it continued what is there."""
        held = self._packed.setdefault(name, tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
        there = held.seek(0, os.SEEK_END)
        if offset != there or there + len(data) > self._most_bytes:
            return False
        held.write(data)
        self.n_received += len(data)
        return True

    def n_there(self, name: str) -> int:
        """Return how many bytes of a file are in the folder."""
        if name not in self._sizes:
            try:
                status = (self._place / self._local(name)).status()
                self._sizes[name] = status.st_size if stat.S_ISREG(status.st_mode) else 0
            except OSError:
                self._sizes[name] = 0
        return self._sizes[name]

    def lacks(self) -> list[MissingPart]:
        """Return the files that are still missing; damaged ones are dropped first, to be received again.

        Call it when the end has been received. Raises ValueError before that, and for a damaged archive.
        """
        if self.end is None:
            raise ValueError("nobody knows what there is before the end has come")
        own = [*self._lacking_own(MANIFEST, self.end.manifest), *self._lacking_own(ARCHIVE, self.end.archive)]
        if own:
            return own
        self._unpack()
        return list(self._lacking_files())

    @property
    def record(self) -> str:
        """Return the record of the task; empty before it was received. It is written to the folder last."""
        return (self._record or b"").decode(errors="replace")

    def keep_record(self) -> None:
        """Write the record of the task; it shows that all other files are complete."""
        if self._record is not None and self.role != SERVER:
            (self._place / RECORD).replace(self._record, is_synced=False)

    def problem(self) -> str:
        """Return why some files were left out on purpose; empty if none was."""
        if not self.left_out:
            return ""
        total = sum(one.n_bytes for one in (self._files or {}).values())
        named = ", ".join(f"{name} ({format_bytes(size)})" for name, size in [*self.left_out.items()][:3])
        more = f" and {len(self.left_out) - 3} more" if len(self.left_out) > 3 else ""
        most = format_bytes(self._most_bytes)
        return (
            f"it wrote {format_bytes(total)}, and 'kubernetes: results' allows {most}: not received were "
            f"{named}{more}; raise it, or give a claim as 'work'"
        )

    def _lacking_own(self, name: str, whole: Sum) -> Iterator[MissingPart]:
        held = self._packed.get(name)
        there = held.seek(0, os.SEEK_END) if held else 0
        if there < whole.n_bytes:
            yield MissingPart(name, there, whole, is_own=True)
        elif whole.n_bytes and held and _sha256(held) != whole.sha256:
            del self._packed[name]
            yield MissingPart(name, 0, whole, is_own=True)

    def _unpack(self) -> None:
        if self._is_unpacked:
            return
        manifest = self._packed.get(MANIFEST)
        self._files = framing.parse_manifest(_all(manifest)) if manifest else {}
        self._leave_out()
        archive = self._packed.get(ARCHIVE)
        if archive is not None:
            self._extract(archive)
        self._is_unpacked = True

    def _leave_out(self) -> None:
        """Choose the files to leave out if there is more than the limit: the largest ones."""
        files = self._files or {}
        total = sum(one.n_bytes for one in files.values())
        for name, one in sorted(files.items(), key=lambda item: -item[1].n_bytes):
            if total <= self._most_bytes or one.n_bytes <= _SMALL:
                return
            self.left_out[name] = one.n_bytes
            total -= one.n_bytes

    def _extract(self, archive: IO[bytes]) -> None:
        """Write the archive's files and empty folders. Raises ValueError where it is damaged."""
        archive.seek(0)
        n_members = 0
        too_large = ValueError(f"its archive unpacks to more than {format_bytes(self._most_bytes)}")
        try:
            unpacked = _LimitedGzip(archive, self._most_bytes + _IN_MEMORY, too_large)
            with tarfile.open(fileobj=unpacked, mode="r|") as members:
                for member in members:
                    n_members += 1
                    if n_members > _MOST_MEMBERS:
                        raise too_large
                    self._extract_one(members, member)
        except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise ValueError(f"its archive is damaged: {error}") from error

    def _extract_one(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = member.name.removeprefix("./")
        try:
            if not self._is_wanted(name) or member.size > _MOST_MEMBER:
                return
            if member.isdir():
                (self._place / name).make_folder()
            elif member.isfile() and (content := archive.extractfile(member)) is not None:
                data = content.read(member.size)
                if name == RECORD:
                    self._record = data
                else:
                    (self._place / self._local(name)).replace(data, is_synced=False)
                    self._sizes[name] = len(data)
        except OSError as error:  # a name outside the folder, or through a link: it counts as missing
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise

    def _is_wanted(self, name: str) -> bool:
        """Return whether to write a file of the archive; the server's files do not replace the client's."""
        if not self._is_asked(name):
            return False
        return self.role != SERVER or not (self._place / self._local(name)).exists()

    def _is_asked(self, name: str) -> bool:
        if self.role == SERVER:
            is_seen = name.startswith(("telemetry.", "packets."))
            return name in _COUNTERS or name == "server.out" or is_seen
        return bool(name) and name not in _OWN and name not in self.left_out

    def _local(self, name: str) -> str:
        """Return the name of a file in the folder; a server's file is not named as the client's own."""
        if self.role != SERVER:
            return name
        if name in _COUNTERS:
            return name.replace(".0", ".server")
        if name.startswith("packets."):  # both pods may be on one node (see collectors.packets.gather)
            return name.removesuffix(".txt") + "+server.txt"
        return name

    def _lacking_files(self) -> Iterator[MissingPart]:
        for name, whole in (self._files or {}).items():
            if name in self._verified or not self._is_asked(name):
                continue
            if self.role == SERVER and self._has_client_s(name):
                continue
            if self._is_complete(name, whole):
                self._verified.add(name)
                continue
            if whole.sha256 is not None and self.n_there(name) >= whole.n_bytes:
                self.forget(name)  # not on a claim that pods share, which has the only copy
            yield MissingPart(name, self.n_there(name), whole)

    def _has_client_s(self, name: str) -> bool:
        try:
            return self._local(name) == name and (self._place / name).is_file()
        except OSError:
            return False

    def forget(self, name: str) -> None:
        """Remove a file whose content is wrong, so that it is received from its beginning."""
        with suppress(OSError):
            (self._place / self._local(name)).remove()
        self._sizes[name] = 0

    def _is_complete(self, name: str, whole: Sum) -> bool:
        if name == RECORD and self._record is not None:
            return hashlib.sha256(self._record).hexdigest() == whole.sha256
        try:
            with (self._place / self._local(name)).reader() as file:
                if os.fstat(file.fileno()).st_size != whole.n_bytes:
                    return False
                return whole.sha256 is None or _sha256(file) == whole.sha256
        except OSError:
            return False


class _LimitedGzip(gzip.GzipFile):
    """A gzip file of which no more than `limit` bytes are read; beyond that, it raises `too_large`.

    The sizes of a tar archive's members do not limit it: names and headers have sizes of their own, and
    tarfile reads them as a whole.
    """

    def __init__(self, packed: IO[bytes], limit: int, too_large: ValueError) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self._left = limit
        self._too_large = too_large

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes, and never more than are left of the limit."""
        wanted = self._left + 1 if size is None or size < 0 else min(size, self._left + 1)
        data = super().read(wanted)
        self._left -= len(data)
        if self._left < 0:
            raise self._too_large
        return data


def _sha256(file: IO[bytes]) -> str:
    file.seek(0)
    found = hashlib.sha256()
    while data := file.read(1024 * 1024):
        found.update(data)
    return found.hexdigest()


def _all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
