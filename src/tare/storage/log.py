"""Write and read logs as lines of JSON.

A campaign keeps what `tare run` did, session after session, in ``log.jsonl``: one object on each line, with
the time (`at`, Unix), `level`, `source`, `message` and `fields`. When the file has grown to 4 MiB, it is
renamed to ``log.1.jsonl``, which replaces the previous file of that name. No result depends on the log, and a
log that cannot be written ends no run.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tare.core import log
from tare.core.counting import count
from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.core.pseudonyms import NO_PSEUDONYMS, Pseudonyms
from tare.core.safe_folder import SafeFolder
from tare.core.visible_text import visible_json

NAME, OLDER = "log.jsonl", "log.1.jsonl"
MOST_BYTES = 4 * 1024 * 1024
_MOST_READ = 4 * MOST_BYTES
_LONGEST, _MOST_WORDS = 1000, 100
_LOOKED_THROUGH = 20_000  # characters of a long text that are searched for secrets: far more than are kept

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
"""The names of the log levels, lowest first."""


class Entry(msgspec.Struct, frozen=True):
    """One line of a log."""

    at: float
    level: str
    source: str
    message: str
    fields: dict[str, str | int | float | bool | list[str] | None] = {}


class EntryHandler(logging.Handler):
    """Turns log records into entries without secrets.

    `pseudonyms` are the pseudonyms of the site, once they are known. `n_lost` counts the records that could
    not be written, and `fault` is why the last one could not.
    """

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.pseudonyms = NO_PSEUDONYMS
        self.n_lost, self.fault = 0, ""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record. Errors in writing it are only counted: they must not disturb the run."""
        try:
            self.write(entry_of(record, self.pseudonyms))
        except (OSError, ValueError) as error:
            self.n_lost += 1
            self.fault = (error.strerror if isinstance(error, OSError) else None) or str(error)

    def write(self, entry: Entry) -> None:
        """Write one entry."""
        raise NotImplementedError


class JsonLines(EntryHandler):
    """Appends entries to `file`; when it exceeds `most_bytes`, it is renamed to `older`."""

    def __init__(
        self, file: SafeFolder, level: int, older: SafeFolder | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        super().__init__(level)
        self._file = file
        self._older = older
        self._most_bytes = most_bytes
        self._descriptor = self._open()

    def write(self, entry: Entry) -> None:
        """Append one line."""
        if self._older is not None and os.fstat(self._descriptor).st_size > self._most_bytes:
            self._file.rename(self._older.name)
            full, self._descriptor = self._descriptor, self._open()  # if this fails, the full file grows
            os.close(full)
        os.write(self._descriptor, json_line(entry))

    def close(self) -> None:
        """Close the file. Records that a thread logs later are lost, and never go to another file."""
        self.acquire()
        try:
            closed, self._descriptor = self._descriptor, -1
            if closed >= 0:
                os.close(closed)
        finally:
            self.release()
        super().close()

    def _open(self) -> int:
        return self._file.open(os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def json_line(entry: Entry) -> bytes:
    """Return an entry as one line of JSON without characters that control a terminal."""
    return visible_json(msgspec.json.encode(entry).decode()).encode() + b"\n"


def entry_of(record: logging.LogRecord, pseudonyms: Pseudonyms = NO_PSEUDONYMS) -> Entry:
    """Return a log record as an entry, with pseudonyms and without what looks like a secret."""
    values: dict[str, log.Value] = getattr(record, "fields", {})
    return Entry(
        at=round(record.created, 6),
        level=record.levelname.lower(),
        source=record.name.removeprefix(f"{log.ROOT}."),
        message=record.getMessage(),
        fields={name: _shown(value, pseudonyms) for name, value in values.items()},
    )


@contextmanager
def keeping_log(folder: Path, pseudonyms: Pseudonyms, level: int = logging.INFO) -> Iterator[None]:
    """Write the log of the campaign in `folder` while entered; use `pseudonyms` in all logs from now on."""
    root = logging.getLogger(log.ROOT)
    own: JsonLines | None = None
    with contextlib.suppress(OSError):  # on a full disk, other code ends the campaign with a clear message
        own = JsonLines(SafeFolder(folder, NAME), level, SafeFolder(folder, OLDER))
        add_handler(own)
    for one in root.handlers:
        if isinstance(one, EntryHandler):
            one.pseudonyms = pseudonyms
    try:
        yield
    finally:
        if own is not None:
            remove_handler(own)


def add_handler(handler: logging.Handler) -> None:
    """Let `handler` receive what is logged from now on, down to its level."""
    root = logging.getLogger(log.ROOT)
    root.addHandler(handler)
    _set_level(root)


def remove_handler(handler: logging.Handler) -> None:
    """Undo `add_handler`, and close the handler."""
    root = logging.getLogger(log.ROOT)
    root.removeHandler(handler)
    _set_level(root)
    handler.close()


def _set_level(root: logging.Logger) -> None:
    levels = [one.level for one in root.handlers if isinstance(one, EntryHandler)]
    root.setLevel(min(levels) if levels else logging.NOTSET)
    root.propagate = not levels  # records that a handler of Tare receives are not printed by others


class Log(msgspec.Struct, frozen=True):
    """The entries of a campaign's log, oldest first; `n_damaged` lines could not be read."""

    entries: list[Entry]
    n_damaged: int = 0


def read_log(folder: Path, *, level: str = "debug", since: float = 0.0) -> Log:
    """Return the entries of the campaign in `folder` from `level` up, logged at `since` (Unix) or later.

    Raises OSError where a log file exists and cannot be read.
    """
    least = LEVELS[level]
    entries: list[Entry] = []
    n_damaged = 0
    for name in (OLDER, NAME):
        file = SafeFolder(folder, name)
        for line in file.read(_MOST_READ).splitlines() if file.exists() else ():
            try:
                entry = decode_json(line, type=Entry)
            except NOT_JSON:
                n_damaged += 1
                continue
            if LEVELS.get(entry.level, logging.ERROR) >= least and entry.at >= since:
                entries.append(entry)
    return Log(entries, n_damaged)


def _shown(value: log.Value, pseudonyms: Pseudonyms) -> str | int | float | bool | list[str] | None:
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return _shown_text(value, pseudonyms)
    return list(_shown_words(tuple(map(str, value)), pseudonyms))


@functools.lru_cache(maxsize=1024)
def _shown_text(text: str, pseudonyms: Pseudonyms) -> str:
    """Return a text as it is logged. Results are cached: searching for secrets is slow, and texts repeat."""
    return _cut(pseudonyms.text(text[:_LOOKED_THROUGH]), len(text))


@functools.lru_cache(maxsize=256)
def _shown_words(words: Sequence[str], pseudonyms: Pseudonyms) -> tuple[str, ...]:
    shown = [
        _cut(one, len(one)) for one in pseudonyms.argv([one[:_LOOKED_THROUGH] for one in words[:_MOST_WORDS]])
    ]
    more = [f"… and {count(len(words) - _MOST_WORDS, 'word')} more"] if len(words) > _MOST_WORDS else []
    return (*shown, *more)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({length} characters)"
