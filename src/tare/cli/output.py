"""How commands print: JSON contracts for machines, colour only for people at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

import click
import msgspec

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, a documented contract.")
"""The `--json` flag that every command with a result has."""


def print_json(schema: str, body: Mapping[str, Any]) -> None:
    """Print `body` as one JSON object that names its `schema`, such as ``tare.compare/1``."""
    text = msgspec.json.encode({"schema": schema, **body})
    sys.stdout.buffer.write(msgspec.json.format(text, indent=1) if sys.stdout.isatty() else text)
    sys.stdout.buffer.write(b"\n")
    sys.stdout.flush()


def has_colour(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal whose user wants colour (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: frozenset[str] = frozenset()
) -> None:
    """Print aligned columns; those named in `numeric` are set flush right."""
    widths = [
        max(len(name), *(len(row[i]) for row in rows)) if rows else len(name)
        for i, name in enumerate(columns)
    ]
    right = [name in numeric for name in columns]

    def line(cells: Sequence[str]) -> str:
        parts = (
            c.rjust(w) if flush else c.ljust(w) for c, w, flush in zip(cells, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    header = line(columns)
    out = [click.style(header, bold=True) if has_colour(sys.stdout) else header]
    out.extend(line(row) for row in rows)
    click.echo("\n".join(out))


def plain(text: str) -> str:
    """Return `text`, written for a page, without the no-break spaces that a terminal has no use for."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")
