"""Print the output of commands: lines, tables and errors for people, JSON for machines.

Everything that a command prints goes through this module. Names, reasons, hosts and versions may come from
campaigns and programs of others. So control characters in them are made visible: they cannot steer a
terminal, reorder a line or forge one. Colour is used only at a terminal.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import IO, Any

import click
import msgspec

from tare.core.errors import CampaignError, FileFaults, InfrastructureError, OutputLost, TareError
from tare.core.visible_text import visible_json, visible_line
from tare.terminal import colour
from tare.terminal.folding import is_narrow, n_columns, room_for_last, stacked, width_of, wrapped

json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON; docs/json.md explains it, and 'tare schema' has its schema.",
)
"""The `--json` flag of every command with a result."""


class Painted(str):
    """Text whose beginning is coloured at a terminal: the first `n` characters, in colour `fg` of click."""

    __slots__ = ("fg", "n")
    fg: int | str
    n: int

    @classmethod
    def of(cls, painted: str, fg: int | str, rest: str = "") -> Painted:
        """Return `painted` in colour `fg`, followed by `rest`."""
        text = cls(f"{painted}{rest}")
        text.fg, text.n = fg, len(painted)
        return text


def echo(*lines: str, err: bool = False, fg: str | None = None, bold: bool = False) -> None:
    """Print each of `lines` as one line, or one empty line if there are none.

    Control characters are made visible, and a line break within a line too. `fg` and `bold` have an effect
    only at a terminal. `err` prints on standard error.
    """
    shown = [visible_line(line) for line in lines or ("",)]
    _put([click.style(line, fg=fg, bold=bold or None) for line in shown] if fg or bold else shown, err=err)


def echo_or_drop(*lines: str) -> None:
    """Print as `echo` does; go on where standard output takes no more, as in ``tare run … | head``."""
    try:
        echo(*lines)
    except OutputLost as error:
        if not error.has_no_reader:
            echo_error(error)


def echo_to(stream: IO[str], line: str) -> None:
    """Print one line on `stream`, with control characters made visible. Raises OSError as writing does."""
    stream.write(f"{visible_line(line)}\n")
    stream.flush()


def echo_error(error: TareError) -> None:
    """Print `error` on standard error: the faults of files a line each, or the lines of another error."""
    first, *others = (
        [str(one) for one in error.faults] if isinstance(error, FileFaults) else _error_lines(error)
    )
    echo(f"tare: {first}", *others, err=True, fg="red")


def _error_lines(error: TareError) -> list[str]:
    """Return the lines of an error; secrets are removed if a program such as ssh may have printed it."""
    text = str(error)
    if isinstance(error, InfrastructureError) and not isinstance(error, CampaignError):
        from tare.core.redaction import redact_text

        text = redact_text(text)
    first, *others = text.split("\n")
    return [first, *(f"  {line}" if line[:1].strip() else line for line in others)]


def _put(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines whose control characters are already visible and whose colours are already set."""
    click.echo("\n".join(lines), err=err, color=False if colour.is_refused() else None)


def print_json(schema: str, body: Mapping[str, Any]) -> None:
    """Print `body` as one JSON object that names its `schema`, such as ``tare.compare/1``."""
    from tare.core.verdict import json_value

    text = msgspec.json.encode({"schema": schema, **body}, enc_hook=json_value)
    _write(_seen(msgspec.json.format(text, indent=1) if sys.stdout.isatty() else text) + b"\n")
    sys.stdout.flush()


def json_fields(one: msgspec.Struct, *left_out: str, **more: object) -> dict[str, object]:
    """Return the fields of `one` by their names in JSON, without those `left_out`, and `more`."""
    names = zip(one.__struct_fields__, one.__struct_encode_fields__, strict=True)
    fields = {shown: getattr(one, name) for name, shown in names if shown not in left_out}
    return fields | more


def _seen(text: bytes) -> bytes:
    return text if text.isascii() and b"\x7f" not in text else visible_json(text.decode()).encode()


def _write(text: bytes) -> None:
    """Write UTF-8 to standard output, for which a caller in this process may have put a stream of text."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.buffer.write(text)
    else:
        sys.stdout.write(text.decode())


_PIECE = 1000
"""How many entries of a long list are printed in one write."""


def print_long_json(schema: str, name: str, items: Iterable[object], body: Mapping[str, Any]) -> None:
    """Print as `print_json` does, with the list `items` first, as the key `name`.

    Only few items are held in memory at a time, except at a terminal.
    """
    if sys.stdout.isatty():
        print_json(schema, {name: list(items), **body})
        return
    encode, source, comma = msgspec.json.encode, iter(items), b""
    _write(encode({"schema": schema})[:-1] + b"," + _seen(encode(name)) + b":[")
    while piece := list(islice(source, _PIECE)):
        _write(comma + _seen(encode(piece)[1:-1]))
        comma = b","
    _write(b"]," + _seen(encode(body)[1:]) + b"\n")
    sys.stdout.flush()


def has_colour(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal and its user does not refuse colour."""
    return stream.isatty() and not colour.is_refused()


def leave_dead_terminal() -> None:
    """Send further output to /dev/null if the terminal has closed, since writing to it fails (tty_ioctl(4)).

    So a command continues without its terminal if it ignores the hang-up, as after a shell's ``disown``.
    """
    for descriptor in (1, 2):
        try:
            os.get_terminal_size(descriptor)
        except OSError as error:
            if error.errno == errno.EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)


@contextmanager
def at_work(what: str) -> Iterator[None]:
    """Show `what` with a spinner while entered, if standard error is a terminal; else print nothing."""
    if not has_colour(sys.stderr):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(visible_line(what)):
        yield


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: frozenset[str] = frozenset(),
    optional: frozenset[str] = frozenset(),
) -> None:
    """Print aligned columns; those named in `numeric` are aligned to the right.

    Columns named in `optional` are left out if all of their cells are empty. A table that is wider than the
    terminal is folded; elsewhere each row is one line. `rows` are iterated several times instead of being
    held in memory. So they must not be an iterator.
    """
    if optional:
        kept = [i for i, name in enumerate(columns) if name not in optional or any(row[i] for row in rows)]
        columns, rows = [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
    columns = [_cell(name) for name in columns]
    right = [name in numeric for name in columns]
    widths = [n_columns(name) for name in columns]
    plain = []
    for piece in _pieces(rows):
        cells_of = [*zip_longest(*piece, fillvalue=_ABSENT)]
        plain.append(all(map(_is_plain, cells_of)))
        for index, cells in enumerate(cells_of):
            shown = cells if plain[-1] else map(_cell, cells)  # which may be longer
            width = len if plain[-1] else n_columns
            widths[index] = max(widths[index], *map(width, shown))
    terminal = _terminal_width()
    if terminal is not None and width_of(widths) > terminal:
        _put_folded(columns, rows, widths, right, terminal)
        return
    _put([_header(columns, widths, right)])
    template = "  ".join(map(_placeholder, widths, right))
    for piece, is_plain in zip(_pieces(rows), plain, strict=True):
        if is_plain:
            _put([(template % tuple(row)).rstrip() for row in piece])
        else:
            _put(["  ".join(map(_aligned, row, widths, right)).rstrip() for row in piece])


def _terminal_width() -> int | None:
    """Return how wide the terminal is; None if standard output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _header(columns: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return click.style("  ".join(map(_aligned, columns, widths, right)).rstrip(), bold=True)


def _put_folded(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    widths: Sequence[int],
    right: Sequence[bool],
    terminal: int,
) -> None:
    """Print a table whose last column is folded, or whose rows are stacked if there is no room for that."""
    room = room_for_last(widths, terminal)
    if room is not None:
        _put([_header(columns, [*widths[:-1], room], right)])
    for row in rows:
        shown = list(map(_cell, row))
        if room is None:
            lines = [
                f"{begin if not at else ' ' * n_columns(begin)}{_coloured(cell, line) if not at else line}"
                for cell, (begin, folded) in zip(
                    [row[0], *filter(None, row[1:])], stacked(columns, shown, terminal), strict=True
                )
                for at, line in enumerate(folded)
            ]
            _put([*lines, ""])
        else:
            begin = "".join(f"{one}  " for one in map(_aligned, row[:-1], widths, right))
            first, *others = wrapped(shown[-1], room)
            _put([f"{begin}{_coloured(row[-1], first)}", *(" " * (terminal - room) + one for one in others)])


def _coloured(cell: str, line: str) -> str:
    """Return the first line of a folded cell with the colour of its beginning."""
    if not isinstance(cell, Painted):
        return line
    n = len(_cell(cell[: cell.n]))
    return f"{click.style(line[:n], fg=cell.fg)}{line[n:]}"


def _pieces(rows: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    source = iter(rows)
    while piece := list(islice(source, _PIECE)):
        yield piece


_ABSENT = Painted()
"""A cell that a row lacks; like a coloured one, it is no plain text."""


def _is_plain(cells: Sequence[str]) -> bool:
    """Return whether the cells of a column are all there, without colour, and shown as they are.

    Then each character takes one column of the terminal.
    """
    if set(map(type, cells)) != {str}:
        return False
    text = "".join(cells)
    return text.isprintable() and is_narrow(text)


def _cell(text: str) -> str:
    if text.isprintable():
        return text
    return visible_line(text).replace("\t", "␉")


def _placeholder(width: int, is_flush_right: bool) -> str:
    return f"%{width}s" if is_flush_right else f"%-{width}s"


def _aligned(cell: str, width: int, is_flush_right: bool) -> str:
    text = _cell(cell)
    blank = " " * (width - n_columns(text))
    if isinstance(cell, Painted):
        n = len(_cell(cell[: cell.n]))
        text = f"{click.style(text[:n], fg=cell.fg)}{text[n:]}"
    return f"{blank}{text}" if is_flush_right else f"{text}{blank}"


def plain(text: str) -> str:
    """Return `text`, which was written for a web page, with normal spaces instead of no-break spaces."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")
