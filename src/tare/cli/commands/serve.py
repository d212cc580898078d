"""`tare serve`: show campaigns on a live web page."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from tare.cli.options import listening_options, redact_option, require_folders
from tare.terminal.output import echo, json_option, print_json

DEFAULT_PORT = 8437


@click.command()
@listening_options(DEFAULT_PORT)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in the browser.")
@redact_option
@json_option
def command(
    folders: tuple[Path, ...],
    port: int,
    host: str,
    token_file: Path | None,
    no_token: bool,
    is_opened: bool,
    redacted: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show the campaigns in each DIR on a live page, until Ctrl-C.

    DIR is a campaign, or a folder of campaigns; campaigns that begin later appear, too. The page shows the
    progress of each campaign and when it will end, the state of all runs, the results so far, and the
    output of every run as it is written. It changes nothing.

    Only users with the token can read the page. The token is part of the printed address. It is new each
    time, unless --token-file keeps it.

    \b
    Examples:
      tare serve campaigns
      tare serve campaigns/demo --port 0 --open
      tare serve campaigns --token-file ~/.tare-token
      ssh -L 8437:localhost:8437 cluster tare serve campaigns     from elsewhere
    """
    from tare.live.opening import opened
    from tare.live.server import listen, serve

    require_folders(folders)
    listener = listen(host, port, token_file, is_for_anybody=no_token)
    if as_json:
        print_json("tare.serve/1", {"url": listener.url, "folders": [str(folder) for folder in folders]})
    else:
        echo(listener.url, "Ctrl-C ends it.")
    with opened(listener.url) if is_opened else nullcontext():
        serve(folders, listener, redacted)
