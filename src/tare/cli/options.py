"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tare.core.comparison import Mean
from tare.core.errors import UsageError
from tare.core.units import Dimension, parse_quantity

_LONGEST_WAIT_S = 30 * 24 * 3600

_Function = TypeVar("_Function", bound=Callable[..., Any])


class OutputPath(click.Path):
    """The path of what is written; an empty one, as of an unset variable of the shell, is refused.

    Otherwise, a campaign or a report would be scattered over the current folder.
    """

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the path, for click."""
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current folder", param, ctx)
        return super().convert(value, param, ctx)


mean_option = click.option(
    "--mean",
    type=click.Choice([one.value for one in Mean]),
    default=Mean.GEOMETRIC.value,
    help="Of what ratios are formed: geometric of blocks (default), arithmetic of times and other costs, "
    "harmonic of rates, median of blocks.",
)

unpaired_option = click.option(
    "--unpaired",
    is_flag=True,
    help="Also compare runs that did not run together; these rows are less certain, and are marked.",
)


def parse_share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return ``3%`` as 0.03, for click. A bare 3 would be 300 %, and is refused."""
    if value is None:
        return None
    try:
        share = parse_quantity(value, Dimension.FRACTION)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    if share < 0:
        raise click.BadParameter(f"{value!r} is less than nothing; write for example 2%", context, parameter)
    if share >= 1:
        raise click.BadParameter(f"{value!r} is all or more; write for example 2%", context, parameter)
    return share


def waiting_time(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return ``5 min`` as 300, for click; None if the option is not given."""
    if value is None:
        return None
    try:
        seconds = parse_quantity(value, Dimension.SECONDS)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    if not 1 <= seconds <= _LONGEST_WAIT_S:
        raise click.BadParameter(f"{value!r} is no time to wait; write for example 5 min", context, parameter)
    return seconds


def _valid_words(
    context: click.Context, parameter: click.Parameter, entries: tuple[str, ...]
) -> tuple[str, ...]:
    """Return `entries` if all of them are valid words or patterns; raise BadParameter otherwise."""
    if not entries:
        return entries
    from tare.core.pseudonyms import fault_of_all

    if fault := fault_of_all(entries):
        raise click.BadParameter(fault, context, parameter)
    return entries


redact_option = click.option(
    "--redact",
    "redacted",
    multiple=True,
    metavar="WORD|/REGEX/",
    callback=_valid_words,
    help="Replace this word, or what this pattern matches, by a pseudonym such as ‹redacted-1›. May be "
    "repeated, and adds to 'redact' of the site.",
)


def listening_options(port: int) -> Callable[[_Function], _Function]:
    """Return a decorator that adds the folders to serve, --port (default `port`), --host and --token-file."""
    parameters = (
        click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR..."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="Port to listen on; 0 takes any that is free.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.option(
            "--token-file",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Require the token in FILE instead of a new one. The file is created if it does not exist.",
        ),
        click.option(
            "--no-token",
            is_flag=True,
            help="Let every user of this machine read; only on a loopback address.",
        ),
    )

    def add(function: _Function) -> _Function:
        for parameter in reversed(parameters):
            function = parameter(function)
        return function

    return add


def require_folders(folders: tuple[Path, ...]) -> None:
    """Raise UsageError unless each of `folders` exists."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; name a campaign or a folder of campaigns")


class WholeList(click.Group):
    """A group whose list of commands has the whole first sentence of each, on several lines if need be."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(10_000)) for name, one in found if one])
