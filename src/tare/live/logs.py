"""Read the output of a run in parts, also while it grows, as text that is safe to show.

Escape sequences of terminals are removed, and secrets are replaced by pseudonyms.
"""

from __future__ import annotations

import os
import re
import time

import msgspec
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from tare.core.pseudonyms import NO_PSEUDONYMS, Pseudonyms
from tare.core.safe_folder import SafeFolder
from tare.report.words.numbers import visible

CHUNK = 64 * 1024
"""The most bytes of a stream that one response holds."""

_LINE = 4096
"""Bytes of a line that are searched together for secrets."""
_QUIET_S = 5.0
"""Seconds after which an unfinished line is shown anyway: it may be a prompt, or the last line."""

_STREAMS = frozenset({"stdout", "stderr"})
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences, such as colours
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"  # control strings, such as titles and links
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
"""Escape sequences that control a terminal (ECMA-48, 5.3 to 5.6)."""


class Chunk(msgspec.Struct, frozen=True):
    """The bytes from `start` up to `end` of a stream of `size` bytes, as text without escape sequences."""

    start: int
    end: int
    size: int
    text: str


def find_streams(folder: SafeFolder) -> dict[str, SafeFolder]:
    """Return the output streams in an attempt's `folder` by file name, those of the last stage first."""
    found = {one.name: one for one in folder.files() if one.name.split(".")[-1] in _STREAMS}
    return dict(sorted(found.items(), key=lambda item: (item[0].count("."), item[0] != "stdout", item[0])))


def read_chunk(
    stream: SafeFolder,
    start: int | None = None,
    *,
    before: int | None = None,
    pseudonyms: Pseudonyms = NO_PSEUDONYMS,
    is_live: bool = False,
) -> Chunk:
    """Return at most CHUNK bytes of `stream`: those from `start` on, those before `before`, or else its end.

    A character or an escape sequence that is incomplete at the end is left for the next call. If `is_live`,
    so is an unfinished line as long as the file grows, because half of a secret cannot be recognised. A part
    that begins within a line is shown as it would be in the whole line. Raises OSError if `stream` is not a
    regular file or cannot be read.
    """
    descriptor = stream.open()
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        end = size if before is None else min(before, size)
        if start is None or before is not None:
            start = max(end - CHUNK, 0)
            data = _from_line(os.pread(descriptor, end - start, start), is_whole=start == 0)
            start = end - len(data)
        else:
            start = min(start, size)
            data = os.pread(descriptor, CHUNK, start)
        context = os.pread(descriptor, min(start, _LINE), max(start - _LINE, 0)).rpartition(b"\n")[2]
    finally:
        os.close(descriptor)
    if before is None:
        is_growing = is_live and time.time() - status.st_mtime < _QUIET_S
        data = _whole(_whole_lines(data, is_cut=is_growing or start + len(data) < size))
    text = plain(data.decode("utf-8", "replace"), pseudonyms)
    if context and data:
        text = _behind(context.decode("utf-8", "replace"), data.decode("utf-8", "replace"), pseudonyms)
    return Chunk(start, start + len(data), size, text)


class OpenedFile(FileResponse):
    """A response with a stream, or a range of it, exactly as the run wrote it.

    It reads from the file that was opened here, also if the path leads elsewhere later. Raises OSError if the
    file cannot be opened.
    """

    def __init__(self, stream: SafeFolder) -> None:
        self._descriptor = stream.open()
        path = f"/proc/self/fd/{self._descriptor}"  # proc(5)
        super().__init__(path, media_type="text/plain; charset=utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, then close the file, also after an error."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._descriptor)


def plain(text: str, pseudonyms: Pseudonyms = NO_PSEUDONYMS) -> str:
    """Return `text` with pseudonyms, without escape sequences, and with invisible characters made visible."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return visible(pseudonyms.text(text))


def _behind(context: str, text: str, pseudonyms: Pseudonyms) -> str:
    """Return `text` as it is shown after `context`, the earlier part of its line.

    A secret that begins in `context` and ends in `text` stays hidden.
    """
    before, both = plain(context, pseudonyms), plain(context + text, pseudonyms)
    differing = (number for number, pair in enumerate(zip(before, both, strict=False)) if pair[0] != pair[1])
    return both[next(differing, min(len(before), len(both))) :]


def _whole_lines(data: bytes, *, is_cut: bool) -> bytes:
    """Return `data` without its last, unfinished line if `is_cut`, unless that line is very long.

    A carriage return ends a line too, because programs use it to show progress. One at the very end does
    not, because its line feed may still follow.
    """
    end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
    return data[:end] if is_cut and len(data) - end < _LINE else data


def _from_line(data: bytes, *, is_whole: bool) -> bytes:
    """Return `data` from its first complete line on, or all of it if it has no second line."""
    if is_whole:
        return data
    cut = data.find(b"\n") + 1
    return data[cut:] if 0 < cut < len(data) else data


def _whole(data: bytes) -> bytes:
    """Return `data` without an incomplete UTF-8 character (RFC 3629) or escape sequence at its end."""
    escape = data.rfind(b"\x1b", max(len(data) - 32, 0))
    if escape > 0 and not _ESCAPES.match(data[escape:].decode("latin-1")):
        data = data[:escape]
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if back < length else data
        if byte < 0x80:
            break
    return data
