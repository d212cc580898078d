"""How commands print: JSON contracts for machines, colour only for people at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

import click
import msgspec

from tare.cli import colour

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, a documented contract.")
"""The `--json` flag that every command with a result has."""


def print_json(schema: str, body: Mapping[str, Any]) -> None:
    """Print `body` as one JSON object that names its `schema`, such as ``tare.compare/1``."""
    text = msgspec.json.encode({"schema": schema, **body})
    sys.stdout.buffer.write(msgspec.json.format(text, indent=1) if sys.stdout.isatty() else text)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.flush()


_PIECE = 1000
"""How many entries of a long list are printed at once."""


def print_long_json(schema: str, name: str, items: Iterable[object], body: Mapping[str, Any]) -> None:
    """Print as `print_json` does, with a list `name` first, of which few `items` are held at a time."""
    if sys.stdout.isatty():
        print_json(schema, {name: list(items), **body})
        return
    out, encode, source, comma = sys.stdout.buffer, msgspec.json.encode, iter(items), b""
    out.write(encode({"schema": schema})[:-1] + b"," + encode(name) + b":[")
    while piece := list(islice(source, _PIECE)):
        out.write(comma + encode(piece)[1:-1])
        comma = b","
    out.write(b"]," + encode(body)[1:] + b"\n")
    sys.stdout.flush()


def has_colour(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal whose user wants colour."""
    return stream.isatty() and not colour.is_refused()


@contextmanager
def at_work(what: str) -> Iterator[None]:
    """Show at a terminal, while entered, that `what` goes on; a pipe or a log gets nothing of it."""
    if not has_colour(sys.stderr):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: frozenset[str] = frozenset()
) -> None:
    """Print aligned columns; those named in `numeric` are set flush right.

    `rows` are gone through twice, so that there may be many; an iterator will not do.
    """
    widths = [len(name) for name in columns]
    for row in rows:
        widths = [max(width, len(cell)) for width, cell in zip(widths, row, strict=True)]
    right = [name in numeric for name in columns]

    def line(cells: Sequence[str]) -> str:
        parts = (
            c.rjust(w) if flush else c.ljust(w) for c, w, flush in zip(cells, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    header = line(columns)
    click.echo(click.style(header, bold=True) if has_colour(sys.stdout) else header)
    lines = map(line, rows)
    while piece := list(islice(lines, _PIECE)):
        click.echo("\n".join(piece))


def plain(text: str) -> str:
    """Return `text`, written for a page, without the no-break spaces that a terminal has no use for."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")
