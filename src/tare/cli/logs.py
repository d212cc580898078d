"""The log: `-v`, `-vv` and `--log FILE` of commands that start programs, and ``tare status --log``."""

from __future__ import annotations

import logging
import shlex
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from tare.core.counting import count
from tare.core.errors import CampaignError, NoCampaign, UsageError
from tare.core.units import Dimension, parse_quantity
from tare.terminal.output import echo, echo_to, print_long_json

if TYPE_CHECKING:
    from tare.storage.log import Entry

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
    from tare.storage.log import EntryHandler, add_handler, remove_handler

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

    def end() -> None:
        remove_handler(lines)
        if lines.n_lost:
            lost = count(lines.n_lost, "line")
            echo(f"{path}: {lost} of the log could not be written: {lines.fault}", err=True)

    add_handler(lines)
    context.call_on_close(end)


def moment(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return ``30min`` (before now) or ``2026-11-23T14:00`` (local time) as Unix time, for click."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except ValueError:
        pass
    try:
        return time.time() - parse_quantity(value, Dimension.SECONDS)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is neither a time such as 2026-11-23T14:00 nor an age such as 30min",
            context,
            parameter,
        ) from error


def print_log(folder: Path, since: float, level: str, *, as_json: bool) -> None:
    """Print the log of the campaign in `folder`. Raises CampaignError."""
    from tare.storage.campaign import is_campaign
    from tare.storage.log import read_log

    if not is_campaign(folder):
        raise NoCampaign(folder, "no plan.json is in it")
    try:
        found = read_log(folder, level=level, since=since)
    except OSError as error:
        raise CampaignError(f"{error.filename or folder}: cannot be read: {error.strerror}") from error
    if as_json:
        entries = map(msgspec.to_builtins, found.entries)
        print_long_json("tare.log/1", "entries", entries, {"n_damaged": found.n_damaged})
        return
    for entry in found.entries:
        echo(line_of(entry, has_date=True))
    if not found.entries:
        echo("nothing of that is in the log")
    if found.n_damaged:
        echo(
            f"{count(found.n_damaged, 'line of the log is', 'lines of the log are')} damaged, and left out",
            err=True,
        )


def line_of(entry: Entry, *, has_date: bool = False) -> str:
    """Return an entry of the log as one line of text, in local time."""
    clock = time.localtime(entry.at)
    when = time.strftime("%Y-%m-%d %H:%M:%S" if has_date else "%H:%M:%S", clock)
    values = " ".join(f"{name}={_quoted(value)}" for name, value in entry.fields.items() if value is not None)
    ms = int(entry.at % 1 * 1000)
    return f"{when}.{ms:03} {entry.level:7} {entry.source}: {entry.message}  {values}".rstrip()


def _quoted(value: object) -> str:
    if isinstance(value, list):
        return f"[{shlex.join(value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    return shlex.quote(value) if isinstance(value, str) else str(value).lower()
