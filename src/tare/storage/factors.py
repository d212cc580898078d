"""Read a CSV table: its first column names files, and the other columns hold their settings."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tare.core.counting import count
from tare.core.errors import Fault, FileFaults, UsageError
from tare.core.user_files import read_given


class FactorRow(msgspec.Struct, frozen=True):
    """One row: the settings of one file. `line` counts from 1."""

    line: int
    texts: dict[str, str]


class FactorTable(msgspec.Struct, frozen=True):
    """The table, with its `rows` by absolute path. An empty cell means that the file has no such setting."""

    file: str
    names: tuple[str, ...]
    rows: dict[Path, FactorRow]


def read_factors(file: Path) -> FactorTable:
    """Read a table in CSV (RFC 4180), with or without CRLF and byte-order mark.

    Empty lines are skipped, and so are lines before the header that begin with #. Paths are relative to the
    folder of the table. Raises FileFaults with every fault, by its line.
    """
    lines = _records(file)
    try:
        head_line, head = next(lines)
    except StopIteration:
        raise FileFaults([Fault(str(file), 1, 1, "", "the table is empty; give it a header line")]) from None
    names = [name.strip() for name in head]
    faults = [Fault(str(file), head_line, 1, "", message) for message in _header_faults(names)]
    rows: dict[Path, FactorRow] = {}
    for line, cells in lines:
        path = Path(os.path.abspath(file.parent / cells[0].strip()))  # noqa: PTH100  # links stay as written
        message = _row_fault(cells, names, rows.get(path))
        if message:
            faults.append(Fault(str(file), line, 1, "", message))
        else:
            cells = [cell.strip() for cell in cells]
            texts = {name: cell for name, cell in zip(names[1:], cells[1:], strict=True) if cell}
            rows[path] = FactorRow(line, texts)
    if not rows and not faults:
        faults.append(Fault(str(file), head_line, 1, "", "the table has a header and no rows"))
    if faults:
        raise FileFaults(faults)
    return FactorTable(str(file), tuple(names[1:]), rows)


def _records(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not empty, each with the number of its first line."""
    try:
        text = read_given(file).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise FileFaults([Fault(str(file), line, 1, "", "not UTF-8; save the table as UTF-8")]) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    is_header = True
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileFaults([Fault(str(file), reader.line_num, 1, "", f"not CSV: {error}")]) from error
        is_comment = is_header and bool(cells) and cells[0].startswith("#")
        if any(cell.strip() for cell in cells) and not is_comment:
            yield line, cells
            is_header = False
        line = reader.line_num + 1


def _header_faults(names: Sequence[str]) -> Iterator[str]:
    if len(names) < 2:
        yield (
            "the table has one column; separate columns by commas: the first is the path, and each other a "
            "setting"
        )
    for name in sorted(name for name, times in Counter(names[1:]).items() if times > 1):
        yield f"column {name!r} is there twice; rename one"
    if any(not name for name in names[1:]):
        yield "a column has no name; name it after its setting"


def _row_fault(cells: Sequence[str], names: Sequence[str], known: FactorRow | None) -> str:
    if len(cells) != len(names):
        return f"{count(len(cells), 'cell')}, but the header has {count(len(names), 'column')}"
    if "\0" in cells[0]:
        return "the path holds a NUL character, which no name of a file does; remove it"
    if not cells[0].strip():
        return "no path in the first column"
    if known is not None:
        return f"{cells[0].strip()} stands on line {known.line} already; remove one of them"
    return ""
