"""The options `-v`, `-vv` and `--log FILE`: where commands that start programs write the log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tare.cli.log_lines import line_of
from tare.core.errors import UsageError
from tare.terminal.output import echo_to

_Command = TypeVar("_Command", bound=Callable[..., Any])


def log_options(command: _Command) -> _Command:
    """Add `-v` and `--log` to a command; its function gets no parameters for them."""
    verbose = click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        is_eager=True,
        callback=_print_log,
        help="Print commands, requests and decisions on standard error; -vv: also each query and file.",
    )
    file = click.option(
        "--log",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        expose_value=False,
        callback=_write,
        help="Append all that -vv prints to FILE, one JSON object per line.",
    )
    return verbose(file(command))


def is_very_verbose(context: click.Context) -> bool:
    """Return whether `-vv` was given."""
    return bool(context.meta.get(__name__, 0) > 1)


def _print_log(context: click.Context, parameter: click.Parameter, n_asked: int) -> None:
    """Print the log on standard error, above the progress bar if there is one."""
    if not n_asked:
        return
    from tare.storage.log import Entry, EntryHandler, add_handler, remove_handler

    context.meta[__name__] = n_asked
    stderr = sys.stderr

    class Lines(EntryHandler):
        """Prints entries; a bar at the terminal replaces sys.stderr, and prints them above itself."""

        def write(self, entry: Entry) -> None:
            echo_to(sys.stderr if stderr.isatty() else stderr, line_of(entry))

    lines = Lines(logging.DEBUG if n_asked > 1 else logging.INFO)
    add_handler(lines)
    context.call_on_close(lambda: remove_handler(lines))


def _write(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    from tare.core.safe_folder import SafeFolder
    from tare.storage.log import JsonLines, add_handler, remove_handler

    try:
        lines = JsonLines(SafeFolder(path.parent, path.name), logging.DEBUG)
    except OSError as error:
        raise UsageError(f"{path}: the log cannot be written: {error.strerror}") from error
    add_handler(lines)
    context.call_on_close(lambda: remove_handler(lines))
