"""Gather what libraries said while a stage ran, and take it out of what the program itself said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tare.core.safe_folder import SafeFolder
from tare.core.transport_reports import libraries
from tare.execution.transport_reports.report import TransportReport
from tare.probes.placement import ASKED, reports_folder

_MOST_LINES_OF_OUTPUT = 1000  # of standard output, where Intel MPI speaks before the program does


def gather(work: Path, stage: str, stdout: str, stderr: str) -> None:
    """Keep the telling lines of `stage` in ``transport/STAGE.txt``, and the rest out of its standard error.

    A line that says what an earlier one has said is dropped. What libraries complain of stays in, or comes
    to, standard error. Nothing is done where no library was asked.
    """
    folder = work / reports_folder(stage)
    if not SafeFolder(folder, ASKED).exists():
        return
    files = [one.path for one in SafeFolder(folder).files() if one.name != ASKED]
    complaints = [line for path in files for line in _lines(path) if not _is_chatter(line)]
    heard: dict[tuple[TransportReport, ...], str] = {}
    for lines in (
        *map(_lines, files),
        _lines(work / stderr),
        islice(_lines(work / stdout), _MOST_LINES_OF_OUTPUT),
    ):
        for words, line in _telling(lines):
            heard.setdefault(words, line)
    if heard:
        said = "".join(heard.values()).encode(errors="surrogateescape")
        SafeFolder(work, _path(work, stage).relative_to(work).as_posix()).replace(said, is_synced=False)
    _keep_out(work / stderr, complaints)
    shutil.rmtree(folder, ignore_errors=True)


def read_words(work: Path, stage: str) -> tuple[TransportReport, ...]:
    """Return what was gathered of `stage`; nothing where no library said anything."""
    return tuple(word for words, _ in _telling(_lines(_path(work, stage))) for word in words)


def _path(work: Path, stage: str) -> Path:
    folder = work / reports_folder(stage)
    return folder.with_name(f"{folder.name}.txt")


def _telling(lines: Iterable[str]) -> Iterator[tuple[tuple[TransportReport, ...], str]]:
    """Yield each line that tells something, after what it tells."""
    for line in lines:
        words = tuple(word for library in libraries().values() for word in library.tell(line))
        if words:
            yield words, line


def _is_chatter(line: str) -> bool:
    return any(library.is_chatter(line) for library in libraries().values())


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, whatever bytes they hold; none of a file that is not there."""
    try:
        descriptor = SafeFolder(path.parent, path.name).open()
    except OSError:
        return
    with os.fdopen(descriptor, errors="surrogateescape") as file:
        yield from file


def _keep_out(stderr: Path, complaints: Iterable[str]) -> None:
    """Write standard error anew, without chatter and with `complaints` that libraries wrote elsewhere."""
    rest = SafeFolder(stderr.parent, f"{stderr.name}.rest")
    with os.fdopen(rest.create(), "w", errors="surrogateescape") as file:
        file.writelines(line for line in _lines(stderr) if not _is_chatter(line))
        file.writelines(complaints)
    rest.rename(stderr.name)
