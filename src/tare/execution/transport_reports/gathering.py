"""Collect the transport reports of a finished stage, and remove them from the program's own output."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tare.core.errors import UnreadableFile
from tare.core.safe_folder import SafeFolder
from tare.core.transport_reports import libraries
from tare.execution.transport_reports.report import TransportReport
from tare.probes.placement import ASKED, reports_folder

_MOST_LINES_OF_OUTPUT = 1000  # lines of standard output, to which Intel MPI writes before the program does


def gather(work: Path, stage: str, stdout: str, stderr: str) -> None:
    """Write the transport reports of `stage` to ``transport/STAGE.txt``; remove chatter from its stderr.

    A line that repeats an earlier report is dropped. Errors and warnings of libraries stay in standard error;
    those in files of their own are appended to it. Nothing is done if no library was asked to report.
    """
    folder = work / reports_folder(stage)
    if not SafeFolder(folder, ASKED).exists():
        return
    files = [one.path for one in SafeFolder(folder).files() if one.name != ASKED]
    complaints = [line for path in files for line in _lines(path) if not _is_chatter(line)]
    unique: dict[tuple[TransportReport, ...], str] = {}
    for lines in (
        *map(_lines, files),
        _lines(work / stderr),
        islice(_lines(work / stdout), _MOST_LINES_OF_OUTPUT),
    ):
        for reports, line in _with_reports(lines):
            unique.setdefault(reports, line)
    if unique:
        text = "".join(unique.values()).encode(errors="surrogateescape")
        SafeFolder(work, _path(work, stage).relative_to(work).as_posix()).replace(text, is_synced=False)
    _rewrite(work / stderr, complaints)
    shutil.rmtree(folder, ignore_errors=True)


def read_reports(work: Path, stage: str) -> tuple[TransportReport, ...]:
    """Return the transport reports of `stage`; empty if no library reported anything."""
    return tuple(report for reports, _ in _with_reports(_lines(_path(work, stage))) for report in reports)


def _path(work: Path, stage: str) -> Path:
    folder = work / reports_folder(stage)
    return folder.with_name(f"{folder.name}.txt")


def _with_reports(lines: Iterable[str]) -> Iterator[tuple[tuple[TransportReport, ...], str]]:
    """Yield, for each line with transport reports, the reports and the line."""
    for line in lines:
        reports = tuple(report for library in libraries().values() for report in library.parse(line))
        if reports:
            yield reports, line


def _is_chatter(line: str) -> bool:
    return any(library.is_chatter(line) for library in libraries().values())


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, also of one that is not UTF-8; none if there is no such file.

    Raises UnreadableFile if the file system fails.
    """
    try:
        file = SafeFolder(path.parent, path.name).reader()
    except UnreadableFile:
        raise
    except OSError:
        return
    with io.TextIOWrapper(file, errors="surrogateescape") as lines:
        yield from lines


def _rewrite(stderr: Path, complaints: Iterable[str]) -> None:
    """Rewrite standard error without chatter, and append the `complaints` from the libraries' own files."""
    rest = SafeFolder(stderr.parent, f"{stderr.name}.rest")
    with os.fdopen(rest.create(), "w", errors="surrogateescape") as file:
        file.writelines(line for line in _lines(stderr) if not _is_chatter(line))
        file.writelines(complaints)
    rest.rename(stderr.name)
