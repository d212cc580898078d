"""Follow a journal as it grows, reading each byte once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tare.core.safe_folder import SafeFolder
from tare.storage.journal import MOST_BYTES, VERSION, DamagedLine, Event, LineReader, SessionBegan

_MARK = 64  # bytes before the offset that must still be there, else the file is another


class News(msgspec.Struct, frozen=True):
    """What a journal says since it was last read.

    `is_fresh` says that it is not the journal that it was: all events before these are void. `fault` says
    why it cannot be read on; empty when it can.
    """

    events: tuple[Event, ...] = ()
    is_fresh: bool = False
    fault: str = ""


class JournalTail:
    """Reads what is new in the journal at `path`, which need not be there yet.

    A line without its end, or a last line that does not read as an event, is left for later: the
    writer is in the midst of it, or a crash has torn it and the next session cuts it off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def read(self) -> News:
        """Return what is new. A file that was replaced, cut or removed is read from its beginning."""
        try:
            descriptor = SafeFolder(self.path.parent, self.path.name).open()
        except FileNotFoundError:
            is_fresh = self._offset > 0
            self._forget()
            return News(is_fresh=is_fresh)
        except OSError as error:
            return News(fault=f"the journal cannot be read: {error.strerror}")
        try:
            return self._read(descriptor)
        except OSError as error:
            return News(fault=f"the journal cannot be read: {error.strerror}")
        finally:
            os.close(descriptor)

    def _forget(self) -> None:
        self._offset = 0
        self._n_lines = 0
        self._reader = LineReader()
        self._before = b""
        self._seen: tuple[int, ...] = ()
        self._fault = ""

    def _read(self, descriptor: int) -> News:
        status = os.fstat(descriptor)
        seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if seen == self._seen:
            return News(fault=self._fault)
        is_fresh = not self._is_same(descriptor, seen)
        if is_fresh:
            self._forget()
        if status.st_size > MOST_BYTES:
            return News(fault="the journal is too large to be one")
        data = os.pread(descriptor, max(status.st_size - self._offset, 0), self._offset)
        events = self._decode(data)
        self._seen = seen
        return News(events, is_fresh, self._fault)

    def _is_same(self, descriptor: int, seen: tuple[int, ...]) -> bool:
        """Return whether the file is the one that was read, with what was read last still in its place."""
        if not self._seen:
            return True
        if seen[:2] != self._seen[:2]:
            return False
        return os.pread(descriptor, len(self._before), self._offset - len(self._before)) == self._before

    def _decode(self, data: bytes) -> tuple[Event, ...]:
        events: list[Event] = []
        self._fault = ""
        used = 0
        while (end := data.find(b"\n", used)) >= 0:
            try:
                event = self._reader.read(data[used:end])
            except DamagedLine as error:
                if data.find(b"\n", end + 1) >= 0:
                    self._fault = f"line {self._n_lines + 1} of the journal is damaged ({error})"
                break
            if isinstance(event, SessionBegan) and event.version > VERSION:
                self._fault = f"written by tare {event.tare}; use that version or newer"
                break
            events.append(event)
            self._n_lines += 1
            used = end + 1
        self._offset += used
        self._before = (self._before + data[max(used - _MARK, 0) : used])[-_MARK:]
        return tuple(events)
