"""The journal of a campaign: one event on each line, appended and synced. It is the record of the campaign.

Each line ends in a checksum of what precedes it on the line. The checksum detects every error of up to 32
bits in a row (CRC-32, as of zlib(3)). Version 1 wrote no checksums: its lines are read without, up to the
first line that has one. A torn last line, as a crash leaves it, is dropped. Any other line that cannot be
read is an error, since it means that something else wrote to the file.

`Journal` writes and locks a journal; `read_events` reads one::

    with Journal(path) as journal:
        journal.append(BlockBegan(1, order))
    events = read_events(path)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
import zlib
from pathlib import Path
from types import TracebackType

import msgspec

from tare.core.attempt import Attempt
from tare.core.descriptors import write_all
from tare.core.errors import NOT_JSON, CampaignError, CampaignLocked, UnreadableFile, UsageError
from tare.core.safe_folder import MOST_OF_LINE, SafeFolder
from tare.core.units import format_bytes
from tare.core.values import CaseId, EpochSeconds, Ordinal
from tare.storage.alike import Alike

VERSION = 2
"""Version of the journal's format; a reader refuses a higher one."""


class SessionBegan(msgspec.Struct, frozen=True, tag="session", tag_field="event"):
    """A process began to run the campaign; `at` is seconds since the epoch.

    `continues` is true if the process continues at once after an interruption, in the block that was under
    way. It is None in journals of versions before 0.2. `blocks` is the largest number of blocks that was
    planned at that time, 0 where it is not recorded. `is_retrying` is true if the process tries failed runs
    again.
    """

    at: EpochSeconds
    tare: str
    version: int = VERSION
    continues: bool | None = None
    blocks: int = 0
    is_retrying: bool = False


class BlockBegan(msgspec.Struct, frozen=True, tag="block", tag_field="event"):
    """A pass over a block began; `order` is the order of its runs, by case id.

    `again` lists the cases of `order` that have a result from an earlier session. They run once more, so that
    the other runs have something that ran together with them.
    """

    block: Ordinal
    order: list[CaseId]
    again: list[CaseId] = []


class AttemptBegan(msgspec.Struct, frozen=True, tag="started", tag_field="event"):
    """An attempt began. If its end is not recorded, it is lost."""

    case: CaseId
    block: Ordinal
    attempt: Ordinal
    at: EpochSeconds


class AttemptWaits(msgspec.Struct, frozen=True, tag="waits", tag_field="event"):
    """An attempt under way waits for what `reason` says; an empty `reason` means that it continues."""

    case: CaseId
    block: Ordinal
    attempt: Ordinal
    at: EpochSeconds
    reason: str = ""


class AttemptEnded(msgspec.Struct, frozen=True, tag="ended", tag_field="event"):
    """An attempt ended; `attempt` is everything that is known about it."""

    attempt: Attempt


Event = SessionBegan | BlockBegan | AttemptBegan | AttemptWaits | AttemptEnded

MOST_BYTES = 1024 * 1024 * 1024
"""The largest journal that is read: 100,000 runs with a page of figures each take less."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode
_SUM = re.compile(rb',"crc32":"([0-9a-f]{8})"\}$')


_BEGINNING = b'{"event":'
"""How each line of a journal begins."""


class DamagedLine(ValueError):
    """A line of a journal is not what was written to it."""


def write_line(event: Event) -> bytes:
    """Return `event` as a line of a journal, with its checksum and newline; it need not be readable."""
    body = _encode(event)[:-1]
    return body + b',"crc32":"%08x"}\n' % zlib.crc32(body)


def has_sum(line: bytes) -> bool:
    """Return whether a line of a journal, given without its newline, has a checksum."""
    return _SUM.search(line) is not None


class LineReader:
    """Reads the lines of one journal in order from the first, each without its newline."""

    def __init__(self) -> None:
        self._has_sums = False

    def read(self, line: bytes) -> Event:
        """Return the event of the next line.

        Raises DamagedLine, whose text says what is wrong with the line.
        """
        checksum = _SUM.search(line)
        if checksum and int(checksum[1], 16) != zlib.crc32(line[: checksum.start()]):
            raise DamagedLine("it is not what its checksum says was written")
        if not checksum and self._has_sums:
            raise DamagedLine("it has lost its checksum")
        try:
            event: Event = _decode(line)
        except NOT_JSON as error:
            raise DamagedLine(str(error)) from error
        if not checksum and isinstance(event, SessionBegan) and event.version > 1:
            raise DamagedLine("it has lost its checksum")
        self._has_sums = self._has_sums or checksum is not None
        return event


class Journal:
    """The journal of one campaign, held by one process at a time (flock(2))."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_torn = False
        self._descriptor = _file(path).open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            self._lock()
            self.events, end = _read(path)
            if not end:
                self._require_own()
            os.ftruncate(self._descriptor, end)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _require_own(self) -> None:
        """Raise UsageError for a file that does not begin as a journal does: it may be somebody's own.

        The first line of a journal may be torn: then its beginning is there, or zeros are (a file system may
        write the length of a file before its data).
        """
        head = os.pread(self._descriptor, len(_BEGINNING), 0)
        if not _BEGINNING.startswith(head.rstrip(b"\0")):
            raise UsageError(
                f"{self.path}: not a journal of tare, and left as it is; move it away, or choose another "
                "folder"
            )

    def append(self, event: Event, *, is_synced: bool = True) -> None:
        """Append `event`; when `is_synced`, it is on the disk when this returns (fdatasync(2)).

        Raises DiskFull when there is no room; the journal then ends where it did before. Raises CampaignError
        where the campaign was moved or removed: nothing is then written to its new place. So it does for an
        event that no reader would accept.
        """
        if self._is_torn:
            raise CampaignError(f"{self.path}: cannot write: its last line could not be written")
        if not self.path.exists():  # the open file could be written, but may be another folder's now
            raise CampaignError.gone(self.path.parent)
        end, line = None, write_line(event)
        self._require_readable(line)
        try:
            end = os.fstat(self._descriptor).st_size
            write_all(self._descriptor, line)
            if is_synced:
                os.fdatasync(self._descriptor)
        except OSError as error:
            self._take_back(end)
            raise CampaignError.from_os(self.path.parent, error) from error

    def _require_readable(self, line: bytes) -> None:
        """Raise CampaignError for a line that holds what no reader takes, such as an infinite figure.

        As the last line, it would be dropped as torn, and with a further line the campaign could not be read.
        """
        try:
            if len(line) > MOST_OF_LINE:
                raise DamagedLine(f"it takes more than {format_bytes(MOST_OF_LINE)}")
            _decode(line)
        except (DamagedLine, *NOT_JSON) as error:
            raise CampaignError(
                f"{self.path}: not written: an event that cannot be read again ({error}); please report this"
            ) from error

    def _take_back(self, end: int | None) -> None:
        """Remove a line that could not be written whole, so that the journal ends at `end`.

        Where that fails, no further line is appended. The next process that opens the journal drops the torn
        line.
        """
        try:
            if end is not None:
                os.ftruncate(self._descriptor, end)
        except OSError:
            self._is_torn = True

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _lock(self) -> None:
        for _ in range(20):  # `tare status` holds a shared lock for a moment
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.05)
            else:
                return
        raise CampaignLocked(
            f"{self.path.parent}: another tare is running this campaign; 'tare status' shows how far it is"
        )


def read_events(path: Path) -> tuple[Event, ...]:
    """Return the events of the journal at `path`, without a torn last line.

    Raises CampaignError, which names the line, when any other line cannot be read.
    """
    return _read(path)[0]


def _read(path: Path) -> tuple[tuple[Event, ...], int]:
    """Return the events, and the offset at which the last readable line ends."""
    reader, alike, events, end = LineReader(), Alike(), list[Event](), 0
    damaged: CampaignError | None = None
    try:
        for number, line in enumerate(_file(path).lines(MOST_BYTES), 1):
            if not line.endswith(b"\n"):
                break  # a torn line, which can only be the last
            if damaged is not None:
                raise damaged
            try:
                event = reader.read(line[:-1])
            except (
                DamagedLine
            ) as error:  # no error in the last line: a torn one may reach the disk in any order
                damaged = _damaged(path, number, error)
                continue
            if isinstance(event, SessionBegan) and event.version > VERSION:
                raise CampaignError(
                    f"{path}:{number}: written by tare {event.tare}; use that version or newer"
                )
            if isinstance(event, AttemptEnded):
                alike.share(event.attempt)
            events.append(event)
            end += len(line)
    except UnreadableFile as error:
        raise CampaignError(f"{path}: cannot read: {error.strerror}") from error
    except OSError as error:
        raise CampaignError(f"{path}: cannot read: {error.strerror}; is this a campaign folder?") from error
    return tuple(events), end


def _damaged(path: Path, number: int, error: DamagedLine) -> CampaignError:
    found = CampaignError(
        f"{path}:{number}: this line is damaged ({error}); restore it from a copy, or delete the "
        "line: its run will be run again"
    )
    found.__cause__ = error
    return found


def is_held(path: Path) -> bool:
    """Return whether a live process is writing the journal at `path`."""
    return hold_of(path) is True


def hold_of(path: Path) -> bool | None:
    """Return whether a live process is writing the journal at `path`; None where that is unknown."""
    try:
        descriptor = _file(path).open()
    except OSError:
        return None
    with contextlib.closing(os.fdopen(descriptor)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # such as ENOLCK, from a file system that has no locks
            return None
    return False


def _file(path: Path) -> SafeFolder:
    return SafeFolder(path.parent, path.name)
