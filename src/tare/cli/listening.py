"""The options that commands which listen on a port have in common: folders, port, host and token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tare.core.errors import UsageError

_Function = TypeVar("_Function", bound=Callable[..., Any])


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
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help="Address to listen on.",
        ),
        click.option(
            "--token-file",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Ask for the token in FILE, not for a new one; the file is made when it is not there.",
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
