"""The journal: one event a line, appended and synced; the truth of a campaign.

A torn last line, as a crash leaves it, is dropped. Any other line that cannot be read is an error,
since it means that something else wrote to the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from tare.errors import CampaignError, CampaignLocked
from tare.model.attempt import Attempt

VERSION = 1
"""Version of the journal's format; a reader refuses a higher one."""


class SessionBegan(msgspec.Struct, frozen=True, tag="session", tag_field="event"):
    """A process began to run the campaign; `at` is seconds since the epoch."""

    at: float
    tare: str
    version: int = VERSION


class BlockBegan(msgspec.Struct, frozen=True, tag="block", tag_field="event"):
    """A block began; `order` is the order of its runs, by case id."""

    block: int
    order: list[str]


class AttemptBegan(msgspec.Struct, frozen=True, tag="started", tag_field="event"):
    """An attempt began. Without its end it is lost."""

    case: str
    block: int
    attempt: int
    at: float


class AttemptEnded(msgspec.Struct, frozen=True, tag="ended", tag_field="event"):
    """An attempt ended, with everything that is known of it."""

    attempt: Attempt


Event = SessionBegan | BlockBegan | AttemptBegan | AttemptEnded

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


class Journal:
    """The journal of one campaign, held by one process at a time (flock(2))."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._lock()
            self.events = tuple(read_events(path))
            os.ftruncate(self._descriptor, _end_of_whole_lines(path))
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, event: Event, *, is_synced: bool = True) -> None:
        """Append `event`; when `is_synced` it is on the disk when this returns (fdatasync(2)).

        Raises DiskFull when there is no room; the journal then ends where it did before.
        """
        end = os.fstat(self._descriptor).st_size
        line = _encode(event) + b"\n"
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):  # a full disk takes a part of it first
                written += os.write(self._descriptor, line[written:])
            if is_synced:
                os.fdatasync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, end)
            raise CampaignError.from_os(self.path.parent, error) from error

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


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of the journal at `path`, without a torn last line.

    Raises CampaignError, with the line, when another line cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CampaignError(f"{path}: cannot read: {error.strerror}; is this a campaign folder?") from error
    lines = data.split(b"\n")
    lines.pop()  # what follows the last newline: nothing, or a torn line
    for number, line in enumerate(lines, 1):
        try:
            event = _decode(line)
        except msgspec.DecodeError as error:
            if number == len(lines):
                return  # blocks of a torn line may reach the disk in any order
            raise CampaignError(
                f"{path}:{number}: this line is damaged ({error}); restore it from a copy, or delete the "
                "line: the run that it tells of will be run again"
            ) from error
        if isinstance(event, SessionBegan) and event.version > VERSION:
            raise CampaignError(f"{path}:{number}: written by tare {event.tare}; use that version or newer")
        yield event


def is_held(path: Path) -> bool:
    """Return whether a live process is writing the journal at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    with contextlib.closing(os.fdopen(descriptor)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _end_of_whole_lines(path: Path) -> int:
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    start_of_last = data.rfind(b"\n", 0, end - 1) + 1 if end else 0
    try:
        if end:
            _decode(data[start_of_last : end - 1])
    except msgspec.DecodeError:
        return start_of_last
    return end
