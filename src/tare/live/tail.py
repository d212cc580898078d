"""Follow a journal while it grows; each byte is read once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tare.core.safe_folder import MOST_OF_LINE, SafeFolder
from tare.storage.journal import MOST_BYTES, VERSION, DamagedLine, Event, LineReader, SessionBegan

_MARK = 64  # bytes before the offset; if they have changed, the file is another one


class News(msgspec.Struct, frozen=True):
    """The events that were added to a journal since it was last read.

    If `is_fresh`, the file is a different journal now, and all earlier events are void. `fault` says why the
    journal cannot be read further; it is empty if there is no problem.
    """

    events: tuple[Event, ...] = ()
    is_fresh: bool = False
    fault: str = ""


class JournalTail:
    """Reads the new events of the journal at `path`, which need not exist yet.

    An unfinished line, or a last line that is not a valid event, is left for the next call. Either the
    writer has not finished it, or a crash cut it short and the next session removes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def read(self) -> News:
        """Return the new events; a file that was replaced, truncated or removed is read from its start."""
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
        events = tuple(self._events(descriptor, status.st_size))
        self._seen = seen
        return News(events, is_fresh, self._fault)

    def _events(self, descriptor: int, size: int) -> Iterator[Event]:
        """Yield the events up to `size`; of a file that has no lines, one piece is in memory."""
        self._fault = ""
        while self._offset < size:
            before = self._offset
            data = os.pread(descriptor, min(size - before, MOST_OF_LINE + 1), before)
            yield from self._decode(data)
            if self._offset == before:
                if len(data) > MOST_OF_LINE and b"\n" not in data:
                    self._fault = f"line {self._n_lines + 1} of the journal is too long to be one"
                return

    def _is_same(self, descriptor: int, seen: tuple[int, ...]) -> bool:
        """Return whether this is the file that was read before, with the bytes last read still in place."""
        if not self._seen:
            return True
        if seen[:2] != self._seen[:2]:
            return False
        return os.pread(descriptor, len(self._before), self._offset - len(self._before)) == self._before

    def _decode(self, data: bytes) -> tuple[Event, ...]:
        events: list[Event] = []
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
