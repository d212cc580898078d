"""Print a campaign's log as text or as JSON (``tare status --log``)."""

from __future__ import annotations

import shlex
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare.core.errors import CampaignError, NoCampaign
from tare.core.units import Dimension, parse_quantity
from tare.terminal.output import echo, print_long_json

if TYPE_CHECKING:
    from tare.storage.log import Entry


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
        echo(f"{found.n_damaged} lines of the log are damaged, and left out", err=True)


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
