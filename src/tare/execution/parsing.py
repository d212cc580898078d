"""Read the figures out of a run's output, by its workload's parser, within a time limit.

A parser may be anybody's: one that raises or does not end is a problem of that run, and of nothing else.
"""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

import msgspec

from tare.core.counting import count
from tare.core.errors import STORAGE_FAULTS, CampaignError
from tare.core.protocols import implements
from tare.core.safe_folder import SafeFolder
from tare.core.units import format_bytes, format_seconds
from tare.core.workload import HasOtherOutputs, Parsed, Workload
from tare.execution.parser_deadline import OutOfTime, ParserDied, within

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def parse_output(workload: Workload, work: Path) -> Parsed:
    """Return what the workload's parser finds in its output files; a missing file is a problem."""
    found = _parse_one(workload, work)
    if implements(workload, HasOtherOutputs):
        for other in workload.others:
            found = _joined(found, other.output, _parse_one(other, work))
    return found


def _joined(parsed: Parsed, name: str, other: Parsed) -> Parsed:
    """Return `parsed` with what was found in the file `name`."""
    named = (f"the program wrote no {name}", f"{name} ")  # these problems name the file themselves
    problems = tuple(one if one.startswith(named) else f"{name}: {one}" for one in other.problems)
    return msgspec.structs.replace(
        parsed,
        measurements=(*parsed.measurements, *other.measurements),
        is_complete=parsed.is_complete and other.is_complete,
        problems=(*parsed.problems, *problems),
        left_out=(*parsed.left_out, *(f"{name}: {one}" for one in other.left_out)),
    )


def _parse_one(workload: Workload, work: Path) -> Parsed:
    folder, _, name = workload.output.rpartition("/")
    place = SafeFolder(work, *([folder] if folder else []))
    # The name may be a pattern, since some programs put the date into the name of their report.
    matching = place.files(name) if any(one in name for one in "*?[") else []
    if len(matching) > 1:
        names = ", ".join(one.name for one in matching[:_MOST_NAMED])
        return Parsed(
            problems=(
                f"{workload.output} matches {count(len(matching), 'file')}, such as {names}; name one of "
                "them",
            )
        )
    found = matching[0] if matching else place / name
    try:
        with io.TextIOWrapper(found.reader(), encoding="utf-8", errors="replace") as lines:
            return parse_opened(workload, lines)
    except FileNotFoundError:
        return Parsed(problems=(f"the program wrote no {workload.output}",))
    except OSError as error:
        if error.errno in STORAGE_FAULTS:
            raise CampaignError(f"{found.path}: cannot be read: {error.strerror}") from error
        return Parsed(problems=(f"{workload.output} cannot be read: {error.strerror}",))


_MOST_NAMED = 3


def parse_file(workload: Workload, path: Path) -> Parsed:
    """Return what the workload's parser finds in the file at `path`. Raises OSError as opening it does."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return parse_opened(workload, lines)


_PARSE_S, _PARSE_BYTES_PER_S = 60.0, 1e6
"""The time limit of a parser: one minute, plus one second per MB. Most parsers read 10 to 50 MB a second."""


MOST_LINE = 64 * 1024 * 1024
"""The longest line, in bytes, that a parser gets; a parser reads line by line, and holds a whole line."""
_PIECE = 1024 * 1024


_ENDLESS = Parsed(problems=(f"it has a line of more than {format_bytes(MOST_LINE)}, which is no log",))


class _EndlessLine(BaseException):
    """A stream has a line of more than MOST_LINE. Not an Exception, because a parser may catch those."""


class _Measured(io.RawIOBase):
    """A stream that is read piece by piece, and ends with _EndlessLine instead of a line without an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._length = 0

    def readable(self) -> bool:
        """Return True: it is read, and nothing else."""
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        """Read a piece; wait until there is one."""
        read: Callable[[int], bytes | None] = self._stream.read
        while (piece := read(memoryview(into).nbytes)) is None:  # it is empty, and does not block
            select.select([self._stream], [], [])
        memoryview(into)[: len(piece)] = piece
        self._length = _rest_of_line(piece, self._length)
        if self._length > MOST_LINE:
            raise _EndlessLine
        return len(piece)


def parse_stream(workload: Workload, stream: BinaryIO) -> Parsed:
    """Return what the workload's parser finds in a stream, such as a pipe, which may take any time."""
    try:
        return workload.parse(
            io.TextIOWrapper(io.BufferedReader(_Measured(stream)), encoding="utf-8", errors="replace")
        )
    except _EndlessLine:
        return _ENDLESS


def _parse_lines(workload: Workload, lines: TextIO) -> Parsed:
    """Return what the workload's parser finds in a file; a line of more than MOST_LINE is a problem."""
    return _ENDLESS if _has_endless_line(lines.buffer) else workload.parse(lines)


def _has_endless_line(file: BinaryIO) -> bool:
    """Return whether a line of the file is longer than MOST_LINE; only large files are looked at."""
    if os.fstat(file.fileno()).st_size <= MOST_LINE:
        return False
    length = 0
    while length <= MOST_LINE and (piece := file.read(_PIECE)):
        length = _rest_of_line(piece, length)
    file.seek(0)
    return length > MOST_LINE


def _rest_of_line(piece: bytes, length: int) -> int:
    """Return the length of the line at the end of `piece`, if its line had `length` bytes before."""
    last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
    return length + len(piece) if last < 0 else len(piece) - last - 1


def parse_opened(workload: Workload, lines: TextIO) -> Parsed:
    """Return what the workload's parser finds in an open file. Raises OSError if it cannot be read."""
    limit_s = _PARSE_S + os.fstat(lines.fileno()).st_size / _PARSE_BYTES_PER_S
    try:
        return within(limit_s, lambda: _parsed(workload, lines))
    except ParserDied as error:
        return Parsed(problems=(f"the parser of {workload.name} broke: {error}",))
    except OutOfTime:
        return Parsed(
            problems=(
                f"the parser of {workload.name} had not ended after {format_seconds(limit_s)}; a regular "
                "expression with a repetition inside a repetition, such as (a+)+, may take for ever",
            )
        )


def _parsed(workload: Workload, lines: TextIO) -> Parsed:
    try:
        return _parse_lines(workload, lines)
    except Exception as error:  # a plug-in's parser may raise anything; the run must be recorded nevertheless
        if isinstance(error, OSError) and error.errno in STORAGE_FAULTS:
            raise
        return Parsed(problems=(f"the parser of {workload.name} broke: {type(error).__name__}: {error}",))
